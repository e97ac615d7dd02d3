//! What a list does not show is gone once it is complete.

use std::sync::Arc;

use super::*;

#[test]
fn what_a_list_has_not_shown_is_gone_at_its_end_and_not_before() {
    let mut stage = Stage::of(
        &[pv("kept", 1, "1Gi", "Available"), pv("gone", 2, "1Gi", "Available")],
        &[pvc("c", 3, 1)],
    );
    let now = stage.now;
    stage.reconciler.on_list_started(ResourceKind::Volumes);
    stage.see(Observed::Volume(Arc::new(pv("kept", 1, "1Gi", "Available"))));
    stage.see(Observed::Volume(Arc::new(pv("new", 111, "1Gi", "Available"))));
    stage.reconciler.on_list_started(ResourceKind::Claims);
    let names = |stage: &Stage| -> Vec<String> {
        stage.reconciler.view().volumes().map(|volume| volume.name.to_string()).collect()
    };
    assert_eq!(names(&stage), ["gone", "kept", "new"], "before its end a list proves nothing");
    stage.reconciler.on_listed(ResourceKind::Volumes, &ResourceVersion::new("120"), now);
    assert_eq!(names(&stage), ["kept", "new"]);
    assert_eq!(stage.reconciler.view().claims().count(), 1, "another list is in flight");
    stage.reconciler.on_listed(ResourceKind::Claims, &ResourceVersion::new("120"), now);
    assert_eq!(stage.reconciler.view().claims().count(), 0);
}

/// A read was answered before its object went; its reply is late.
#[test]
fn a_late_answer_brings_nothing_back() {
    for (version, comes_back) in [("104", false), ("106", true)] {
        let mut stage = Stage::of(&[held(1)], &[]);
        let asked = stage.read();
        let claim = Claim { version: Some(ResourceVersion::new(version)), ..pvc("c", 2, 0) };
        let claim_key = claim.key.clone();
        let gone = Observed::ClaimGone(claim_key.clone());
        stage.reconciler.on_object(gone, &ResourceVersion::new("105"), stage.now);
        let mut live = LiveReads::default();
        live.claims.insert(claim_key.clone(), ReadResult::Found(Arc::new(claim)));
        stage.reconciler.on_answer(&asked, &live, stage.now);
        let is_shown = stage.reconciler.view().claim(&claim_key).is_some();
        assert_eq!(is_shown, comes_back, "it was found at {version} and went at 105");
    }
}

/// A read finds an object that the list in flight shows or does not show.
#[test]
fn a_list_has_the_last_word_on_what_was_read_meanwhile() {
    for is_listed in [false, true] {
        let mut stage = Stage::of(&[held(1)], &[]);
        let asked = stage.read();
        stage.reconciler.on_list_started(ResourceKind::Claims);
        let claim = Arc::new(pvc("c", 104, 0));
        let mut live = LiveReads::default();
        live.claims.insert(claim.key.clone(), ReadResult::Found(Arc::clone(&claim)));
        stage.reconciler.on_answer(&asked, &live, stage.now);
        assert!(stage.reconciler.view().claim(&claim.key).is_some());
        if is_listed {
            stage.see(Observed::Claim(Arc::clone(&claim)));
        }
        stage.reconciler.on_listed(ResourceKind::Claims, &ResourceVersion::new("110"), stage.now);
        assert_eq!(stage.reconciler.view().claim(&claim.key).is_some(), is_listed);
    }
}

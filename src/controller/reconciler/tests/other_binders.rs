//! Another binder beside the loop: who gives way, and what is recorded of its choices.

use std::sync::Arc;

use super::{Stage, named, pv, pvc};
use crate::api::managers::InTree;
use crate::api::volume::Wanted;
use crate::api::volume::volume;
use crate::binding::Observed;
use crate::client::resource::ResourceKind;
use crate::controller::mode::ControllerMode;
use crate::controller::reconciler::{Reconciler, Task};
use crate::model::{ClaimKey, Reservation, ResourceVersion, Uid, Volume, VolumePhase};

/// The volume as another binder keeps it for a claim.
fn kept(name: &str, version: u32, size: &str, claim: &str) -> Volume {
    let text = format!(
        r#"{{"metadata":{{"name":"{name}","uid":"u-{name}","resourceVersion":"{version}","annotations":
        {{"pv.kubernetes.io/bound-by-controller":"yes"}}}},"spec":{{"capacity":{{"storage":"{size}"}},
        "accessModes":["ReadWriteOnce"],"claimRef":{{"namespace":"db","name":"{claim}","uid":"u-{claim}"}}
        }},"status":{{"phase":"Available"}}}}"#
    );
    volume(&text, Wanted::Both).unwrap().volume
}

const THEIRS: InTree = InTree { reservation: true, phase: false };

#[test]
fn one_write_of_another_binder_is_enough_until_that_is_cleared() {
    let bound = InTree { reservation: false, phase: true };
    let both = InTree { reservation: true, phase: true };
    let reserved = kept("a", 101, "1Gi", "elsewhere");
    let completed = Volume { phase: VolumePhase::Bound, ..reserved.clone() };
    for (volume, author, deed) in [
        (&reserved, InTree::default(), None),
        (&reserved, bound, None),
        (&reserved, THEIRS, Some("reserved it")),
        (&completed, bound, Some("made its phase Bound")),
        (&completed, both, Some("reserved it")),
    ] {
        let mut stage = Stage::of(&[pv("a", 1, "1Gi", "Available")], &[]);
        stage.reconciler.on_volume(Arc::new(volume.clone()), author, stage.now);
        let expected = if deed.is_some() { ControllerMode::Observe } else { ControllerMode::Full };
        assert_eq!(
            (stage.reconciler.mode(), stage.reconciler.has_fallen_back()),
            (expected, deed.is_some())
        );
        let sighting = stage.reconciler.take_sighting();
        assert_eq!(sighting.is_some(), deed.is_some(), "{sighting:?}");
        let Some(deed) = deed else { continue };
        let sighting = sighting.unwrap();
        assert!(sighting.contains("\"a\"") && sighting.contains(deed), "{sighting}");
        assert_eq!(stage.reconciler.take_sighting(), None, "it is stored once");
        stage.see(Observed::Volume(Arc::new(pv("d", 102, "1Gi", "Pending"))));
        let Some(Task::Record(notice)) = stage.next() else { panic!("not recorded") };
        assert_eq!(notice.event.reason, "OtherBinder");
        let text = &notice.event.text;
        assert!(text.contains(deed) && text.ends_with("then clear it"), "{text}");
        assert!(stage.next().is_none(), "nothing is written any more");

        stage.reconciler.set_other_binder(false, stage.now);
        assert_eq!(stage.reconciler.mode(), ControllerMode::Full);
        let is_written = |task| matches!(task, Task::Send(write) if write.object() == named("d"));
        let is_made_up_for = std::iter::from_fn(|| stage.next()).any(is_written);
        assert!(is_made_up_for, "what came meanwhile is decided about");
    }
}

#[test]
fn a_replica_that_saw_another_binder_records_it_once_it_leads() {
    let mut stage = Stage::of(&[pv("a", 1, "1Gi", "Available")], &[]);
    stage.reconciler.set_leading(false, stage.now);
    let reserved = Arc::new(kept("a", 101, "1Gi", "elsewhere"));
    stage.reconciler.on_volume(reserved, THEIRS, stage.now);
    assert!(stage.next().is_none() && stage.reconciler.has_fallen_back());
    stage.reconciler.set_leading(true, stage.now);
    let Some(Task::Record(notice)) = stage.next() else { panic!("not recorded") };
    assert_eq!(notice.event.reason, "OtherBinder");
    assert!(stage.next().is_none());
}

#[test]
fn who_begins_beside_another_binder_writes_nothing_and_other_modes_stay_as_they_are() {
    for (mode, expected) in [
        (ControllerMode::Full, ControllerMode::Observe),
        (ControllerMode::Observe, ControllerMode::Observe),
        (ControllerMode::Prebind, ControllerMode::Prebind),
    ] {
        let mut stage = Stage::of(&[pv("a", 1, "1Gi", "Pending")], &[]);
        stage.reconciler = Reconciler::new(mode, "clear it".to_owned());
        stage.see(Observed::Volume(Arc::new(pv("a", 1, "1Gi", "Pending"))));
        for watched in ResourceKind::ALL {
            stage.reconciler.on_listed(watched, &ResourceVersion::new("100"), stage.now);
        }
        stage.reconciler.set_other_binder(true, stage.now);
        stage.reconciler.set_leading(true, stage.now);
        assert_eq!(stage.reconciler.mode(), expected);
        assert!(stage.next().is_none(), "{mode:?}");
        stage.reconciler.set_other_binder(false, stage.now);
        assert_eq!(stage.reconciler.mode(), mode);
        assert_eq!(!stage.writes().is_empty(), mode == ControllerMode::Full);
    }
}

/// Writes of another binder before our start, and what a person makes of them since, are no work of that binder.
#[test]
fn what_another_binder_wrote_before_our_start_does_not_count() {
    const BOTH: InTree = InTree { reservation: true, phase: true };
    let theirs = |version: u32| Volume {
        phase: VolumePhase::Bound,
        ..kept("a", version, "1Gi", "elsewhere")
    };
    let mut stage = Stage::of(&[theirs(1)], &[]);
    // Listed again, labelled, and given a claimRef of another name by hand: the uid stays the binder's.
    let key = ClaimKey::new("db", "renamed");
    let renamed = Reservation::Held(key, Uid::new("u-elsewhere"));
    let labels = [("a", "b")].into_iter().collect();
    let labelled = Volume { labels, ..theirs(101) };
    let edited = Volume { reservation: renamed, ..theirs(102) };
    for volume in [theirs(1), labelled, edited] {
        stage.reconciler.on_volume(Arc::new(volume), BOTH, stage.now);
        assert_eq!(stage.reconciler.mode(), ControllerMode::Full);
    }
    // The same binder at work, after our start.
    let new = kept("a", 103, "1Gi", "new");
    stage.reconciler.on_volume(Arc::new(new), BOTH, stage.now);
    assert_eq!(stage.reconciler.mode(), ControllerMode::Observe);
}

#[test]
fn an_observer_records_what_another_binder_chose_otherwise() {
    let volumes = [
        pv("best", 1, "1Gi", "Available"),
        pv("equal", 1, "1Gi", "Available"),
        pv("large", 1, "9Gi", "Available"),
        pv("small", 1, "1Mi", "Available"),
    ];
    for (chosen, size, expected) in [
        ("best", "1Gi", None),
        ("equal", "1Gi", None),
        ("large", "9Gi", Some("although PV \"best\" would have been chosen here")),
    ] {
        let mut stage = Stage::of(&volumes, &[pvc("c", 2, 0)]);
        stage.reconciler = Reconciler::new(ControllerMode::Observe, "clear it".to_owned());
        for volume in &volumes {
            stage.see(Observed::Volume(Arc::new(volume.clone())));
        }
        stage.see(Observed::Claim(Arc::new(pvc("c", 2, 0))));
        for watched in ResourceKind::ALL {
            stage.reconciler.on_listed(watched, &ResourceVersion::new("100"), stage.now);
        }
        stage.reconciler.set_leading(true, stage.now);
        let volume = Arc::new(kept(chosen, 101, size, "c"));
        stage.reconciler.on_volume(volume, THEIRS, stage.now);
        let text = match stage.next() {
            Some(Task::Record(notice)) => Some(notice.event.text),
            None => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(text.is_some(), expected.is_some(), "{chosen}: {text:?}");
        assert!(text.zip(expected).is_none_or(|(text, part)| text.contains(part)), "{chosen}");
        assert_eq!(stage.reconciler.divergences(), u64::from(expected.is_some()));
    }
}

#[test]
fn a_replica_that_does_not_lead_counts_and_records_no_choice_of_another_binder() {
    let volumes = [pv("best", 1, "1Gi", "Available"), pv("large", 1, "9Gi", "Available")];
    let mut stage = Stage::of(&volumes, &[pvc("c", 2, 0)]);
    stage.reconciler = Reconciler::new(ControllerMode::Observe, "clear it".to_owned());
    for volume in &volumes {
        stage.see(Observed::Volume(Arc::new(volume.clone())));
    }
    stage.see(Observed::Claim(Arc::new(pvc("c", 2, 0))));
    for watched in ResourceKind::ALL {
        stage.reconciler.on_listed(watched, &ResourceVersion::new("100"), stage.now);
    }
    let volume = Arc::new(kept("large", 101, "9Gi", "c"));
    stage.reconciler.on_volume(volume, THEIRS, stage.now);
    assert_eq!(stage.reconciler.divergences(), 0);
    assert!(stage.next().is_none());
}

//! Another binder beside the loop: who gives way, and what is told of its choices.

use std::sync::Arc;
use std::time::Duration;

use super::{Stage, pv, pvc};
use crate::binding::Observed;
use crate::cluster::resource::Watched;
use crate::controller::engine::{Engine, Task};
use crate::controller::mode::Mode;
use crate::k8s::managers::InTree;
use crate::k8s::volume::Wanted;
use crate::k8s::volume::volume;
use crate::model::{ResourceVersion, Volume};

/// The volume as another binder keeps it for a claim.
fn kept(name: &str, version: u32, size: &str, claim: &str) -> Volume {
    let text = format!(
        r#"{{"metadata":{{"name":"{name}","uid":"u-{name}","resourceVersion":"{version}","annotations":
        {{"pv.kubernetes.io/bound-by-controller":"yes"}}}},"spec":{{"capacity":{{"storage":"{size}"}},
        "accessModes":["ReadWriteOnce"],"claimRef":{{"namespace":"db","name":"{claim}","uid":"u-{claim}"}}
        }},"status":{{"phase":"Available"}}}}"#
    );
    volume(&text, Wanted::Both).unwrap().value.volume
}

const THEIRS: InTree = InTree { reservation: true, phase: false };

#[test]
fn who_sees_another_binder_on_three_volumes_within_a_minute_stops_to_bind() {
    for (pause, author, expected) in [
        (Duration::from_secs(10), THEIRS, Mode::Observe),
        (Duration::from_secs(10), InTree::default(), Mode::Full),
        (Duration::from_secs(40), THEIRS, Mode::Full),
    ] {
        let volumes = ["a", "b", "c"].map(|name| pv(name, 1, "1Gi", "Available"));
        let mut stage = Stage::of(&volumes, &[]);
        for name in ["a", "b", "c"] {
            assert_eq!(stage.engine.mode(), Mode::Full);
            let volume = Arc::new(kept(name, 101, "1Gi", "elsewhere"));
            // News that comes twice counts once.
            for _ in 0..3 {
                stage.engine.observe_volume(Arc::clone(&volume), author, stage.now);
            }
            stage.now += pause;
        }
        assert_eq!(stage.engine.mode(), expected);
        if expected == Mode::Observe {
            stage.see(Observed::Volume(Arc::new(pv("d", 102, "1Gi", "Pending"))));
            let Some(Task::Tell(notice)) = stage.next() else { panic!("not told") };
            assert_eq!(notice.announcement.reason, "ForeignBinder");
            assert!(stage.next().is_none(), "nothing is written any more");
        }
    }
}

#[test]
fn who_observes_tells_what_another_binder_chose_otherwise() {
    let volumes = [
        pv("best", 1, "1Gi", "Available"),
        pv("equal", 1, "1Gi", "Available"),
        pv("large", 1, "9Gi", "Available"),
        pv("small", 1, "1Mi", "Available"),
    ];
    for (chosen, size, expected) in [
        ("best", "1Gi", None),
        ("equal", "1Gi", None),
        ("large", "9Gi", Some("although volume \"best\" would have been chosen here")),
    ] {
        let mut stage = Stage::of(&volumes, &[pvc("c", 2, 0)]);
        stage.engine = Engine::new(Mode::Observe);
        for volume in &volumes {
            stage.see(Observed::Volume(Arc::new(volume.clone())));
        }
        stage.see(Observed::Claim(Arc::new(pvc("c", 2, 0))));
        for watched in Watched::ALL {
            stage.engine.end_list(watched, &ResourceVersion::new("100"), stage.now);
        }
        stage.engine.lead(true, stage.now);
        let volume = Arc::new(kept(chosen, 101, size, "c"));
        stage.engine.observe_volume(volume, THEIRS, stage.now);
        let told = match stage.next() {
            Some(Task::Tell(notice)) => Some(notice.announcement.text),
            None => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(told.is_some(), expected.is_some(), "{chosen}: {told:?}");
        assert!(told.zip(expected).is_none_or(|(told, part)| told.contains(part)), "{chosen}");
        assert_eq!(stage.engine.divergences(), u64::from(expected.is_some()));
    }
}

#[test]
fn who_does_not_lead_counts_and_tells_no_choice_of_another_binder() {
    let volumes = [pv("best", 1, "1Gi", "Available"), pv("large", 1, "9Gi", "Available")];
    let mut stage = Stage::of(&volumes, &[pvc("c", 2, 0)]);
    stage.engine = Engine::new(Mode::Observe);
    for volume in &volumes {
        stage.see(Observed::Volume(Arc::new(volume.clone())));
    }
    stage.see(Observed::Claim(Arc::new(pvc("c", 2, 0))));
    for watched in Watched::ALL {
        stage.engine.end_list(watched, &ResourceVersion::new("100"), stage.now);
    }
    let volume = Arc::new(kept("large", 101, "9Gi", "c"));
    stage.engine.observe_volume(volume, THEIRS, stage.now);
    assert_eq!(stage.engine.divergences(), 0);
    assert!(stage.next().is_none());
}

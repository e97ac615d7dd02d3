//! Which events are recorded, when, and how often.

use std::sync::Arc;
use std::time::Duration;

use super::{Stage, Task, pv, pvc};
use crate::binding::{ObjectKey, Observed, PrebindOutcome, View};
use crate::controller::reconciler::events::{EventRecorder, Why};
use crate::model::{Claim, ClaimKey, ResourceVersion, Uid};

#[test]
fn a_lasting_reason_is_recorded_after_a_second_and_twice_an_hour_with_the_numbers_of_then() {
    let mut stage = Stage::of(&[], &[pvc("c", 2, 0)]);
    let record = |stage: &mut Stage| match stage.next() {
        Some(Task::Record(notice)) => {
            stage.reconciler.on_recorded(&notice, true, stage.now);
            Some((notice.event.reason, notice.event.text, notice.count))
        }
        None => None,
        other => panic!("not recorded: {other:?}"),
    };
    assert_eq!(record(&mut stage), None);
    stage.now = stage.reconciler.wakes_at().unwrap();
    let (reason, text, count) = record(&mut stage).unwrap();
    assert_eq!((reason, count), ("FailedBinding", 1));
    assert!(text.ends_with("0/0 volumes fit"), "{text}");
    assert_eq!(record(&mut stage), None);
    stage.see(Observed::Volume(Arc::new(pv("a", 3, "1Mi", "Failed"))));
    assert!(stage.writes().iter().all(|write| write.label() == "volume_phase"));
    let recorded = stage.now;
    for round in 2..50 {
        stage.now = stage.reconciler.wakes_at().unwrap();
        let (_, text, count) = record(&mut stage).unwrap();
        assert_eq!(count, round);
        assert!(text.contains("0/1 volumes fit: 1"), "{text}");
    }
    assert_eq!(stage.now.duration_since(recorded), Duration::from_hours(24));
}

#[test]
fn a_reason_that_ends_within_a_second_is_not_recorded_and_a_failed_event_is_retried() {
    let mut stage = Stage::of(&[], &[pvc("c", 2, 0), pvc("d", 3, 1)]);
    assert!(stage.writes().is_empty());
    stage.see(Observed::Volume(Arc::new(pv("a", 4, "1Gi", "Available"))));
    assert_eq!(stage.write().label(), "reserve");
    stage.now += Duration::from_secs(2);
    for _ in 0..3 {
        let Some(Task::Record(notice)) = stage.next() else { panic!("not recorded") };
        let ObjectKey::Claim(key) = &notice.event.on else { panic!("not of a claim") };
        assert_eq!(&*key.name, "d", "c is served");
        assert!(stage.next().is_none());
        stage.reconciler.on_recorded(&notice, false, stage.now);
        let wake = stage.reconciler.wakes_at().unwrap();
        assert_eq!(wake.duration_since(stage.now), Duration::from_mins(1));
        stage.now = wake;
    }
}

#[test]
fn another_claim_of_the_same_name_has_its_event_as_soon_as_the_first() {
    let mut stage = Stage::of(&[], &[pvc("c", 2, 0)]);
    let mut uids = Vec::new();
    for round in 0..2 {
        assert!(stage.next().is_none());
        stage.now += Duration::from_secs(1);
        let Some(Task::Record(notice)) = stage.next() else {
            panic!("not recorded in round {round}")
        };
        assert_eq!(notice.count, 1);
        stage.reconciler.on_recorded(&notice, true, stage.now);
        uids.push(notice.uid);
        let gone = Observed::ClaimGone(ClaimKey::new("db", "c"));
        stage.reconciler.on_object(gone, &ResourceVersion::new("105"), stage.now);
        let another = Claim { uid: Some(Uid::new("another")), ..pvc("c", 106, 9) };
        stage.see(Observed::Claim(Arc::new(another)));
    }
    assert_eq!(uids, [Some(Uid::new("u-c")), Some(Uid::new("another"))]);
}

#[test]
fn a_deleted_object_has_no_event() {
    let (mut recorder, view, stage) =
        (EventRecorder::default(), View::default(), Stage::of(&[], &[]));
    let nothing_fits = Why::Prebind(PrebindOutcome::NoMatchingVolume("n".into()));
    recorder.note(&view, &super::key("c"), nothing_fits, stage.now);
    let due = recorder.wakes_at().expect("it is to be recorded");
    assert!(recorder.next(&view, due).is_none(), "the claim is gone");
    assert_eq!(recorder.wakes_at(), None, "nor will be");
}

#[test]
fn no_text_is_made_where_no_event_is_recorded() {
    let Stage { reconciler, now } = Stage::of(&[], &[pvc("c", 2, 0)]);
    let mut stage = Stage { reconciler: reconciler.without_events(), now };
    for _ in 0..2 {
        assert!(stage.next().is_none());
        assert_eq!(stage.reconciler.wakes_at(), None, "nothing becomes due");
        stage.reconciler.set_leading(false, stage.now);
        stage.reconciler.set_leading(true, stage.now);
    }
    stage.see(Observed::Volume(Arc::new(pv("a", 4, "1Gi", "Available"))));
    assert_eq!(stage.write().label(), "reserve");
}

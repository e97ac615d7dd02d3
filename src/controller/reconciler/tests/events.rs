//! What is told of objects, when, and how often.

use std::sync::Arc;
use std::time::Duration;

use super::{Stage, Task, pv, pvc};
use crate::binding::{ObjectKey, Observed, PrebindOutcome, View};
use crate::controller::reconciler::events::{EventRecorder, Why};
use crate::model::{Claim, ClaimKey, ResourceVersion, Uid};

#[test]
fn what_stands_is_told_after_a_second_and_twice_an_hour_with_the_numbers_of_then() {
    let mut stage = Stage::of(&[], &[pvc("c", 2, 0)]);
    let tell = |stage: &mut Stage| match stage.next() {
        Some(Task::Tell(notice)) => {
            stage.reconciler.told(&notice, true, stage.now);
            Some((notice.announcement.reason, notice.announcement.text, notice.count))
        }
        None => None,
        other => panic!("not told: {other:?}"),
    };
    assert_eq!(tell(&mut stage), None);
    stage.now = stage.reconciler.wakes_at().unwrap();
    let (reason, text, count) = tell(&mut stage).unwrap();
    assert_eq!((reason, count), ("FailedBinding", 1));
    assert!(text.ends_with("0/0 volumes fit"), "{text}");
    assert_eq!(tell(&mut stage), None);
    stage.see(Observed::Volume(Arc::new(pv("a", 3, "1Mi", "Failed"))));
    assert!(stage.writes().iter().all(|write| write.label() == "volume_phase"));
    let told = stage.now;
    for round in 2..50 {
        stage.now = stage.reconciler.wakes_at().unwrap();
        let (_, text, count) = tell(&mut stage).unwrap();
        assert_eq!(count, round);
        assert!(text.contains("0/1 volumes fit: 1"), "{text}");
    }
    assert_eq!(stage.now.duration_since(told), Duration::from_hours(24));
}

#[test]
fn what_passes_within_a_second_is_not_told_and_what_was_not_stored_is_told_again() {
    let mut stage = Stage::of(&[], &[pvc("c", 2, 0), pvc("d", 3, 1)]);
    assert!(stage.writes().is_empty());
    stage.see(Observed::Volume(Arc::new(pv("a", 4, "1Gi", "Available"))));
    assert_eq!(stage.write().label(), "reserve");
    stage.now += Duration::from_secs(2);
    for _ in 0..3 {
        let Some(Task::Tell(notice)) = stage.next() else { panic!("not told") };
        let ObjectKey::Claim(key) = &notice.announcement.on else { panic!("not of a claim") };
        assert_eq!(&*key.name, "d", "c is served");
        assert!(stage.next().is_none());
        stage.reconciler.told(&notice, false, stage.now);
        let wake = stage.reconciler.wakes_at().unwrap();
        assert_eq!(wake.duration_since(stage.now), Duration::from_mins(1));
        stage.now = wake;
    }
}

#[test]
fn another_claim_of_the_same_name_is_told_as_soon_as_the_first() {
    let mut stage = Stage::of(&[], &[pvc("c", 2, 0)]);
    let mut uids = Vec::new();
    for round in 0..2 {
        assert!(stage.next().is_none());
        stage.now += Duration::from_secs(1);
        let Some(Task::Tell(notice)) = stage.next() else { panic!("not told in round {round}") };
        assert_eq!(notice.count, 1);
        stage.reconciler.told(&notice, true, stage.now);
        uids.push(notice.uid);
        let gone = Observed::ClaimGone(ClaimKey::new("db", "c"));
        stage.reconciler.observe(gone, &ResourceVersion::new("105"), stage.now);
        let anew = Claim { uid: Some(Uid::new("another")), ..pvc("c", 106, 9) };
        stage.see(Observed::Claim(Arc::new(anew)));
    }
    assert_eq!(uids, [Some(Uid::new("u-c")), Some(Uid::new("another"))]);
}

#[test]
fn who_is_gone_is_not_spoken_of_any_more() {
    let (mut telling, view, stage) =
        (EventRecorder::default(), View::default(), Stage::of(&[], &[]));
    let nothing_fits = Why::Prebind(PrebindOutcome::NoMatchingVolume("n".into()));
    telling.note(&view, &super::key("c"), nothing_fits, stage.now);
    let due = telling.wakes_at().expect("it is to be told");
    assert!(telling.next(&view, due).is_none(), "nobody is there to be told of");
    assert_eq!(telling.wakes_at(), None, "nor will be");
}

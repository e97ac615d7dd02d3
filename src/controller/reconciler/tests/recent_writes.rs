//! The name of a volume is written into its claim on a recent reply only, and the usual binding needs no read for that.

use std::sync::Arc;
use std::time::Duration;

use super::{Stage, found, held, key, pv, pvc};
use crate::binding::{Observed, Read};
use crate::client::send::WriteOutcome;
use crate::controller::reconciler::Task;
use crate::model::annotations::{BIND_COMPLETED, YES};
use crate::model::{
    Claim, ClaimKey, ClaimPhase, Reported, Reservation, Uid, Volume, VolumeName, VolumePhase,
};

/// Claim `c` as it names volume `a`, with its status still to be written.
fn naming(version: u32) -> Claim {
    let mut claim = Claim { volume: Some(VolumeName::new("a")), ..pvc("c", version, 0) };
    claim.annotations.insert(BIND_COMPLETED, YES);
    claim
}

fn of_volume() -> Read {
    Read::Volume(VolumeName::new("a"))
}

#[test]
fn who_goes_on_where_another_stopped_reads_the_volume_first() {
    for (claim, expected) in [(pvc("c", 2, 0), "name"), (naming(2), "claim_status")] {
        let mut stage = Stage::of(&[held(1)], &[claim]);
        let asked = stage.read();
        assert_eq!(asked.read, of_volume());
        assert!(stage.next().is_none(), "{expected} waits for the answer");
        stage.reconciler.on_answer(&asked, &found(held(1)), stage.now);
        assert_eq!(stage.write().label(), expected);
    }
}

/// Without the read it would be called Bound: its own version says nothing of the volume.
#[test]
fn a_claim_whose_volume_is_not_its_own_any_more_is_not_called_bound() {
    let taken = |reservation| Volume { reservation, ..pv("a", 50, "1Gi", "Available") };
    let other = Reservation::Held(ClaimKey::new("db", "d"), Uid::new("u-d"));
    for (now, expected) in [
        (taken(Reservation::Free), ("reserve", VolumePhase::Available)),
        (taken(other), ("claim_status", VolumePhase::Available)),
    ] {
        let mut stage = Stage::of(&[held(1)], &[naming(2)]);
        let asked = stage.read();
        stage.reconciler.on_answer(&asked, &found(now.clone()), stage.now);
        let (mut lost, mut reserved) = (false, false);
        while let Some(task) = stage.next() {
            match task {
                Task::Read(asked) if asked.read == of_volume() => {
                    stage.reconciler.on_answer(&asked, &found(now.clone()), stage.now);
                }
                Task::Read(_) | Task::Record(_) => {}
                Task::Send(write) => {
                    lost |= write.object() == key("c");
                    reserved |= write.label() == "reserve";
                    let claim = stage.reconciler.view().claim(&pvc("c", 2, 0).key).unwrap();
                    assert_ne!(claim.phase, ClaimPhase::Bound, "{expected:?}: {write:?}");
                }
                Task::Check(_) | Task::Recycle(_) => panic!("{task:?}"),
            }
        }
        assert_eq!((lost, reserved), (expected.0 == "claim_status", expected.0 == "reserve"));
    }
}

#[test]
fn a_start_with_pairs_that_are_bound_reads_none_of_them() {
    let access_modes = held(1).access_modes;
    let reported = Reported { access_modes, ..Reported::default() };
    let bound = Claim { phase: ClaimPhase::Bound, reported, ..naming(2) };
    let mut stage = Stage::of(&[held(1)], &[bound]);
    assert!(stage.next().is_none());
    assert!(stage.reconciler.is_idle());
}

#[test]
fn a_reply_is_recent_for_two_seconds_and_only_to_whom_it_was_given() {
    for (pause, leads_on, is_read) in [
        (Duration::from_millis(1_900), true, false),
        (Duration::from_secs(2), true, true),
        (Duration::ZERO, false, true),
    ] {
        let mut stage = Stage::of(&[pv("a", 1, "1Gi", "Available")], &[pvc("c", 2, 0)]);
        for version in [101, 102] {
            let write = stage.write();
            stage.store(&write, version);
        }
        let name = stage.write();
        assert_eq!(name.label(), "name");
        stage.reconciler.on_write_outcome(
            &name,
            WriteOutcome::Rejected("no".to_owned()),
            stage.now,
        );
        if !leads_on {
            stage.reconciler.set_leading(false, stage.now);
            stage.reconciler.set_leading(true, stage.now);
        }
        stage.now += pause;
        stage.reconciler.tick(stage.now);
        // Something happens to the claim, which is therefore looked at again.
        stage.see(Observed::Claim(Arc::new(pvc("c", 103, 0))));
        match stage.next() {
            Some(Task::Read(asked)) => assert!(is_read && asked.read == of_volume(), "{pause:?}"),
            Some(Task::Send(write)) => assert!(!is_read && write.label() == "name", "{pause:?}"),
            other => panic!("{other:?}"),
        }
    }
}

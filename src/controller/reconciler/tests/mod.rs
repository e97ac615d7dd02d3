//! The loop by hand: what it asks for, in which order, and what it makes of each reply.

mod events;
mod holds;
mod lists;
mod operations;
mod other_binders;
mod recent_writes;
mod recycling;
mod store;
mod tenancy;
mod unreadable;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{Reconciler, Task};
use crate::api::claim::claim;
use crate::api::volume::volume;
use crate::binding::{LiveReads, ObjectKey, Observed, Read, ReadResult, Write};
use crate::client::resource::ResourceKind;
use crate::client::send::WriteOutcome;
use crate::controller::mode::ControllerMode;
use crate::controller::reads::PendingRead;
use crate::model::{Claim, ClaimKey, ClassName, ClassRequest, ResourceVersion, Volume, VolumeName};

pub(super) fn pv(name: &str, version: u32, size: &str, phase: &str) -> Volume {
    let text = format!(
        r#"{{"metadata":{{"name":"{name}","uid":"u-{name}","resourceVersion":"{version}"}},
        "spec":{{"capacity":{{"storage":"{size}"}},"accessModes":["ReadWriteOnce"]}},
        "status":{{"phase":"{phase}"}}}}"#
    );
    volume(&text, crate::api::volume::Wanted::Both).unwrap().volume
}

pub(super) fn pvc(name: &str, version: u32, created: u32) -> Claim {
    let text = format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"db","uid":"u-{name}","resourceVersion":
        "{version}","creationTimestamp":"2026-01-01T00:00:{created:02}Z"}},"spec":{{"accessModes":
        ["ReadWriteOnce"],"storageClassName":"","resources":{{"requests":{{"storage":"1Gi"}}}}}},
        "status":{{"phase":"Pending"}}}}"#
    );
    claim(&text, "").unwrap()
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::Claim(ClaimKey::new("db", name))
}

fn named(name: &str) -> ObjectKey {
    ObjectKey::Volume(VolumeName::new(name))
}

/// A loop that leads, and the time.
struct Stage {
    reconciler: Reconciler,
    now: Instant,
}

impl Stage {
    /// Lists these, then leads.
    fn of(volumes: &[Volume], claims: &[Claim]) -> Self {
        let mut stage = Self {
            reconciler: Reconciler::new(ControllerMode::Full, "clear it".to_owned()),
            now: Instant::now(),
        };
        for volume in volumes {
            stage.see(Observed::Volume(Arc::new(volume.clone())));
        }
        for claim in claims {
            stage.see(Observed::Claim(Arc::new(claim.clone())));
        }
        for watched in ResourceKind::ALL {
            stage.reconciler.on_listed(watched, &ResourceVersion::new("100"), stage.now);
        }
        stage.reconciler.set_leading(true, stage.now);
        stage
    }

    fn see(&mut self, observed: Observed) {
        let version = observed.version().unwrap().clone();
        self.reconciler.on_object(observed, &version, self.now);
    }

    fn next(&mut self) -> Option<Task> {
        self.reconciler.next(self.now)
    }

    /// All writes that are to be sent now.
    fn writes(&mut self) -> Vec<Write> {
        std::iter::from_fn(|| self.next())
            .filter_map(|task| match task {
                Task::Send(write) => Some(write),
                Task::Record(_) => None,
                Task::Read(_) | Task::Check(_) | Task::Recycle(_) => {
                    panic!("not a write: {task:?}")
                }
            })
            .collect()
    }

    fn write(&mut self) -> Write {
        match self.writes().as_slice() {
            [write] => write.clone(),
            other => panic!("not one write: {other:?}"),
        }
    }

    fn read(&mut self) -> PendingRead {
        match self.next() {
            Some(Task::Read(asked)) => asked,
            other => panic!("not a read: {other:?}"),
        }
    }

    /// Stores what the view assumed, as `version`.
    fn store(&mut self, write: &Write, version: u32) {
        let version = Some(ResourceVersion::new(version.to_string()));
        let stored = match write.object() {
            ObjectKey::Volume(name) => {
                let volume = Volume::clone(self.reconciler.view().volume(&name).unwrap());
                Observed::Volume(Arc::new(Volume { version, ..volume }))
            }
            ObjectKey::Claim(key) => {
                let claim = Claim::clone(self.reconciler.view().claim(&key).unwrap());
                Observed::Claim(Arc::new(Claim { version, ..claim }))
            }
        };
        self.reconciler.on_write_outcome(write, WriteOutcome::Stored(stored), self.now);
    }
}

fn label(writes: &[Write]) -> Vec<String> {
    writes.iter().map(|write| format!("{} {}", write.label(), write.object())).collect()
}

#[test]
fn the_four_steps_follow_one_another_and_each_waits_for_the_reply() {
    let mut stage = Stage::of(&[pv("a", 1, "1Gi", "Available")], &[pvc("c", 2, 0)]);
    for (step, version) in
        [("reserve", 101), ("volume_phase", 102), ("name", 103), ("claim_status", 104)]
    {
        let write = stage.write();
        assert_eq!(write.label(), step);
        assert!(stage.next().is_none(), "{step} is not answered yet");
        stage.store(&write, version);
    }
    assert!(stage.next().is_none());
    assert!(stage.reconciler.is_idle());
}

#[test]
fn at_the_start_the_oldest_claim_comes_first_though_its_volume_is_not_ready() {
    let volumes = [pv("a", 1, "1Gi", "Pending"), pv("b", 2, "2Gi", "Pending")];
    // The youngest finds nothing, and waits for whatever becomes free.
    let claims = [pvc("a-young", 3, 9), pvc("b-youngest", 5, 10), pvc("z-old", 4, 1)];
    let mut stage = Stage::of(&volumes, &claims);
    let offers = stage.writes();
    assert_eq!(label(&offers), ["volume_phase volume \"a\"", "volume_phase volume \"b\""]);
    // The larger is ready first: it was assumed for the younger claim all the same.
    stage.store(&offers[1], 101);
    let Write::Reserve { volume, claim, .. } = stage.write() else { panic!("not reserved") };
    assert_eq!((volume.name.as_str(), &*claim.name.name), ("b", "a-young"));
    stage.store(&offers[0], 102);
    let Write::Reserve { volume, claim, .. } = stage.write() else { panic!("not reserved") };
    assert_eq!((volume.name.as_str(), &*claim.name.name), ("a", "z-old"));
    assert_eq!(volume.version, Some(ResourceVersion::new("102")));
}

#[test]
fn a_volume_stays_with_its_assumed_claim_when_it_is_ready() {
    // Only this volume serves either claim: the second has found nothing, and waits for any.
    let volumes = [pv("a", 1, "1Gi", "Pending")];
    let mut stage = Stage::of(&volumes, &[pvc("c", 3, 1), pvc("d", 4, 2)]);
    let offer = stage.write();
    assert_eq!(offer.label(), "volume_phase");
    stage.store(&offer, 101);
    let Write::Reserve { claim, .. } = stage.write() else { panic!("not reserved") };
    assert_eq!(&*claim.name.name, "c", "the older claim was first");
}

#[test]
fn a_volume_stays_with_its_assumed_claim_while_that_reads_once_more() {
    let of_class =
        |claim: Claim| Claim { class_field: ClassRequest::Named(ClassName::new("bare")), ..claim };
    let volume =
        Volume { class_field: Some(ClassName::new("bare")), ..pv("a", 1, "1Gi", "Pending") };
    let mut stage = Stage::of(&[volume], &[of_class(pvc("c", 3, 1)), of_class(pvc("d", 4, 2))]);
    let mut no_class = LiveReads::default();
    no_class.classes.insert(ClassName::new("bare"), ReadResult::NotFound);
    let Some(Task::Send(offer)) = stage.next() else { panic!("not offered") };
    // The volume is assumed for the older claim, the younger asks about the class.
    let asked = stage.read();
    stage.reconciler.on_answer(&asked, &no_class, stage.now);
    let of_the_younger = stage.read();
    // The volume is ready, and the older claim has to ask about the class again.
    stage.store(&offer, 101);
    assert!(stage.next().is_none());
    stage.reconciler.on_answer(&of_the_younger, &no_class, stage.now);
    let of_the_older = stage.read();
    assert!(stage.next().is_none(), "the younger claim waits");
    stage.reconciler.on_answer(&of_the_older, &no_class, stage.now);
    let Write::Reserve { claim, .. } = stage.write() else { panic!("not reserved") };
    assert_eq!(&*claim.name.name, "c", "the older claim was first");
}

#[test]
fn a_rejected_write_is_forgotten_and_the_next_claim_is_bound() {
    let mut stage = Stage::of(&[pv("a", 1, "1Gi", "Available")], &[pvc("c", 2, 0), pvc("d", 3, 1)]);
    let write = stage.write();
    stage.reconciler.on_write_outcome(&write, WriteOutcome::Rejected("no".to_owned()), stage.now);
    let Write::Reserve { claim, .. } = stage.write() else { panic!("not reserved") };
    assert_eq!(&*claim.name.name, "d", "the other claim was Pending");
}

#[test]
fn a_write_that_is_rejected_again_and_again_backs_off() {
    let mut stage = Stage::of(&[pv("a", 1, "1Gi", "Pending")], &[]);
    let start = stage.now;
    let mut tries = 0;
    while stage.now < start + Duration::from_mins(10) {
        for write in stage.writes() {
            stage.reconciler.on_write_outcome(
                &write,
                WriteOutcome::Rejected("no".to_owned()),
                stage.now,
            );
            tries += 1;
        }
        stage.now += Duration::from_millis(10);
    }
    assert!((15..=25).contains(&tries), "{tries} tries");
}

#[test]
fn a_busy_server_is_left_alone_for_as_long_as_it_asks() {
    let mut stage = Stage::of(&[pv("a", 1, "1Gi", "Available")], &[pvc("c", 2, 0)]);
    let write = stage.write();
    stage.reconciler.on_write_outcome(
        &write,
        WriteOutcome::Throttled(Duration::from_secs(7)),
        stage.now,
    );
    assert!(stage.next().is_none());
    assert_eq!(stage.reconciler.wakes_at(), Some(stage.now + Duration::from_secs(7)));
    stage.now += Duration::from_secs(7);
    assert_eq!(stage.write().label(), "reserve");
}

fn found(volume: Volume) -> LiveReads {
    let mut live = LiveReads::default();
    live.volumes.insert(volume.name.clone(), ReadResult::Found(Arc::new(volume)));
    live
}

#[test]
fn whether_a_write_without_a_reply_was_stored_is_read() {
    for (version, is_stored, next) in [(1, false, "reserve"), (109, true, "volume_phase")] {
        let mut stage = Stage::of(&[pv("a", 1, "1Gi", "Available")], &[pvc("c", 2, 0)]);
        let write = stage.write();
        stage.reconciler.on_write_outcome(
            &write,
            WriteOutcome::Unknown("late".to_owned()),
            stage.now,
        );
        let Some(Task::Check(object)) = stage.next() else { panic!("not checked") };
        assert_eq!(object, named("a"));
        assert!(stage.next().is_none(), "nothing is decided on an unknown outcome");
        let mut stored = pv("a", version, "1Gi", "Available");
        if is_stored {
            let assumed = stage.reconciler.view().volume(&VolumeName::new("a")).unwrap();
            stored.reservation = assumed.reservation.clone();
        }
        stage.reconciler.on_checked(&object, &found(stored), stage.now);
        assert_eq!(stage.write().label(), next);
    }
}

#[test]
fn a_check_that_fails_is_made_again() {
    let mut stage = Stage::of(&[pv("a", 1, "1Gi", "Available")], &[pvc("c", 2, 0)]);
    let write = stage.write();
    stage.reconciler.on_write_outcome(&write, WriteOutcome::Stale, stage.now);
    for _ in 0..3 {
        let Some(Task::Check(object)) = stage.next() else { panic!("not checked") };
        let mut live = LiveReads::default();
        live.volumes.insert(VolumeName::new("a"), ReadResult::Failed);
        stage.reconciler.on_checked(&object, &live, stage.now);
        assert!(stage.next().is_none());
        stage.now = stage.reconciler.wakes_at().unwrap();
    }
}

/// A volume became unreadable while a claim was given it: the next best is chosen at once.
#[test]
fn who_was_to_have_a_volume_that_cannot_be_read_gets_another() {
    let volumes = [pv("best", 1, "1Gi", "Available"), pv("large", 2, "9Gi", "Available")];
    let mut stage = Stage::of(&volumes, &[pvc("c", 3, 0)]);
    let write = stage.write();
    assert_eq!(write.object(), named("best"));
    stage.reconciler.on_write_outcome(&write, WriteOutcome::Stale, stage.now);
    let Some(Task::Check(object)) = stage.next() else { panic!("not checked") };
    let mut live = LiveReads::default();
    live.volumes.insert(VolumeName::new("best"), ReadResult::Unreadable);
    stage.reconciler.on_checked(&object, &live, stage.now);
    assert_eq!(stage.write().object(), named("large"));
}

#[test]
fn older_news_is_passed_over_and_newer_news_outlives_a_reply() {
    let mut stage = Stage::of(&[pv("a", 5, "1Gi", "Available")], &[pvc("c", 2, 0)]);
    stage.see(Observed::Volume(Arc::new(pv("a", 4, "9Gi", "Failed"))));
    let write = stage.write();
    // Another writer changes the volume while our write is in flight, after it was stored.
    stage.see(Observed::Volume(Arc::new(pv("a", 109, "1Gi", "Available"))));
    stage.see(Observed::Volume(Arc::new(pv("a", 108, "1Gi", "Failed"))));
    stage.store(&write, 107);
    let seen = stage.reconciler.view().volume(&VolumeName::new("a")).unwrap().version.clone();
    assert_eq!(seen, Some(ResourceVersion::new("109")));
    assert_eq!(stage.write().label(), "reserve", "the reservation was undone");
}

/// A claim of a volume that was bound, gone from the view.
fn held(version: u32) -> Volume {
    let text = format!(
        r#"{{"metadata":{{"name":"a","uid":"u-a","resourceVersion":"{version}"}},"spec":{{
        "capacity":{{"storage":"1Gi"}},"accessModes":["ReadWriteOnce"],"claimRef":{{"namespace":
        "db","name":"c","uid":"u-c"}}}},"status":{{"phase":"Bound"}}}}"#
    );
    volume(&text, crate::api::volume::Wanted::Both).unwrap().volume
}

fn gone() -> LiveReads {
    let mut live = LiveReads::default();
    live.claims.insert(ClaimKey::new("db", "c"), ReadResult::NotFound);
    live
}

#[test]
fn a_volume_is_released_on_a_live_read_only_and_read_once() {
    let mut stage = Stage::of(&[held(1)], &[]);
    let asked = stage.read();
    assert_eq!(asked.read, Read::Claim(ClaimKey::new("db", "c")));
    assert!(stage.next().is_none());
    stage.reconciler.on_answer(&asked, &gone(), stage.now);
    let write = stage.write();
    assert_eq!(write.label(), "volume_phase");
    stage.store(&write, 101);
    assert!(stage.next().is_none(), "a uid never comes back");
}

#[test]
fn an_answer_from_before_a_change_proves_nothing() {
    let mut stage = Stage::of(&[held(1)], &[]);
    let asked = stage.read();
    // The claim is created, and the volume reserved for it again, while the read is on its way.
    stage.see(Observed::Volume(Arc::new(held(105))));
    stage.reconciler.on_answer(&asked, &gone(), stage.now);
    let again = stage.read();
    stage.see(Observed::Claim(Arc::new(pvc("c", 106, 0))));
    stage.reconciler.on_answer(&again, &gone(), stage.now);
    let of_the_volume = stage.read();
    stage.reconciler.on_answer(&of_the_volume, &found(held(105)), stage.now);
    let write = stage.write();
    assert_eq!((write.label(), write.object()), ("name", key("c")), "bound, not released");
}

#[test]
fn a_replica_that_does_not_lead_decides_nothing_and_one_that_leads_again_starts_over() {
    let mut stage = Stage::of(&[pv("a", 1, "1Gi", "Available")], &[pvc("c", 2, 0)]);
    let write = stage.write();
    stage.reconciler.set_leading(false, stage.now);
    stage.store(&write, 101);
    assert!(stage.next().is_none());
    stage.reconciler.set_leading(true, stage.now);
    assert_eq!(stage.write().label(), "volume_phase");
}

#[test]
fn who_observes_writes_nothing() {
    let mut stage = Stage::of(&[], &[]);
    stage.reconciler = Reconciler::new(ControllerMode::Observe, "clear it".to_owned());
    for watched in ResourceKind::ALL {
        stage.reconciler.on_listed(watched, &ResourceVersion::new("1"), stage.now);
    }
    stage.reconciler.set_leading(true, stage.now);
    stage.see(Observed::Volume(Arc::new(pv("a", 2, "1Gi", "Pending"))));
    stage.see(Observed::Claim(Arc::new(pvc("c", 3, 0))));
    assert!(stage.next().is_none());
}

#[test]
fn a_throttled_write_goes_on_once_the_server_has_time() {
    let fast = || ClassName::new("fast");
    let claim = Claim { class_field: ClassRequest::Named(fast()), ..pvc("c", 3, 9) };
    let fresh = Volume { class_field: Some(fast()), ..pv("v", 1, "1Gi", "Pending") };
    let mut live = LiveReads::default();
    live.classes.insert(fast(), ReadResult::NotFound);
    let mut stage = Stage::of(&[], &[]);
    stage.see(Observed::Claim(Arc::new(claim)));
    stage.see(Observed::Volume(Arc::new(fresh)));
    let mut stored = Vec::new();
    for round in 0..200 {
        match stage.next() {
            Some(Task::Send(write)) if round < 40 => {
                stage.reconciler.on_write_outcome(
                    &write,
                    WriteOutcome::Throttled(Duration::from_secs(1)),
                    stage.now,
                );
            }
            Some(Task::Send(write)) => {
                stored.push(write.label());
                stage.store(&write, 200 + round);
            }
            Some(Task::Read(asked)) => stage.reconciler.on_answer(&asked, &live, stage.now),
            Some(Task::Record(notice)) => stage.reconciler.on_recorded(&notice, true, stage.now),
            Some(Task::Check(_) | Task::Recycle(_)) => panic!("neither lost nor released"),
            None => stage.now = stage.reconciler.wakes_at().unwrap_or(stage.now),
        }
    }
    assert_eq!(stored, ["volume_phase", "reserve", "volume_phase", "name", "claim_status"]);
}

/// A replica without a connection asks less and less often, and not at all once another may lead.
#[test]
fn what_became_of_a_write_is_asked_ever_more_seldom_and_only_by_who_leads() {
    let mut stage = Stage::of(&[pv("a", 1, "1Gi", "Available")], &[pvc("c", 2, 0)]);
    let write = stage.write();
    stage.reconciler.on_write_outcome(&write, WriteOutcome::Unknown("late".to_owned()), stage.now);
    let mut pauses = Vec::new();
    for _ in 0..7 {
        let Some(Task::Check(object)) = stage.next() else { panic!("not asked") };
        let mut live = LiveReads::default();
        live.fail_all(&[Read::Volume(VolumeName::new("a"))]);
        stage.reconciler.on_checked(&object, &live, stage.now);
        assert!(stage.next().is_none());
        let next = stage.reconciler.wakes_at().unwrap();
        pauses.push(next.duration_since(stage.now).as_millis());
        stage.now = next;
    }
    assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
    stage.reconciler.set_leading(false, stage.now);
    assert!(stage.next().is_none() && stage.reconciler.wakes_at().is_none());
    stage.reconciler.set_leading(true, stage.now);
    assert!(matches!(stage.next(), Some(Task::Check(_))));
}

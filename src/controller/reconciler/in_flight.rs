//! Writes in flight: what their objects were before, and what was seen of them since.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::holds::Waiters;
use crate::binding::{LiveReads, ObjectKey, Observed, ReadResult, View};
use crate::client::backoff::exponential;
use crate::controller::delay_queue::DelayQueue;
use crate::controller::hashed::Hashed;
use crate::model::{Claim, Deletion, Reservation, ResourceVersion, Volume};

/// First and longest pause before an object is read again that could not be read. An API server that is away for
/// longer ends the lead; one that is back has answered about all of them within the longest.
const CHECK_PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(8));

/// How long a write whose outcome is unknown may still be stored. 60 s: an API server ends each request by then.
///
/// Kubernetes: `kube-apiserver`, `--request-timeout`.
const STORED_WITHIN: Duration = Duration::from_mins(1);

/// Writes in flight, at most one to each object.
#[derive(Debug, Default)]
pub(super) struct InFlightWrites {
    by_object: Hashed<ObjectKey, InFlightWrite>,
    /// Objects whose write has an unknown outcome, and when to read them; by the leader only.
    checks: DelayQueue,
    /// Objects about which a decision is being carried out.
    owners: Hashed<ObjectKey, ()>,
}

/// A write in flight. The store shows it as done.
#[derive(Debug)]
struct InFlightWrite {
    /// The object about which the write was decided.
    owner: ObjectKey,
    /// The written object as it was.
    before: Observed,
    /// The newest state of it that was seen since.
    seen: Option<(Observed, ResourceVersion)>,
    /// Objects whose decisions wait for the outcome, in order.
    waiters: Waiters,
    /// How often a check was not answered.
    unanswered: u32,
    /// Since when its outcome is unknown.
    unknown_since: Option<Instant>,
}

/// What became of a written object.
#[derive(Debug)]
pub(super) enum WriteResult {
    /// It is as it was before the write, or as it was seen since.
    AsBefore,
    /// It is like this, or newer.
    Now(Observed),
    /// It does not exist or cannot be read, so that no store shows it, unless it was seen since.
    Gone,
}

/// A write that is over.
#[derive(Debug)]
pub(super) struct FinishedWrite {
    /// The object about which it was decided.
    pub(super) owner: ObjectKey,
    /// Objects that waited for it, in order.
    pub(super) waiters: Vec<ObjectKey>,
    /// The written object as it was.
    pub(super) before: Observed,
    /// The newest state of it.
    pub(super) newest: Observed,
}

impl InFlightWrites {
    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        self.by_object.count()
    }

    /// Returns whether a write to `object` is in flight.
    pub(super) fn contains(&self, object: &ObjectKey) -> bool {
        self.by_object.contains(object)
    }

    /// Returns whether a write that was decided about `key` is in flight.
    pub(super) fn is_owner(&self, key: &ObjectKey) -> bool {
        self.owners.contains(key)
    }

    /// The object as it was before the write to it.
    pub(super) fn before(&self, object: &ObjectKey) -> Option<&Observed> {
        self.by_object.get(object).map(|write| &write.before)
    }

    /// Notes that a write was sent because of a decision about `owner`.
    pub(super) fn begin(&mut self, owner: &ObjectKey, object: ObjectKey, before: Observed) {
        let write = InFlightWrite {
            owner: owner.clone(),
            before,
            seen: None,
            waiters: Waiters::default(),
            unanswered: 0,
            unknown_since: None,
        };
        self.by_object.insert(object, write);
        self.owners.insert(owner.clone(), ());
    }

    /// Lets a decision about `key` wait for the outcome of the write to `object`.
    pub(super) fn wait_for(&mut self, object: &ObjectKey, key: &ObjectKey) {
        if let Some(write) = self.by_object.get_mut(object) {
            write.waiters.push(key);
        }
    }

    /// Keeps what is seen of an object until the outcome of the write to it is known. Whether there is one.
    pub(super) fn hold_back(
        &mut self,
        object: &ObjectKey,
        observed: &Observed,
        version: &ResourceVersion,
    ) -> bool {
        let Some(write) = self.by_object.get_mut(object) else { return false };
        let newest = write.seen.as_ref().map(|(_, seen)| seen);
        let known = [write.before.version(), newest];
        if known.into_iter().flatten().all(|known| version.is_newer_than(known)) {
            write.seen = Some((observed.clone(), version.clone()));
        }
        true
    }

    /// Ends the write to `object`.
    pub(super) fn finish(
        &mut self,
        object: &ObjectKey,
        result: WriteResult,
    ) -> Option<FinishedWrite> {
        let InFlightWrite { owner, before, seen, waiters, .. } = self.by_object.remove(object)?;
        self.owners.remove(&owner);
        self.checks.remove(object);
        let known = match (result, &before) {
            (WriteResult::AsBefore, _) => before.clone(),
            (WriteResult::Now(observed), _) => observed,
            (WriteResult::Gone, Observed::Volume(volume)) => {
                Observed::VolumeGone(volume.name.clone())
            }
            (WriteResult::Gone, Observed::Claim(claim)) => Observed::ClaimGone(claim.key.clone()),
            (WriteResult::Gone, other) => other.clone(),
        };
        let newest = match (seen, known.version()) {
            (Some((seen, version)), Some(known)) if version.is_newer_than(known) => seen,
            (Some((seen, _)), None) => seen,
            (Some(_) | None, _) => known,
        };
        Some(FinishedWrite { owner, waiters: waiters.into_order(), before, newest })
    }

    /// Asks for `object` to be read at `due`, because it is not known what became of it.
    pub(super) fn check_at(&mut self, object: ObjectKey, due: Instant) {
        self.checks.insert(object, due);
    }

    /// Notes that the outcome of the write to `object` is unknown.
    pub(super) fn note_unknown(&mut self, object: &ObjectKey, now: Instant) {
        if let Some(write) = self.by_object.get_mut(object) {
            write.unknown_since = Some(now);
        }
    }

    /// Returns whether the write to `object` may take a volume that is being deleted from its claim after a check that
    /// `found` it as before. Its claim is not called Bound meanwhile; whatever else comes late conflicts with what is
    /// written next.
    pub(super) fn may_come_late(
        &self,
        object: &ObjectKey,
        found: &WriteResult,
        view: &View,
        now: Instant,
    ) -> bool {
        let Some(InFlightWrite { before, unknown_since: Some(since), .. }) =
            self.by_object.get(object)
        else {
            return false;
        };
        let Observed::Volume(volume) = before else { return false };
        let has_claim = matches!(&volume.reservation, Reservation::Held(key, uid)
            if view.claim(key).is_some_and(|claim| claim.uid.as_ref() == Some(uid)));
        let is_going = has_claim && volume.deletion == Deletion::Terminating;
        let is_unchanged =
            matches!(found, WriteResult::Now(found) if found.version() == before.version());
        is_going && is_unchanged && now < *since + STORED_WITHIN
    }

    /// Asks for another check of `object` after a pause that grows with each one that is not answered.
    pub(super) fn retry_check(&mut self, object: &ObjectKey, now: Instant) {
        let pause = self.by_object.get_mut(object).map_or(CHECK_PAUSE.1, |write| {
            write.unanswered = write.unanswered.saturating_add(1);
            exponential(CHECK_PAUSE, write.unanswered - 1)
        });
        self.checks.insert(object.clone(), now + pause);
    }

    /// The next object to read. What was seen of it before is forgotten: the check finds something newer.
    pub(super) fn next_check(&mut self, now: Instant) -> Option<ObjectKey> {
        let object = self.checks.pop(now)?;
        if let Some(write) = self.by_object.get_mut(&object)
            && let Some((seen, _)) = write.seen.take()
        {
            write.before = seen;
        }
        Some(object)
    }

    /// Returns when the next check is due.
    pub(super) fn next_check_at(&self) -> Option<Instant> {
        self.checks.wakes_at()
    }
}

/// The volumes and claims that were found, as observations.
pub(super) fn found_in(live: &LiveReads) -> Vec<(Observed, ResourceVersion)> {
    let volumes = live.volumes.values().filter_map(found::<Volume>);
    let claims = live.claims.values().filter_map(found::<Claim>);
    let found = volumes.map(Observed::Volume).chain(claims.map(Observed::Claim));
    found.filter_map(|observed| Some((observed.clone(), observed.version()?.clone()))).collect()
}

/// Returns what a check of `object` found; nothing if it could not be made.
pub(super) fn check_in(live: &LiveReads, object: &ObjectKey) -> Option<WriteResult> {
    match object {
        ObjectKey::Volume(name) => result_of(live.volumes.get(name)?, Observed::Volume),
        ObjectKey::Claim(key) => result_of(live.claims.get(key)?, Observed::Claim),
    }
}

fn result_of<T>(answer: &ReadResult<T>, observed: fn(Arc<T>) -> Observed) -> Option<WriteResult> {
    match answer {
        ReadResult::Found(object) => Some(WriteResult::Now(observed(Arc::clone(object)))),
        ReadResult::NotFound | ReadResult::Unreadable => Some(WriteResult::Gone),
        ReadResult::Failed => None,
    }
}

fn found<T>(answer: &ReadResult<T>) -> Option<Arc<T>> {
    match answer {
        ReadResult::Found(object) => Some(Arc::clone(object)),
        ReadResult::NotFound | ReadResult::Unreadable | ReadResult::Failed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::reconciler::tests::{pv, pvc};
    use crate::model::VolumeName;

    fn volume(version: u32) -> Observed {
        Observed::Volume(Arc::new(pv("a", version, "1Gi", "Available")))
    }

    /// A write to volume `a` at version 5, decided about itself.
    fn writes() -> (InFlightWrites, ObjectKey) {
        let (mut writes, key) =
            (InFlightWrites::default(), ObjectKey::Volume(VolumeName::new("a")));
        writes.begin(&key, key.clone(), volume(5));
        (writes, key)
    }

    #[test]
    fn the_newest_of_the_outcome_and_what_was_seen_is_shown() {
        for (seen, stored, newest) in [(vec![4], 7, 7), (vec![8, 6], 7, 8), (vec![6], 7, 7)] {
            let (mut writes, key) = writes();
            for version in seen {
                let version_text = ResourceVersion::new(version.to_string());
                assert!(writes.hold_back(&key, &volume(version), &version_text));
            }
            let finished = writes.finish(&key, WriteResult::Now(volume(stored))).unwrap();
            let expected = ResourceVersion::new(newest.to_string());
            assert_eq!(finished.newest.version(), Some(&expected));
            assert!(!writes.contains(&key) && !writes.is_owner(&key));
        }
    }

    #[test]
    fn an_unknown_write_to_a_volume_that_is_being_deleted_may_come_late() {
        let claim = pvc("data", 1, 0);
        let of = |version, deletion| {
            let reservation = Reservation::Held(claim.key.clone(), claim.uid.clone().unwrap());
            let volume = pv("a", version, "1Gi", "Available");
            Observed::Volume(Arc::new(Volume { deletion, reservation, ..volume }))
        };
        let (without, mut with) = (View::default(), View::default());
        with.apply(Observed::Claim(Arc::new(claim.clone())));
        let now = Instant::now();
        let later = now + STORED_WITHIN;
        for (deletion, found, view, at, expected) in [
            (Deletion::Terminating, 5, &with, now, true),
            (Deletion::Terminating, 6, &with, now, false),
            (Deletion::Terminating, 5, &with, later, false),
            (Deletion::Terminating, 5, &without, now, false),
            (Deletion::NotAsked, 5, &with, now, false),
        ] {
            let (mut writes, key) = writes();
            writes.begin(&key, key.clone(), of(5, deletion));
            let found = WriteResult::Now(of(found, deletion));
            assert!(!writes.may_come_late(&key, &found, view, at), "its outcome is not unknown");
            writes.note_unknown(&key, now);
            assert_eq!(writes.may_come_late(&key, &found, view, at), expected);
        }
    }

    #[test]
    fn a_check_backs_off_and_forgets_what_was_seen_before_it() {
        let (mut writes, key) = writes();
        let now = Instant::now();
        writes.check_at(key.clone(), now);
        writes.hold_back(&key, &volume(6), &ResourceVersion::new("6"));
        assert_eq!(writes.next_check(now), Some(key.clone()));
        assert_eq!((writes.next_check(now), writes.next_check_at()), (None, None));
        writes.retry_check(&key, now);
        writes.retry_check(&key, now);
        assert_eq!(writes.next_check_at(), Some(now + 2 * CHECK_PAUSE.0));
        let finished = writes.finish(&key, WriteResult::AsBefore).unwrap();
        assert_eq!(finished.newest.version(), Some(&ResourceVersion::new("6")));
        assert_eq!(writes.next_check_at(), None);
    }
}

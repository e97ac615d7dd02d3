//! The work queue: which object is reconciled next. Each is queued at most once, in the order in which it was
//! added; at the start every existing object goes before the queue.
//!
//! An object that fails is retried with exponential backoff, alone: the others go on. One that is written again and
//! again is rate limited, because another writer undoes it. Not here: what is decided (`reconciler`).

use std::collections::VecDeque;
use std::time::Duration;
use std::vec;

use tokio::time::Instant;

use super::delay_queue::DelayQueue;
use super::hashed::Hashed;
use crate::binding::ObjectKey;
use crate::client::backoff::exponential;
use crate::model::{ClaimKey, VolumeName};

/// First and longest backoff. The first is about the time of a reply; the longest is what an administrator who has just
/// repaired something is ready to wait.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(20), Duration::from_mins(1));

/// Writes for one object within [`RATE_WINDOW`] before it is rate limited. A whole lifecycle (available, bound, released,
/// available again) has less than half of them.
const WRITES_COUNT_MAX: u32 = 20;

/// The time over which writes for an object are counted, and the pause for one that has too many.
const RATE_WINDOW: Duration = Duration::from_secs(10);

/// The objects to reconcile.
#[derive(Debug, Default)]
pub(super) struct WorkQueue {
    first: VecDeque<ObjectKey>,
    initial: InitialList,
    /// A key that was moved to `first` is still here and is passed over, as to take it out would be a search.
    ready: VecDeque<ObjectKey>,
    /// The objects in `first` or `ready`.
    queued: Hashed<ObjectKey, Place>,
    delayed: DelayQueue,
    failures: Hashed<ObjectKey, u32>,
    writes: Hashed<ObjectKey, (Instant, u32)>,
}

/// Where an object is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    First,
    Ready,
}

/// Every existing object: names alone, in lists of their exact length. In the queue each would be kept twice, in a list
/// and in a tree that grow as they are filled: five times the memory, which a process does not give back.
#[derive(Debug, Default)]
struct InitialList {
    volumes: vec::IntoIter<VolumeName>,
    claims: vec::IntoIter<ClaimKey>,
}

impl WorkQueue {
    /// Puts every existing object before the queue: the volumes, then the claims. What is added meanwhile is reconciled
    /// again afterwards.
    pub(super) fn begin(&mut self, volumes: Vec<VolumeName>, claims: Vec<ClaimKey>) {
        self.initial = InitialList { volumes: volumes.into_iter(), claims: claims.into_iter() };
    }

    /// Adds an object at the end of the queue, unless it is queued. One that is rate limited is delayed.
    pub(super) fn push(&mut self, key: ObjectKey, now: Instant) {
        if self.is_rate_limited(&key, now) {
            self.push_after(key, now + RATE_WINDOW);
            return;
        }
        self.delayed.remove(&key);
        self.push_ready(key);
    }

    /// Adds objects before all others, in this order; one that was so added before keeps its place. One at the end of the
    /// queue is moved: an event that comes between two of its writes would else let all others overtake it.
    pub(super) fn push_first(&mut self, keys: Vec<ObjectKey>) {
        for key in keys.into_iter().rev() {
            if self.moves_to_first(&key) {
                self.first.push_front(key);
            }
        }
    }

    /// Adds objects, in this order, after those that go before all others and before the rest: those whose answers come
    /// first are decided first.
    pub(super) fn extend_first(&mut self, keys: Vec<ObjectKey>) {
        for key in keys {
            if self.moves_to_first(&key) {
                self.first.push_back(key);
            }
        }
    }

    /// Adds an object that becomes due at `due`, unless it is queued or delayed.
    pub(super) fn push_after(&mut self, key: ObjectKey, due: Instant) {
        if !self.queued.contains(&key) && !self.delayed.contains(&key) {
            self.delayed.insert(key, due);
        }
    }

    /// Adds an object after a backoff that grows with each failure in a row.
    pub(super) fn fail(&mut self, key: ObjectKey, now: Instant) {
        let failures = self.failures.get_or_insert(&key, 0);
        let pause = exponential(BACKOFF, *failures);
        *failures = failures.saturating_add(1);
        self.push_after(key, now + pause);
    }

    /// Ends the backoff of an object.
    pub(super) fn succeed(&mut self, key: &ObjectKey) {
        self.failures.remove(key);
    }

    /// Counts a write for an object.
    pub(super) fn note_write(&mut self, key: &ObjectKey, now: Instant) {
        let (since, count) = self.writes.get_or_insert(key, (now, 0));
        if now.duration_since(*since) > RATE_WINDOW {
            (*since, *count) = (now, 0);
        }
        *count += 1;
    }

    /// Takes the next object.
    pub(super) fn pop(&mut self, now: Instant) -> Option<ObjectKey> {
        while let Some(key) = self.delayed.pop(now) {
            self.push_ready(key);
        }
        if let Some(key) = self.first.pop_front() {
            self.queued.remove(&key);
            return Some(key);
        }
        if let Some(key) = self.initial.next() {
            return Some(key);
        }
        while let Some(key) = self.ready.pop_front() {
            if self.queued.remove(&key).is_some() {
                return Some(key);
            }
        }
        None
    }

    /// Returns when a delayed object is due.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        self.delayed.wakes_at()
    }

    /// Forgets everything: a new leader starts over.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns how many objects are queued, delayed ones included.
    pub(super) fn depth(&self) -> usize {
        self.queued.count() + self.initial.count() + self.delayed.count()
    }

    /// Forgets counts that have expired.
    pub(super) fn expire(&mut self, now: Instant) {
        self.writes.retain(|(since, _)| now.duration_since(*since) <= RATE_WINDOW);
    }

    /// Notes that an object is in `first` now. Returns whether it was not.
    fn moves_to_first(&mut self, key: &ObjectKey) -> bool {
        self.delayed.remove(key);
        let is_new = self.queued.get(key) != Some(&Place::First);
        if is_new {
            self.queued.insert(key.clone(), Place::First);
        }
        is_new
    }

    fn push_ready(&mut self, key: ObjectKey) {
        if !self.queued.contains(&key) {
            self.queued.insert(key.clone(), Place::Ready);
            self.ready.push_back(key);
        }
    }

    fn is_rate_limited(&self, key: &ObjectKey, now: Instant) -> bool {
        self.writes.get(key).is_some_and(|(since, count)| {
            *count >= WRITES_COUNT_MAX && now.duration_since(*since) <= RATE_WINDOW
        })
    }
}

impl InitialList {
    fn next(&mut self) -> Option<ObjectKey> {
        let volume = self.volumes.next().map(ObjectKey::Volume);
        let next = volume.or_else(|| self.claims.next().map(ObjectKey::Claim));
        if next.is_none() {
            // Frees the memory of the names.
            *self = Self::default();
        }
        next
    }

    fn count(&self) -> usize {
        self.volumes.len() + self.claims.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(name: &str) -> ObjectKey {
        ObjectKey::Volume(VolumeName::new(name))
    }

    #[test]
    fn each_object_is_queued_once_and_in_order() {
        let (mut queue, now) = (WorkQueue::default(), Instant::now());
        for name in ["a", "b", "a", "c"] {
            queue.push(volume(name), now);
        }
        queue.push_first(vec![volume("c"), volume("d")]);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop(now)).collect();
        assert_eq!(order, ["c", "d", "a", "b"].map(volume));
    }

    #[test]
    fn what_was_answered_goes_before_the_queue_in_the_order_of_the_answers() {
        let (mut queue, now) = (WorkQueue::default(), Instant::now());
        for name in ["a", "b"] {
            queue.push(volume(name), now);
        }
        queue.extend_first(vec![volume("c"), volume("b")]);
        queue.extend_first(vec![volume("d"), volume("c")]);
        queue.push_first(vec![volume("e")]);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop(now)).collect();
        assert_eq!(order, ["e", "c", "b", "d", "a"].map(volume));
    }

    #[test]
    fn an_object_that_is_moved_to_the_front_is_there_once() {
        let (mut queue, now) = (WorkQueue::default(), Instant::now());
        for name in ["a", "b", "c"] {
            queue.push(volume(name), now);
        }
        queue.push_first(vec![volume("c")]);
        assert_eq!((queue.depth(), queue.pop(now)), (3, Some(volume("c"))));
        queue.push(volume("c"), now);
        queue.push_first(vec![volume("b")]);
        queue.push_first(vec![volume("a"), volume("b")]);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop(now)).collect();
        assert_eq!(order, ["a", "b", "c"].map(volume));
        assert_eq!(queue.depth(), 0);
    }

    #[test]
    fn every_existing_object_comes_before_the_queue_and_after_its_head() {
        let (mut queue, now) = (WorkQueue::default(), Instant::now());
        let claim = ClaimKey::new("db", "c");
        queue.push(volume("late"), now);
        queue.begin(["a", "b"].map(VolumeName::new).to_vec(), vec![claim.clone()]);
        assert_eq!(queue.pop(now), Some(volume("a")));
        queue.push_first(vec![volume("head")]);
        assert_eq!(queue.depth(), 4);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop(now)).collect();
        assert_eq!(order, [volume("head"), volume("b"), ObjectKey::Claim(claim), volume("late")]);
        assert_eq!(queue.depth(), 0);
    }

    #[test]
    fn a_failing_object_backs_off_longer_each_time_and_alone() {
        let (mut queue, start) = (WorkQueue::default(), Instant::now());
        let mut now = start;
        let mut pauses = Vec::new();
        for _ in 0..14 {
            queue.fail(volume("failing"), now);
            queue.push(volume("good"), now);
            assert_eq!(queue.pop(now), Some(volume("good")));
            assert_eq!(queue.pop(now), None);
            let due = queue.wakes_at().unwrap();
            pauses.push(due.duration_since(now).as_millis());
            now = due;
            assert_eq!(queue.pop(now), Some(volume("failing")));
        }
        assert_eq!(pauses[..4], [20, 40, 80, 160]);
        assert_eq!(pauses[13], 60_000);
        queue.succeed(&volume("failing"));
        queue.fail(volume("failing"), now);
        assert_eq!(queue.wakes_at().unwrap().duration_since(now).as_millis(), 20);
        queue.push(volume("failing"), now);
        assert_eq!(queue.pop(now), Some(volume("failing")), "an event does not wait");
        assert_eq!((queue.wakes_at(), queue.depth()), (None, 0));
    }

    #[test]
    fn an_object_that_is_written_again_and_again_is_rate_limited() {
        let (mut queue, mut now) = (WorkQueue::default(), Instant::now());
        let mut writes = 0;
        for _ in 0..600 {
            queue.push(volume("undone"), now);
            if queue.pop(now).is_some() {
                queue.note_write(&volume("undone"), now);
                writes += 1;
            }
            now += Duration::from_millis(100);
        }
        assert!((60..=150).contains(&writes), "{writes} writes in a minute");
        queue.expire(now + 2 * RATE_WINDOW);
        assert_eq!(queue.writes.count(), 0);
    }
}

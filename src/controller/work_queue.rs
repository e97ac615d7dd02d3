//! Which object is decided about next: each at most once in the line, in the order in which it was
//! asked for. At the beginning everything there is goes before the line.
//!
//! What fails waits longer each time, alone: the others go on. What is written again and again is slowed
//! down too, because somebody undoes it. Not here: what is decided (`reconciler`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
use std::vec;

use tokio::time::Instant;

use crate::binding::ObjectKey;
use crate::model::{ClaimKey, VolumeName};

/// First and longest pause after a failure. The first is about what a reply takes; the longest is what
/// an administrator who has just repaired something is ready to wait.
const PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_mins(1));

/// Writes for one object within [`HEAT_WINDOW`] before it is slowed down. A whole life (offered, bound,
/// released, offered again) is less than half of it.
const HEAT_WRITES_COUNT_MAX: u32 = 20;

/// Over which time writes for an object are counted, and the pause for one that has too many.
const HEAT_WINDOW: Duration = Duration::from_secs(10);

/// The line of objects.
#[derive(Debug, Default)]
pub(super) struct WorkQueue {
    first: VecDeque<ObjectKey>,
    beginning: InitialList,
    ready: VecDeque<ObjectKey>,
    /// What stands in `first` or `ready`.
    in_line: BTreeSet<ObjectKey>,
    later: BTreeMap<(Instant, u64), ObjectKey>,
    due: BTreeMap<ObjectKey, (Instant, u64)>,
    failures: BTreeMap<ObjectKey, u32>,
    heat: BTreeMap<ObjectKey, (Instant, u32)>,
    numbered: u64,
}

/// Everything there is, to be looked at once: names alone, in lists that are as long as they get. In the line each
/// would be kept twice, in a list and in a tree that grow as they are filled: five times the memory, which a
/// process does not give back.
#[derive(Debug, Default)]
struct InitialList {
    volumes: vec::IntoIter<VolumeName>,
    claims: vec::IntoIter<ClaimKey>,
}

impl WorkQueue {
    /// Puts everything there is before the line: the volumes, then the claims. What is asked for meanwhile
    /// is looked at again afterwards.
    pub(super) fn begin(&mut self, volumes: Vec<VolumeName>, claims: Vec<ClaimKey>) {
        self.beginning = InitialList { volumes: volumes.into_iter(), claims: claims.into_iter() };
    }

    /// Puts an object at the end of the line, unless it stands there. One that is slowed down stays so.
    pub(super) fn push(&mut self, key: ObjectKey, now: Instant) {
        if self.is_hot(&key, now) {
            self.put_off(key, now + HEAT_WINDOW);
            return;
        }
        self.cancel(&key);
        if self.in_line.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    /// Puts objects before all others, in this order; one that stands in it keeps its place.
    pub(super) fn push_first(&mut self, keys: Vec<ObjectKey>) {
        for key in keys.into_iter().rev() {
            self.cancel(&key);
            if self.in_line.insert(key.clone()) {
                self.first.push_front(key);
            }
        }
    }

    /// Asks for an object again after a pause that grows with each failure in a row.
    pub(super) fn fail(&mut self, key: ObjectKey, now: Instant) {
        let failures = self.failures.entry(key.clone()).or_default();
        let factor = 1_u32.checked_shl(*failures).unwrap_or(u32::MAX);
        *failures = failures.saturating_add(1);
        self.put_off(key, now + PAUSE.0.saturating_mul(factor).min(PAUSE.1));
    }

    /// Asks for an object again at a time, if nothing asks for it before.
    pub(super) fn wait_until(&mut self, key: ObjectKey, due: Instant) {
        self.put_off(key, due);
    }

    /// Notes that all went well with an object.
    pub(super) fn succeed(&mut self, key: &ObjectKey) {
        self.failures.remove(key);
    }

    /// Notes that something was written for an object.
    pub(super) fn note_write(&mut self, key: &ObjectKey, now: Instant) {
        let (since, count) = self.heat.entry(key.clone()).or_insert((now, 0));
        if now.duration_since(*since) > HEAT_WINDOW {
            (*since, *count) = (now, 0);
        }
        *count += 1;
    }

    /// The next object.
    pub(super) fn pop(&mut self, now: Instant) -> Option<ObjectKey> {
        while let Some(entry) = self.later.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let key = entry.remove();
            self.due.remove(&key);
            if self.in_line.insert(key.clone()) {
                self.ready.push_back(key);
            }
        }
        if let Some(key) = self.first.pop_front() {
            self.in_line.remove(&key);
            return Some(key);
        }
        if let Some(key) = self.beginning.next() {
            return Some(key);
        }
        let key = self.ready.pop_front()?;
        self.in_line.remove(&key);
        Some(key)
    }

    /// When there will be something, if there is nothing now.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        self.later.keys().next().map(|(due, _)| *due)
    }

    /// Forgets everything: whoever leads again begins anew.
    pub(super) fn clear(&mut self) {
        *self = Self { numbered: self.numbered, ..Self::default() };
    }

    /// How many objects wait for their turn, those that wait after a failure included.
    pub(super) fn depth(&self) -> usize {
        self.first.len() + self.beginning.count() + self.ready.len() + self.later.len()
    }

    /// Forgets counts that no longer matter.
    pub(super) fn cool(&mut self, now: Instant) {
        self.heat.retain(|_, (since, _)| now.duration_since(*since) <= HEAT_WINDOW);
    }

    fn is_hot(&self, key: &ObjectKey, now: Instant) -> bool {
        self.heat.get(key).is_some_and(|(since, count)| {
            *count >= HEAT_WRITES_COUNT_MAX && now.duration_since(*since) <= HEAT_WINDOW
        })
    }

    fn put_off(&mut self, key: ObjectKey, due: Instant) {
        if self.in_line.contains(&key) || self.due.contains_key(&key) {
            return;
        }
        self.numbered += 1;
        let place = (due, self.numbered);
        self.later.insert(place, key.clone());
        self.due.insert(key, place);
    }

    fn cancel(&mut self, key: &ObjectKey) {
        if let Some(place) = self.due.remove(key) {
            self.later.remove(&place);
        }
    }
}

impl InitialList {
    fn next(&mut self) -> Option<ObjectKey> {
        let volume = self.volumes.next().map(ObjectKey::Volume);
        let next = volume.or_else(|| self.claims.next().map(ObjectKey::Claim));
        if next.is_none() {
            // The room that the names took.
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
    fn each_object_is_in_the_line_once_and_in_order() {
        let (mut queue, now) = (WorkQueue::default(), Instant::now());
        for name in ["a", "b", "a", "c"] {
            queue.push(volume(name), now);
        }
        queue.push_first(vec![volume("c"), volume("d")]);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop(now)).collect();
        assert_eq!(order, ["d", "a", "b", "c"].map(volume));
    }

    #[test]
    fn everything_there_is_comes_before_the_line_and_after_its_head() {
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
    fn what_fails_waits_longer_each_time_and_alone() {
        let (mut queue, start) = (WorkQueue::default(), Instant::now());
        let mut now = start;
        let mut pauses = Vec::new();
        for _ in 0..14 {
            queue.fail(volume("poison"), now);
            queue.push(volume("good"), now);
            assert_eq!(queue.pop(now), Some(volume("good")));
            assert_eq!(queue.pop(now), None);
            let due = queue.wakes_at().unwrap();
            pauses.push(due.duration_since(now).as_millis());
            now = due;
            assert_eq!(queue.pop(now), Some(volume("poison")));
        }
        assert_eq!(pauses[..4], [20, 40, 80, 160]);
        assert_eq!(pauses[13], 60_000);
        queue.succeed(&volume("poison"));
        queue.fail(volume("poison"), now);
        assert_eq!(queue.wakes_at().unwrap().duration_since(now).as_millis(), 20);
        queue.push(volume("poison"), now);
        assert_eq!(queue.pop(now), Some(volume("poison")), "an event does not wait");
        assert_eq!((queue.wakes_at(), queue.depth()), (None, 0));
    }

    #[test]
    fn what_is_written_again_and_again_is_slowed_down() {
        let (mut queue, mut now) = (WorkQueue::default(), Instant::now());
        let mut writes = 0;
        for _ in 0..600 {
            queue.push(volume("fought"), now);
            if queue.pop(now).is_some() {
                queue.note_write(&volume("fought"), now);
                writes += 1;
            }
            now += Duration::from_millis(100);
        }
        assert!((60..=150).contains(&writes), "{writes} writes in a minute");
        queue.cool(now + 2 * HEAT_WINDOW);
        assert!(queue.heat.is_empty());
    }
}

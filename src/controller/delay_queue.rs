//! Objects that are due at a time, each once; those that are due at once in the order in which they came.
//!
//! By hand and not tokio-util's `DelayQueue`: that reads the clock itself and leaves the order of entries which are due
//! at once open, so that no run of the simulation would repeat.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::binding::ObjectKey;

/// The objects, by time and by key.
#[derive(Debug, Default)]
pub(super) struct DelayQueue {
    by_time: BTreeMap<(Instant, u64), ObjectKey>,
    by_key: BTreeMap<ObjectKey, (Instant, u64)>,
    numbered: u64,
}

impl DelayQueue {
    /// Adds an object, or gives it another time.
    pub(super) fn insert(&mut self, key: ObjectKey, due: Instant) {
        self.remove(&key);
        self.numbered += 1;
        self.by_time.insert((due, self.numbered), key.clone());
        self.by_key.insert(key, (due, self.numbered));
    }

    /// Removes an object.
    pub(super) fn remove(&mut self, key: &ObjectKey) {
        if let Some(place) = self.by_key.remove(key) {
            self.by_time.remove(&place);
        }
    }

    /// Takes the next object that is due.
    pub(super) fn pop(&mut self, now: Instant) -> Option<ObjectKey> {
        let next = self.by_time.first_entry().filter(|next| next.key().0 <= now)?;
        let key = next.remove();
        self.by_key.remove(&key);
        Some(key)
    }

    /// Returns when the next object is due.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        self.by_time.keys().next().map(|(due, _)| *due)
    }

    /// Returns whether an object has a time.
    pub(super) fn contains(&self, key: &ObjectKey) -> bool {
        self.by_key.contains_key(key)
    }

    /// Returns how many objects there are.
    pub(super) fn count(&self) -> usize {
        self.by_key.len()
    }
}

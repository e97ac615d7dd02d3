//! Entries grouped by a key, without empty groups. Groups may be grouped again.

use std::collections::{BTreeMap, BTreeSet};

/// Entries that are put in and taken out one by one.
pub(super) trait Group: Default {
    /// What one is.
    type Entry;

    /// Puts in an entry.
    fn insert(&mut self, entry: Self::Entry);

    /// Takes out an entry, if it is there.
    fn remove(&mut self, entry: &Self::Entry);

    /// Returns whether there is none.
    fn is_empty(&self) -> bool;
}

impl<T: Ord> Group for BTreeSet<T> {
    type Entry = T;

    fn insert(&mut self, entry: T) {
        self.insert(entry);
    }

    fn remove(&mut self, entry: &T) {
        self.remove(entry);
    }

    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

impl<K: Ord, V> Group for BTreeMap<K, V> {
    type Entry = (K, V);

    fn insert(&mut self, (key, value): (K, V)) {
        self.insert(key, value);
    }

    fn remove(&mut self, (key, _): &(K, V)) {
        self.remove(key);
    }

    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

/// Groups by key; none is empty.
#[derive(Clone, Debug)]
pub(super) struct Grouped<K, G>(BTreeMap<K, G>);

impl<K, G> Default for Grouped<K, G> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, G: Group> Group for Grouped<K, G> {
    type Entry = (K, G::Entry);

    fn insert(&mut self, (key, entry): (K, G::Entry)) {
        self.0.entry(key).or_default().insert(entry);
    }

    fn remove(&mut self, (key, entry): &(K, G::Entry)) {
        let Some(group) = self.0.get_mut(key) else { return };
        group.remove(entry);
        if group.is_empty() {
            self.0.remove(key);
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Ord, G> Grouped<K, G> {
    /// The group of this key.
    pub(super) fn get(&self, key: &K) -> Option<&G> {
        self.0.get(key)
    }

    /// The groups, by key.
    pub(super) fn groups(&self) -> &BTreeMap<K, G> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_empty_group_stays() {
        let mut grouped = Grouped::<&str, Grouped<u8, BTreeSet<u8>>>::default();
        for entry in [("a", (1, 1)), ("a", (1, 2)), ("b", (2, 3))] {
            grouped.insert(entry);
        }
        grouped.remove(&("a", (1, 1)));
        grouped.remove(&("a", (9, 1)));
        grouped.remove(&("b", (2, 3)));
        assert_eq!(grouped.groups().keys().collect::<Vec<_>>(), [&"a"]);
        grouped.remove(&("a", (1, 2)));
        assert!(grouped.is_empty());
    }
}

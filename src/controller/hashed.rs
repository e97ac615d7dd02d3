//! A map without an order, found by hash: in a tree of all objects that were written lately, a search compares seventeen
//! names.
//!
//! Without iteration, so that no order shows.

use std::hash::{BuildHasher, Hash};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::binding::NameHasher;

/// Values by key.
#[derive(Debug)]
pub(super) struct Hashed<K, V> {
    table: HashTable<(K, V)>,
    hasher: NameHasher,
}

impl<K, V> Default for Hashed<K, V> {
    fn default() -> Self {
        Self { table: HashTable::new(), hasher: NameHasher::default() }
    }
}

impl<K: Hash + Eq, V> Hashed<K, V> {
    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        self.table.len()
    }

    /// Returns whether there is a value under `key`.
    pub(super) fn contains(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// The value under `key`.
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        let hash = self.hasher.hash_one(key);
        self.table.find(hash, |(held, _)| held == key).map(|(_, value)| value)
    }

    /// The value under `key`, to be changed.
    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let hash = self.hasher.hash_one(key);
        self.table.find_mut(hash, |(held, _)| held == key).map(|(_, value)| value)
    }

    /// The value under `key`, which is `new` if there was none.
    pub(super) fn get_or_insert(&mut self, key: &K, new: V) -> &mut V
    where
        K: Clone,
    {
        let Self { table, hasher } = self;
        let hash = hasher.hash_one(key);
        let entry = table.entry(hash, |(held, _)| held == key, |(held, _)| hasher.hash_one(held));
        &mut entry.or_insert_with(|| (key.clone(), new)).into_mut().1
    }

    /// Puts a value under `key`. Returns whether there was none.
    pub(super) fn insert(&mut self, key: K, value: V) -> bool {
        let Self { table, hasher } = self;
        let hash = hasher.hash_one(&key);
        match table.entry(hash, |(held, _)| *held == key, |(held, _)| hasher.hash_one(held)) {
            Entry::Occupied(mut held) => {
                held.get_mut().1 = value;
                false
            }
            Entry::Vacant(free) => {
                free.insert((key, value));
                true
            }
        }
    }

    /// Takes out the value under `key`.
    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let hash = self.hasher.hash_one(key);
        let found = self.table.find_entry(hash, |(held, _)| held == key).ok()?;
        let ((_, value), _) = found.remove();
        Some(value)
    }

    /// Keeps the values that `is_kept` returns true for.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(&V) -> bool) {
        self.table.retain(|(_, value)| is_kept(value));
        // What a burst took is given back; half as much again may follow.
        if self.table.capacity() / 4 > self.table.len() {
            let Self { table, hasher } = self;
            table.shrink_to(table.len() * 2, |(held, _)| hasher.hash_one(held));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_keys() {
        let mut map = Hashed::default();
        assert_eq!(
            [map.insert("a", 1), map.insert("b", 2), map.insert("a", 3)],
            [true, true, false]
        );
        *map.get_or_insert(&"c", 0) += 4;
        *map.get_or_insert(&"c", 0) += 1;
        if let Some(value) = map.get_mut(&"b") {
            *value = 6;
        }
        let values =
            |map: &Hashed<&str, i32>| ["a", "b", "c", "d"].map(|key| map.get(&key).copied());
        assert_eq!(values(&map), [Some(3), Some(6), Some(5), None]);
        assert_eq!([map.remove(&"a"), map.remove(&"a")], [Some(3), None]);
        map.retain(|value| *value > 5);
        assert_eq!((map.count(), map.contains(&"b"), map.contains(&"c")), (1, true, false));
    }
}

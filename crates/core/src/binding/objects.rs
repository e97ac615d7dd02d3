//! The observed objects of one kind: found by hash, iterated in the order of their names.
//!
//! A decision asks for a dozen objects by name, and a search in a tree of 100,000 compares seventeen names
//! each time. Not here: what else an object is found by, see `view`.

use std::collections::{BTreeSet, btree_set};
use std::hash::{BuildHasher, Hash};
use std::ops::Bound;
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::name_hasher::NameHasher;
use crate::model::{Claim, ClaimKey, Volume, VolumeName};

/// An object that has a name of its own among those of its kind.
pub(super) trait Named: Clone {
    /// What names it.
    type Name: Clone + Hash + Ord;

    /// Its name.
    fn name(&self) -> &Self::Name;
}

/// Objects of one kind.
#[derive(Clone, Debug)]
pub(super) struct Objects<T: Named> {
    /// By the hash of the name, which stands in the object.
    table: HashTable<Arc<T>>,
    hasher: NameHasher,
    names: BTreeSet<T::Name>,
}

impl<T: Named> Objects<T> {
    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    /// The object of this name.
    pub(super) fn get(&self, name: &T::Name) -> Option<&Arc<T>> {
        self.table.find(self.hasher.hash_one(name), |held| held.name() == name)
    }

    /// The objects, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.names.iter().filter_map(|name| self.get(name))
    }

    /// The names from `start` on, in order.
    pub(super) fn names_from(&self, start: Bound<&T::Name>) -> btree_set::Range<'_, T::Name> {
        self.names.range((start, Bound::Unbounded))
    }

    /// The last name before this one.
    pub(super) fn name_before(&self, name: &T::Name) -> Option<&T::Name> {
        self.names.range(..name).next_back()
    }

    /// Puts in an object; what it replaces.
    pub(super) fn insert(&mut self, object: Arc<T>) -> Option<Arc<T>> {
        let Self { table, hasher, names } = self;
        let name = object.name();
        let entry = table.entry(
            hasher.hash_one(name),
            |held| held.name() == name,
            |held| hasher.hash_one(held.name()),
        );
        match entry {
            Entry::Occupied(mut held) => Some(std::mem::replace(held.get_mut(), object)),
            Entry::Vacant(free) => {
                names.insert(name.clone());
                free.insert(object);
                None
            }
        }
    }

    /// Takes out the object of this name.
    pub(super) fn remove(&mut self, name: &T::Name) -> Option<Arc<T>> {
        let found = self.table.find_entry(self.hasher.hash_one(name), |held| held.name() == name);
        let (object, _) = found.ok()?.remove();
        self.names.remove(name);
        Some(object)
    }

    /// The object of this name, to be changed where it stands; not its name.
    pub(super) fn get_mut(&mut self, name: &T::Name) -> Option<&mut Arc<T>> {
        self.table.find_mut(self.hasher.hash_one(name), |held| held.name() == name)
    }
}

impl<T: Named> Default for Objects<T> {
    fn default() -> Self {
        Self { table: HashTable::new(), hasher: NameHasher::default(), names: BTreeSet::new() }
    }
}

impl Named for Volume {
    type Name = VolumeName;

    fn name(&self) -> &VolumeName {
        &self.name
    }
}

impl Named for Claim {
    type Name = ClaimKey;

    fn name(&self) -> &ClaimKey {
        &self.key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::tests::volume;

    fn named(name: &str) -> Arc<Volume> {
        Arc::new(Volume { name: VolumeName::new(name), ..volume() })
    }

    #[test]
    fn objects_are_found_by_name_and_iterated_in_order() {
        let mut objects = Objects::default();
        for name in ["c", "a", "b", "a"] {
            let old = objects.insert(named(name));
            assert_eq!(old.is_some(), name == "a" && objects.count() == 3);
        }
        let names = |objects: &Objects<Volume>| -> Vec<String> {
            objects.iter().map(|volume| volume.name.to_string()).collect()
        };
        assert_eq!(names(&objects), ["a", "b", "c"]);
        let from: Vec<_> = objects.names_from(Bound::Excluded(&VolumeName::new("a"))).collect();
        assert_eq!(from, [&VolumeName::new("b"), &VolumeName::new("c")]);
        assert!(objects.remove(&VolumeName::new("b")).is_some());
        assert!(objects.remove(&VolumeName::new("b")).is_none());
        assert!(objects.get(&VolumeName::new("b")).is_none());
        assert_eq!(names(&objects), ["a", "c"]);
    }
}

//! An index of reserved volumes by claim.
//!
//! Nearly every claim has one volume, and is asked for it at every step. Found by a hash: in a tree of 100,000
//! claims a search compares dozens of names. Not here: what a reservation means (`pairing`).

use std::collections::BTreeMap;
use std::hash::BuildHasher;

use arcstr::ArcStr;
use hashbrown::HashTable;

use super::name_hasher::NameHasher;
use crate::model::{ClaimKey, VolumeName};

/// Pairs of a claim and a volume that is reserved for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Reservations {
    /// By the hash of the claim.
    pairs: HashTable<(ClaimKey, VolumeName)>,
    hasher: NameHasher,
    /// The namespaces of these claims, each with the number of its pairs.
    namespaces: BTreeMap<ArcStr, usize>,
}

impl Reservations {
    /// Returns the volumes that are reserved for the claim, in order.
    pub(super) fn of(&self, key: &ClaimKey) -> impl Iterator<Item = &VolumeName> + use<'_> {
        let pairs = self.pairs.iter_hash(self.hasher.hash_one(key));
        let mut names = pairs.filter(|(claim, _)| claim == key).map(|(_, name)| name);
        // Nearly always there is no other, and no list is made.
        let first = names.next();
        let mut others: Vec<&VolumeName> = names.collect();
        let only = if others.is_empty() { first } else { None };
        if only.is_none() {
            others.extend(first);
            others.sort_unstable();
        }
        only.into_iter().chain(others)
    }

    /// The text of this namespace, if a claim of it is among them.
    pub(super) fn namespace(&self, name: &ArcStr) -> Option<&ArcStr> {
        self.namespaces.get_key_value(name).map(|(name, _)| name)
    }

    /// Takes in a pair that is not there.
    pub(super) fn insert(&mut self, key: ClaimKey, name: VolumeName) {
        let Self { pairs, hasher, namespaces } = self;
        *namespaces.entry(key.namespace.clone()).or_default() += 1;
        let hash = hasher.hash_one(&key);
        pairs.insert_unique(hash, (key, name), |(claim, _)| hasher.hash_one(claim));
    }

    /// Takes out a pair, if it is there.
    pub(super) fn remove(&mut self, key: &ClaimKey, name: &VolumeName) {
        let hash = self.hasher.hash_one(key);
        let pair = self.pairs.find_entry(hash, |(claim, volume)| volume == name && claim == key);
        let Ok(pair) = pair else { return };
        pair.remove();
        if let Some(count) = self.namespaces.get_mut(&key.namespace) {
            *count -= 1;
            if *count == 0 {
                self.namespaces.remove(&key.namespace);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_found_by_their_claim_in_order() {
        let (data, logs) = (ClaimKey::new("db", "data"), ClaimKey::new("web", "logs"));
        let mut reservations = Reservations::default();
        for (key, name) in [(&data, "b"), (&logs, "c"), (&data, "a")] {
            reservations.insert(key.clone(), VolumeName::new(name));
        }
        let names = |reservations: &Reservations, key: &ClaimKey| -> Vec<String> {
            reservations.of(key).map(ToString::to_string).collect()
        };
        assert_eq!(names(&reservations, &data), ["a", "b"]);
        assert_eq!(names(&reservations, &logs), ["c"]);
        assert_eq!(names(&reservations, &ClaimKey::new("web", "data")), [""; 0]);
        reservations.remove(&data, &VolumeName::new("c"));
        reservations.remove(&data, &VolumeName::new("b"));
        assert_eq!(names(&reservations, &data), ["a"]);
    }

    #[test]
    fn a_namespace_is_known_while_a_claim_of_it_has_a_volume() {
        let (key, db) = (ClaimKey::new("db", "data"), ArcStr::from("db"));
        let mut reservations = Reservations::default();
        for name in ["a", "b"] {
            assert_eq!(reservations.namespace(&db).is_some(), name == "b");
            reservations.insert(key.clone(), VolumeName::new(name));
        }
        assert!(ArcStr::ptr_eq(reservations.namespace(&db).unwrap(), &key.namespace));
        for name in ["a", "b"] {
            assert!(reservations.namespace(&db).is_some());
            reservations.remove(&key, &VolumeName::new(name));
        }
        assert_eq!(reservations.namespace(&db), None);
    }
}

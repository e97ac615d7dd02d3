//! Which volumes are on which piece of storage, and on which one a volume was that is gone.
//!
//! Verdicts ask; binding does not, and goes without.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{ClaimKey, Reservation, Storage, Uid, Volume, VolumeName};

/// Volumes by storage.
#[derive(Clone, Debug, Default)]
pub(super) struct VolumesByStorage {
    /// Pairs, not groups: nearly every piece of storage has one volume, and a set of one name takes as much as of eleven.
    volumes: BTreeSet<(Storage, VolumeName)>,
    /// Volumes that are gone although a claim had them. A claim holds one name, so there are no more of these
    /// than claims that lost theirs.
    lost: BTreeMap<ClaimKey, LostVolume>,
    /// Nothing is noted.
    is_off: bool,
}

/// The volume that a claim had when it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostVolume {
    /// Its name.
    pub name: VolumeName,
    /// The uid of the claim that had it.
    pub holder: Uid,
    /// The storage that it was on.
    pub storage: Storage,
}

impl VolumesByStorage {
    /// One that notes nothing.
    pub(super) fn off() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    /// Takes in that a volume came, changed or went.
    pub(super) fn note(&mut self, name: &VolumeName, old: Option<&Volume>, new: Option<&Volume>) {
        if self.is_off {
            return;
        }
        let on = |volume: Option<&Volume>| volume.and_then(|volume| volume.storage.clone());
        let (before, after) = (on(old), on(new));
        if let (Some(old), None, Some(storage)) = (old, new, &before)
            && let Reservation::Held(key, uid) = &old.reservation
        {
            let (name, holder, storage) = (name.clone(), uid.clone(), storage.clone());
            self.lost.insert(key.clone(), LostVolume { name, holder, storage });
        }
        if before == after {
            return;
        }
        if let Some(storage) = before {
            self.volumes.remove(&(storage, name.clone()));
        }
        if let Some(storage) = after {
            self.volumes.insert((storage, name.clone()));
        }
    }

    /// Takes in that a claim is gone: whatever it had, it misses nothing.
    pub(super) fn forget(&mut self, key: &ClaimKey) {
        self.lost.remove(key);
    }

    /// Returns what the claim had that is gone.
    pub(super) fn lost_by(&self, key: &ClaimKey) -> Option<&LostVolume> {
        self.lost.get(key)
    }

    /// The volumes on this storage, on what it is inside of, or on what is inside it, in that order.
    pub(super) fn touching<'a>(
        &'a self,
        storage: &'a Storage,
    ) -> impl Iterator<Item = &'a VolumeName> {
        let from = |storage: Storage| self.volumes.range((storage, VolumeName::new(""))..);
        let around = storage.around().flat_map(move |outer| {
            let on = from(outer.clone()).take_while(move |(storage, _)| *storage == outer);
            on.map(|(_, name)| name)
        });
        // What is inside stands behind it, but for longer names of others in between.
        let same_head = |other: &Storage| {
            other.kind() == storage.kind() && other.place().starts_with(storage.place())
        };
        let inside = from(storage.clone()).take_while(move |(other, _)| same_head(other));
        let inside = inside.filter(move |(other, _)| other.is_within(storage));
        around.chain(inside.map(|(_, name)| name))
    }
}

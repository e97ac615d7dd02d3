//! Free volumes, ordered so that the best one for a claim is found without looking at the others.
//!
//! A claim can only take a volume of its class, volume mode and attributes class, so these choose a
//! shelf. On a shelf volumes stand by their set of access modes, fewest modes first, then by size and
//! name: the first that fits is the best. Not here: whether a volume fits (`fit`), and volumes that are
//! kept for a claim or promised to one (`View`).

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{
    AccessModes, Claim, ClassName, Deletion, Quantity, Reservation, Volume, VolumeClass,
    VolumeMode, VolumeName, VolumePhase,
};

/// The free volumes of a view.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeVolumes {
    shelves: BTreeMap<Shelf, BTreeMap<ModeSet, BTreeSet<Offer>>>,
}

/// What a volume and a claim must have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shelf {
    class: Option<ClassName>,
    mode: VolumeMode,
    attributes_class: Option<ClassName>,
}

/// A set of access modes; sets with fewer modes come first, so that a volume that could serve others
/// too is the last to go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ModeSet {
    count: usize,
    modes: AccessModes,
}

/// A volume on its shelf.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Offer {
    size: Quantity,
    name: VolumeName,
}

impl Shelf {
    /// The shelf on which a volume stands.
    pub(super) fn of_volume(volume: &Volume) -> Self {
        Self {
            class: owned(volume.class().as_class()),
            mode: volume.mode.clone(),
            attributes_class: volume.attributes_class.clone(),
        }
    }

    /// The shelf from which a claim is served.
    pub(super) fn of_claim(claim: &Claim) -> Self {
        Self {
            class: owned(claim.class().wanted()),
            mode: claim.mode.clone(),
            attributes_class: claim.attributes_class.clone(),
        }
    }
}

impl FreeVolumes {
    /// Takes in a volume, if it is one that a claim could be given.
    pub(super) fn insert(&mut self, volume: &Volume) {
        if is_free(volume) {
            let (shelf, modes, offer) = place(volume);
            self.shelves.entry(shelf).or_default().entry(modes).or_default().insert(offer);
        }
    }

    /// Takes out a volume as it was put in.
    pub(super) fn remove(&mut self, volume: &Volume) {
        if is_free(volume) {
            self.take(volume);
        }
    }

    /// Takes out a volume that was free. Its class, modes and size are those with which it was put in.
    pub(super) fn take(&mut self, volume: &Volume) {
        let (shelf, modes, offer) = place(volume);
        let Some(sets) = self.shelves.get_mut(&shelf) else { return };
        if let Some(offers) = sets.get_mut(&modes) {
            offers.remove(&offer);
            if offers.is_empty() {
                sets.remove(&modes);
            }
        }
        if sets.is_empty() {
            self.shelves.remove(&shelf);
        }
    }

    /// Names of the free volumes that `claim` could be given by class, modes and size, best first:
    /// fewest access modes, canonical order of the modes, smallest size, name.
    ///
    /// **Differs from Kubernetes** in ties only: there, sets of equally many modes and volumes of equal
    /// size come in random order.
    ///
    /// Costs O(k log n) to the first name, for k sets of access modes and n volumes.
    pub(super) fn candidates(&self, claim: &Claim) -> impl Iterator<Item = &VolumeName> {
        let shelf = Shelf::of_claim(claim);
        let smallest = Offer { size: claim.request.clone(), name: VolumeName::new("") };
        let requested = claim.access_modes.clone();
        let sets = self.shelves.get(&shelf).into_iter().flatten();
        let offering = sets.filter(move |(set, _)| set.modes.offers(&requested));
        offering
            .flat_map(move |(_, offers)| offers.range(smallest.clone()..))
            .map(|offer| &offer.name)
    }
}

/// Whether a claim that nobody named it for may be given the volume.
pub(super) fn is_free(volume: &Volume) -> bool {
    volume.phase == VolumePhase::Available
        && volume.reservation == Reservation::Free
        && volume.deletion == Deletion::NotAsked
}

/// Whether nothing but their names says which of two volumes a claim is given first.
pub fn ranks_alike(one: &Volume, other: &Volume) -> bool {
    let (shelf, modes, offer) = place(one);
    let (other_shelf, other_modes, other_offer) = place(other);
    shelf == other_shelf && modes == other_modes && offer.size == other_offer.size
}

fn place(volume: &Volume) -> (Shelf, ModeSet, Offer) {
    let modes = volume.access_modes.clone();
    let set = ModeSet { count: modes.count(), modes };
    (
        Shelf::of_volume(volume),
        set,
        Offer { size: volume.capacity.clone(), name: volume.name.clone() },
    )
}

fn owned(class: VolumeClass<'_>) -> Option<ClassName> {
    match class {
        VolumeClass::Classless => None,
        VolumeClass::Named(name) => Some(name.clone()),
    }
}

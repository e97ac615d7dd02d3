//! An ordered index of free volumes: the best one for a claim is found without a scan.
//!
//! A claim can only bind a volume of its class, volume mode and attributes class. These form the key. Under a key
//! the volumes are ordered by access modes (fewest first), then size, then name: the first that fits is the best.
//! Not here: whether a volume fits (`fit`), and volumes that are reserved for a claim (`View`).

use std::collections::BTreeMap;

use super::grouped::{Group, Grouped};
use crate::model::annotations::TENANT;
use crate::model::{
    AccessModes, Claim, ClassName, Deletion, Labels, Quantity, Reservation, Volume, VolumeMode,
    VolumeName, VolumePhase,
};

/// The free volumes of a view.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeVolumes {
    by_key: ByKey,
    /// Those that carry a tenant's label, once more: where namespaces are not known, each claim asks for one.
    of_tenants: ByKey,
}

/// Each volume with its labels: most of those that a selector rules out are passed over here, without a search for them.
type ByKey = Grouped<MatchKey, Grouped<ModeSet, BTreeMap<Candidate, Labels>>>;

/// The fields that a volume and a claim must have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MatchKey {
    class: Option<ClassName>,
    mode: VolumeMode,
    attributes_class: Option<ClassName>,
}

/// A set of access modes. Sets with fewer modes come first: the most versatile volume is bound last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ModeSet {
    count: usize,
    modes: AccessModes,
}

/// A free volume, ordered by size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    size: Quantity,
    name: VolumeName,
}

impl MatchKey {
    /// Returns the key under which a volume is indexed.
    pub(super) fn of_volume(volume: &Volume) -> Self {
        Self {
            class: volume.class().as_class().name().cloned(),
            mode: volume.mode.clone(),
            attributes_class: volume.attributes_class.clone(),
        }
    }

    /// Returns the key under which volumes for a claim are indexed.
    pub(super) fn of_claim(claim: &Claim) -> Self {
        Self {
            class: claim.class().wanted().name().cloned(),
            mode: claim.mode.clone(),
            attributes_class: claim.attributes_class.clone(),
        }
    }
}

impl FreeVolumes {
    /// Adds a volume if it is free.
    pub(super) fn insert(&mut self, volume: &Volume) {
        if !is_free(volume) {
            return;
        }
        if volume.labels.get(TENANT).is_some() {
            self.of_tenants.insert(place(volume));
        }
        self.by_key.insert(place(volume));
    }

    /// Removes a volume that was added in this form.
    pub(super) fn remove(&mut self, volume: &Volume) {
        if is_free(volume) {
            self.take(volume);
        }
    }

    /// Removes a volume that was free and has changed since, but not in class, modes and size. Its label may have.
    pub(super) fn take(&mut self, volume: &Volume) {
        let place = place(volume);
        self.by_key.remove(&place);
        if !self.of_tenants.is_empty() {
            self.of_tenants.remove(&place);
        }
    }

    /// Returns the free volumes that match `claim` in class, modes, size and labels, best first: fewest access modes,
    /// canonical order of the modes, smallest size, name.
    ///
    /// **Differs from Kubernetes** in ties only: there, sets of equally many modes and volumes of equal
    /// size come in random order.
    ///
    /// Costs O(k log n) to the first name without a selector, for k sets of access modes and n volumes.
    pub(super) fn candidates<'a>(
        &'a self,
        claim: &'a Claim,
    ) -> impl Iterator<Item = &'a VolumeName> {
        candidates(&self.by_key, claim)
    }

    /// Returns those of the [`candidates`](Self::candidates) that carry a tenant's label, in the same order.
    pub(super) fn candidates_of_tenants<'a>(
        &'a self,
        claim: &'a Claim,
    ) -> impl Iterator<Item = &'a VolumeName> {
        candidates(&self.of_tenants, claim)
    }
}

fn candidates<'a>(by_key: &'a ByKey, claim: &'a Claim) -> impl Iterator<Item = &'a VolumeName> {
    let match_key = MatchKey::of_claim(claim);
    let smallest = Candidate { size: claim.request.clone(), name: VolumeName::new("") };
    let sets = by_key.get(&match_key).into_iter().flat_map(Grouped::groups);
    let offering = sets.filter(|(set, _)| set.modes.offers(&claim.access_modes));
    let is_selected =
        |labels| claim.selector.as_ref().is_none_or(|selector| selector.matches(labels));
    offering
        .flat_map(move |(_, candidates)| candidates.range(smallest.clone()..))
        .filter(move |(_, labels)| is_selected(labels))
        .map(|(candidate, _)| &candidate.name)
}

/// Returns whether the volume can be bound to any claim that matches it.
pub(super) fn is_free(volume: &Volume) -> bool {
    volume.phase == VolumePhase::Available
        && volume.reservation == Reservation::Free
        && volume.deletion == Deletion::NotAsked
}

/// Returns whether only the names decide which of two volumes is bound first.
pub fn ranks_alike(one: &Volume, other: &Volume) -> bool {
    let (match_key, (modes, (candidate, _))) = place(one);
    let (other_key, (other_modes, (other_candidate, _))) = place(other);
    match_key == other_key && modes == other_modes && candidate.size == other_candidate.size
}

fn place(volume: &Volume) -> (MatchKey, (ModeSet, (Candidate, Labels))) {
    let modes = volume.access_modes.clone();
    let candidate = Candidate { size: volume.capacity.clone(), name: volume.name.clone() };
    let candidate = (candidate, volume.labels.clone());
    (MatchKey::of_volume(volume), (ModeSet { count: modes.count(), modes }, candidate))
}

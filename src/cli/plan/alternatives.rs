//! Claims for which the binder could have chosen another volume that differs in its name only.
//!
//! The choice among equal volumes is by name, which may not be intended. Counted from the writes; nothing is decided
//! here.

use std::collections::{BTreeMap, BTreeSet};

use crate::binding::{ChosenBy, Remaining, View, Write};
use crate::cli::preview::outcome::ByHash;
use crate::model::annotations::{ALLOWED_NAMESPACES, TENANT};
use crate::model::{
    AccessModes, Claim, ClaimKey, ClassName, Labels, Quantity, Reservation, Volume, VolumeClass,
    VolumeMode, VolumeName, VolumePhase,
};

/// For each claim whose volume the binder chose: how many other free volumes of the same class, modes
/// and size it could have been given at that time.
///
/// Volumes are counted by kind and labels, so that the cost does not grow with the number of equal ones.
pub(super) fn alternatives<'a>(
    after: &'a View,
    writes: &'a [Write],
) -> ByHash<&'a ClaimKey, usize> {
    let mut free = FreeVolumes::before(after, writes);
    let mut counts = ByHash::default();
    // A claim that named the volume itself had no choice; its own write of the name comes later.
    let mut reserved = BTreeMap::new();
    for write in writes {
        match write {
            Write::Reserve { volume, claim, chosen: ChosenBy::Binder, .. } => {
                let Some(volume) = after.volume(&volume.name) else { continue };
                let left = free.change(volume, |count| count.saturating_sub(1));
                if let Some(claim) = after.claim(&claim.name) {
                    reserved.insert(&claim.key, left.admitted_by(claim));
                }
            }
            Write::SetVolumeName { claim, chosen: ChosenBy::Binder, .. } => {
                counts.extend(reserved.remove_entry(&claim.name));
            }
            Write::Unreserve { volume, left: Remaining::Nothing } => {
                if let Some(volume) = after.volume(&volume.name) {
                    free.change(volume, |count| count + 1);
                }
            }
            Write::Reserve { chosen: ChosenBy::Other, .. }
            | Write::Unreserve { left: Remaining::Name, .. }
            | Write::Phase { .. }
            | Write::SetVolumeName { chosen: ChosenBy::Other, .. }
            | Write::Status { .. }
            | Write::SetClass { .. }
            | Write::SetProvisioner { .. }
            | Write::MigrateClaim { .. }
            | Write::MigrateVolume { .. } => {}
        }
    }
    counts
}

/// What equal volumes have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
struct EqualVolumes<'a> {
    class: Option<ClassName>,
    mode: &'a VolumeMode,
    attributes_class: Option<&'a ClassName>,
    access_modes: &'a AccessModes,
    size: &'a Quantity,
    /// The namespaces and the tenant that may use it.
    audience: (Option<&'a str>, Option<&'a str>),
}

/// How many volumes are free, by what equal ones have in common.
#[derive(Debug, Default)]
struct FreeVolumes<'a> {
    counts: ByHash<EqualVolumes<'a>, FreeCount<'a>>,
    /// Whether a claim selects by labels; else they are all the same.
    by_labels: bool,
}

/// How many equal volumes are free, in all and, where labels are counted, by them: a selector may distinguish those.
#[derive(Debug, Default)]
struct FreeCount<'a> {
    total: usize,
    by_labels: ByHash<&'a Labels, usize>,
}

impl<'a> FreeVolumes<'a> {
    /// The free volumes before the first of `writes`.
    fn before(after: &'a View, writes: &[Write]) -> Self {
        let by_labels = after.claims().any(|claim| claim.selector.is_some());
        let mut free = Self { by_labels, ..Self::default() };
        let given_back: BTreeSet<&VolumeName> =
            writes.iter().filter_map(Write::unreserves).collect();
        let taken = writes.iter().filter_map(Write::reserves);
        let taken = taken.filter(|(_, chosen)| *chosen == ChosenBy::Binder);
        let taken = taken.filter_map(|(name, _)| after.volume(name));
        let all = taken.chain(after.volumes().filter(|volume| is_free(volume)));
        for volume in all.filter(|volume| !given_back.contains(&volume.name)) {
            free.change(volume, |count| count + 1);
        }
        free
    }

    /// Changes the count of the volumes that are equal to this one, and returns it.
    fn change(&mut self, volume: &'a Volume, changed: impl Fn(usize) -> usize) -> &FreeCount<'a> {
        let count = self.counts.entry(sort(volume)).or_default();
        count.total = changed(count.total);
        if self.by_labels {
            let of_labels = count.by_labels.entry(&volume.labels).or_default();
            *of_labels = changed(*of_labels);
        }
        count
    }
}

impl FreeCount<'_> {
    /// Returns how many of them the claim could be given.
    fn admitted_by(&self, claim: &Claim) -> usize {
        let Some(selector) = &claim.selector else { return self.total };
        let admitted = self.by_labels.iter().filter(|(labels, _)| selector.matches(labels));
        admitted.map(|(_, count)| count).sum()
    }
}

fn sort(volume: &Volume) -> EqualVolumes<'_> {
    EqualVolumes {
        class: match volume.class().as_class() {
            VolumeClass::Classless => None,
            VolumeClass::Named(name) => Some(name.clone()),
        },
        mode: &volume.mode,
        attributes_class: volume.attributes_class.as_ref(),
        access_modes: &volume.access_modes,
        size: &volume.capacity,
        audience: (volume.annotations.get(ALLOWED_NAMESPACES), volume.labels.get(TENANT)),
    }
}

fn is_free(volume: &Volume) -> bool {
    volume.phase == VolumePhase::Available && volume.reservation == Reservation::Free
}

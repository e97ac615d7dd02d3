//! Where the binder could as well have chosen another volume: one that differs in its name only.
//!
//! The choice among such volumes is by name, which a person may not have meant. Told by going through
//! the writes once more; nothing is decided here.

use std::collections::{BTreeMap, BTreeSet};

use crate::binding::{ChosenBy, Left, View, Write};
use crate::model::{
    AccessModes, Claim, ClaimKey, ClassName, Labels, Quantity, Reservation, Volume, VolumeClass,
    VolumeMode, VolumePhase,
};

/// For each claim whose volume the binder chose: how many other free volumes of the same class, modes
/// and size it could have been given at that time.
///
/// Volumes are counted by kind and labels, so that the cost does not grow with the number of equal ones.
pub(super) fn alternatives<'a>(
    after: &'a View,
    writes: &'a [Write],
) -> BTreeMap<&'a ClaimKey, usize> {
    let mut free = Free::before(after, writes);
    let mut counts = Vec::new();
    // A claim that named the volume itself had no choice, which its name tells, written later.
    let mut reserved = BTreeMap::new();
    for write in writes {
        match write {
            Write::Reserve { volume, claim, chosen: ChosenBy::Binder } => {
                let Some(volume) = after.volume(&volume.name) else { continue };
                free.take(volume);
                if let Some(claim) = after.claim(&claim.name) {
                    reserved.insert(&claim.key, free.count(volume, claim));
                }
            }
            Write::Name { claim, chosen: ChosenBy::Binder, .. } => {
                counts.extend(reserved.remove_entry(&claim.name));
            }
            Write::Unreserve { volume, left: Left::Nothing } => {
                if let Some(volume) = after.volume(&volume.name) {
                    free.put(volume);
                }
            }
            Write::Reserve { chosen: ChosenBy::Other, .. }
            | Write::Unreserve { left: Left::Name, .. }
            | Write::Phase { .. }
            | Write::Name { chosen: ChosenBy::Other, .. }
            | Write::Status { .. }
            | Write::SetClass { .. }
            | Write::Ask { .. }
            | Write::MigrateClaim { .. }
            | Write::MigrateVolume { .. } => {}
        }
    }
    counts.into_iter().collect()
}

/// What equal volumes have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sort {
    class: Option<ClassName>,
    mode: VolumeMode,
    attributes_class: Option<ClassName>,
    access_modes: AccessModes,
    size: Quantity,
}

/// The volumes that are free, by sort.
#[derive(Debug)]
struct Free<'a> {
    stocks: BTreeMap<Sort, Stock<'a>>,
    /// Whether a claim selects by labels; else they are all the same.
    by_labels: bool,
}

/// How many volumes of a sort are free, in all and by their labels: a selector may tell those apart.
#[derive(Debug, Default)]
struct Stock<'a> {
    total: usize,
    by_labels: BTreeMap<&'a Labels, usize>,
}

impl<'a> Free<'a> {
    /// The free volumes before the first of `writes`.
    fn before(after: &'a View, writes: &[Write]) -> Self {
        let by_labels = after.claims().any(|claim| claim.selector.is_some());
        let mut free = Self { stocks: BTreeMap::new(), by_labels };
        let mut given_back = BTreeSet::new();
        let mut taken = Vec::new();
        for write in writes {
            match write {
                Write::Unreserve { volume, .. } => {
                    given_back.insert(&volume.name);
                }
                Write::Reserve { volume, chosen: ChosenBy::Binder, .. } => {
                    taken.extend(after.volume(&volume.name));
                }
                Write::Reserve { chosen: ChosenBy::Other, .. }
                | Write::Phase { .. }
                | Write::Name { .. }
                | Write::Status { .. }
                | Write::SetClass { .. }
                | Write::Ask { .. }
                | Write::MigrateClaim { .. }
                | Write::MigrateVolume { .. } => {}
            }
        }
        let left = after.volumes().filter(|volume| is_free(volume));
        for volume in left.chain(taken).filter(|volume| !given_back.contains(&volume.name)) {
            free.put(volume);
        }
        free
    }

    fn put(&mut self, volume: &'a Volume) {
        let stock = self.stocks.entry(sort(volume)).or_default();
        stock.total += 1;
        if self.by_labels {
            *stock.by_labels.entry(&volume.labels).or_default() += 1;
        }
    }

    fn take(&mut self, volume: &Volume) {
        let Some(stock) = self.stocks.get_mut(&sort(volume)) else { return };
        stock.total = stock.total.saturating_sub(1);
        if let Some(count) = stock.by_labels.get_mut(&volume.labels) {
            *count = count.saturating_sub(1);
        }
    }

    /// How many of the volume's sort the claim could be given.
    fn count(&self, volume: &Volume, claim: &Claim) -> usize {
        let Some(stock) = self.stocks.get(&sort(volume)) else { return 0 };
        let Some(selector) = &claim.selector else { return stock.total };
        let admitted = stock.by_labels.iter().filter(|(labels, _)| selector.matches(labels));
        admitted.map(|(_, count)| count).sum()
    }
}

fn sort(volume: &Volume) -> Sort {
    Sort {
        class: match volume.class().as_class() {
            VolumeClass::Classless => None,
            VolumeClass::Named(name) => Some(name.clone()),
        },
        mode: volume.mode.clone(),
        attributes_class: volume.attributes_class.clone(),
        access_modes: volume.access_modes.clone(),
        size: volume.capacity.clone(),
    }
}

fn is_free(volume: &Volume) -> bool {
    volume.phase == VolumePhase::Available && volume.reservation == Reservation::Free
}

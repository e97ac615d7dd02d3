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
    let (mut free, taken) = FreeVolumes::before(after, writes);
    let mut taken = taken.into_iter();
    let mut counts = ByHash::default();
    // A claim that named the volume itself had no choice; its own write of the name comes later.
    let mut reserved = BTreeMap::new();
    for write in writes {
        match write {
            Write::Reserve { claim, chosen: ChosenBy::Binder, .. } => {
                let Some(place) = taken.next().flatten() else { continue };
                free.take(place);
                if let Some(claim) = after.claim(&claim.name) {
                    reserved.insert(&claim.key, free.count(place, claim));
                }
            }
            Write::SetVolumeName { claim, chosen: ChosenBy::Binder, .. } => {
                counts.extend(reserved.remove_entry(&claim.name));
            }
            Write::Unreserve { volume, left: Remaining::Nothing } => {
                if let Some(volume) = after.volume(&volume.name) {
                    let place = free.place(volume);
                    free.put(place);
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

/// The volumes that are free, by sort and labels: a selector may distinguish those.
#[derive(Debug, Default)]
struct FreeVolumes<'a> {
    sorts: ByHash<EqualVolumes<'a>, usize>,
    stocks: Vec<FreeCount<'a>>,
    /// Whether a claim selects by labels; else they are all the same.
    by_labels: bool,
}

/// How many volumes of a sort are free, in all and by their labels.
#[derive(Debug, Default)]
struct FreeCount<'a> {
    total: usize,
    by_labels: Vec<usize>,
    /// Where labels are counted.
    labels: ByHash<&'a Labels, usize>,
}

/// Where a volume is counted. Kept, as it costs more to find than to use.
#[derive(Clone, Copy, Debug)]
struct Place {
    stock: usize,
    labels: Option<usize>,
}

impl<'a> FreeVolumes<'a> {
    /// The free volumes before the first of `writes`, and the places of those that the binder takes, in the
    /// order in which it does.
    fn before(after: &'a View, writes: &[Write]) -> (Self, Vec<Option<Place>>) {
        let by_labels = after.claims().any(|claim| claim.selector.is_some());
        let mut free = Self { by_labels, ..Self::default() };
        let given_back: BTreeSet<&VolumeName> =
            writes.iter().filter_map(Write::unreserves).collect();
        let was_free = |volume: &Volume| !given_back.contains(&volume.name);
        let taken = writes.iter().filter_map(taken).map(|name| {
            let volume = after.volume(name)?;
            let place = free.place(volume);
            if was_free(volume) {
                free.put(place);
            }
            Some(place)
        });
        let taken = taken.collect();
        for volume in after.volumes().filter(|volume| is_free(volume) && was_free(volume)) {
            let place = free.place(volume);
            free.put(place);
        }
        (free, taken)
    }

    fn place(&mut self, volume: &'a Volume) -> Place {
        let next = self.stocks.len();
        let stock = *self.sorts.entry(sort(volume)).or_insert(next);
        if stock == next {
            self.stocks.push(FreeCount::default());
        }
        let stock_of = self.stocks.get_mut(stock).filter(|_| self.by_labels);
        Place { stock, labels: stock_of.map(|stock| stock.place(&volume.labels)) }
    }

    fn put(&mut self, place: Place) {
        self.change(place, |count| count + 1);
    }

    fn take(&mut self, place: Place) {
        self.change(place, |count| count.saturating_sub(1));
    }

    fn change(&mut self, place: Place, changed: impl Fn(usize) -> usize) {
        let Some(stock) = self.stocks.get_mut(place.stock) else { return };
        stock.total = changed(stock.total);
        if let Some(count) = place.labels.and_then(|labels| stock.by_labels.get_mut(labels)) {
            *count = changed(*count);
        }
    }

    /// How many of this sort the claim could be given.
    fn count(&self, place: Place, claim: &Claim) -> usize {
        let Some(stock) = self.stocks.get(place.stock) else { return 0 };
        let Some(selector) = &claim.selector else { return stock.total };
        let admitted = stock.labels.iter().filter(|(labels, _)| selector.matches(labels));
        admitted.filter_map(|(_, place)| stock.by_labels.get(*place)).sum()
    }
}

impl<'a> FreeCount<'a> {
    fn place(&mut self, labels: &'a Labels) -> usize {
        let next = self.by_labels.len();
        let place = *self.labels.entry(labels).or_insert(next);
        if place == next {
            self.by_labels.push(0);
        }
        place
    }
}

/// The volume that the binder takes.
fn taken(write: &Write) -> Option<&VolumeName> {
    let (name, chosen) = write.reserves()?;
    match chosen {
        ChosenBy::Binder => Some(name),
        ChosenBy::Other => None,
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

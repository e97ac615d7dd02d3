//! The volumes of each class, and those of them that no reservation names a claim for.
//!
//! In a large class nearly every volume is some claim's. What a claim asks of each volume is answered for those all at
//! once, so that the others are found apart. Not here: which of them are free (`index`).

use std::collections::BTreeSet;

use super::grouped::{Group, Grouped};
use crate::model::{ClassName, Reservation, Volume, VolumeClass, VolumeName};

type Names = Grouped<Option<ClassName>, BTreeSet<VolumeName>>;

/// Names of volumes by class, none being one too.
#[derive(Clone, Debug, Default)]
pub(super) struct VolumesByClass {
    all: Names,
    unreserved: Names,
}

impl VolumesByClass {
    /// Takes in that a volume came, changed or went.
    pub(super) fn note(&mut self, old: Option<&Volume>, new: Option<&Volume>) {
        if old.map(Volume::class) != new.map(Volume::class) {
            if let Some(old) = old {
                self.all.remove(&entry(old));
                self.unreserved.remove(&entry(old));
            }
            if let Some(new) = new {
                self.all.insert(entry(new));
            }
        }
        if let Some(new) = new {
            let was_reserved = old.is_some_and(|old| is_reserved(&old.reservation));
            self.note_reservation(new, was_reserved);
        }
    }

    /// Takes in that the reservation of a volume changed; its class did not.
    pub(super) fn note_reservation(&mut self, volume: &Volume, was_reserved: bool) {
        match (was_reserved, is_reserved(&volume.reservation)) {
            (_, false) => self.unreserved.insert(entry(volume)),
            (false, true) => self.unreserved.remove(&entry(volume)),
            (true, true) => {}
        }
    }

    /// The volumes of a class, by name.
    pub(super) fn of(&self, class: VolumeClass<'_>) -> impl Iterator<Item = &VolumeName> {
        self.all.get(&class.name().cloned()).into_iter().flatten()
    }

    /// The volume of a class whose name comes before this one; the first, if none does.
    pub(super) fn next_to(&self, class: VolumeClass<'_>, name: &VolumeName) -> Option<&VolumeName> {
        let names = self.all.get(&class.name().cloned())?;
        names.range(..name).next_back().or_else(|| names.first())
    }

    /// The volumes of a class that are reserved for no claim, by name.
    pub(super) fn unreserved_of(
        &self,
        class: VolumeClass<'_>,
    ) -> impl Iterator<Item = &VolumeName> {
        self.unreserved.get(&class.name().cloned()).into_iter().flatten()
    }

    /// Returns how many volumes are of a class.
    pub(super) fn count(&self, class: VolumeClass<'_>) -> usize {
        self.all.get(&class.name().cloned()).map_or(0, BTreeSet::len)
    }
}

/// Returns whether a claim is named, be it one that cannot exist.
pub(super) fn is_reserved(reservation: &Reservation) -> bool {
    reservation.key().is_some()
}

fn entry(volume: &Volume) -> (Option<ClassName>, VolumeName) {
    (volume.class().as_class().name().cloned(), volume.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::tests::volume;
    use crate::model::ClaimKey;

    #[test]
    fn a_volume_is_found_by_its_class_and_apart_while_it_is_reserved_for_no_claim() {
        let reservation = Reservation::Named(ClaimKey::new("db", "data"));
        let (free, fast) = (volume(), ClassName::new("fast"));
        let taken = Volume { reservation, ..volume() };
        let other = Volume { class_field: Some(fast.clone()), ..volume() };
        let mut index = VolumesByClass::default();
        let counts = |index: &VolumesByClass, class: VolumeClass<'_>| {
            assert_eq!(index.of(class).count(), index.count(class));
            (index.count(class), index.unreserved_of(class).count())
        };
        let own = free.class();
        let steps = [
            (None, Some(&free), (1, 1)),
            (Some(&free), Some(&taken), (1, 0)),
            (Some(&taken), Some(&taken), (1, 0)),
            (Some(&taken), Some(&free), (1, 1)),
            (Some(&free), Some(&other), (0, 0)),
            (Some(&other), Some(&taken), (1, 0)),
            (Some(&taken), None, (0, 0)),
        ];
        for (old, new, expected) in steps {
            index.note(old, new);
            assert_eq!(counts(&index, own.as_class()), expected);
        }
        index.note(None, Some(&free));
        index.note_reservation(&taken, false);
        assert_eq!(counts(&index, own.as_class()), (1, 0));
        index.note_reservation(&free, true);
        assert_eq!(counts(&index, own.as_class()), (1, 1));
        assert_eq!(counts(&index, VolumeClass::Named(&fast)), (0, 0));
    }
}

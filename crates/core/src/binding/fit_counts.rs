//! How many volumes fit a claim, and how many do not for which reason.
//!
//! Numbers only: a text for a tenant names no volume and no other claim.

use std::collections::BTreeMap;
use std::fmt;

use super::fit::{FitCheck, fit};
use super::mismatch::{OTHER_CLASS, RESERVED_FOR_OTHER};
use super::view::View;
use crate::model::{Claim, Volume};

/// All volumes of a view, each counted once; prints as `0/12 volumes fit: 5 other StorageClass, 4 too small`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FitCounts {
    /// How many fit.
    pub fitting: usize,
    /// How many fail for which first reason, by its label and as it is said.
    unfit: BTreeMap<(&'static str, &'static str), usize>,
}

/// Counts for `claim` what each volume is to `asker`: by StorageClass first, then by the first mismatch of [`fit`].
///
/// Costs the volumes of the claim's class that are reserved for no claim: in a large class nearly all are reserved for
/// others, which is the first mismatch of each, and their number is known.
pub fn count_fits(view: &View, claim: &Claim, asker: FitCheck<'_>) -> FitCounts {
    let mut tally = FitCounts::default();
    let (request, home) = (claim.class(), view.home(claim));
    let wanted = request.wanted();
    let (mut unreserved, mut reserved, mut of_other_class) = (0, 0, 0);
    let mut count = |volume: &Volume| match fit(volume, claim, home, asker) {
        Ok(_) => tally.fitting += 1,
        Err(mismatches) => tally.add(mismatches.first().names(), 1),
    };
    for volume in view.unreserved_of_class(wanted) {
        unreserved += 1;
        count(volume);
    }
    // A volume that is reserved for the claim may be of any class.
    for volume in view.reserved_for(&claim.key).filter_map(|name| view.volume(name)) {
        let is_other = volume.class().as_class() != wanted;
        *(if is_other { &mut of_other_class } else { &mut reserved }) += 1;
        count(volume);
    }
    let of_class = view.count_of_class(wanted);
    let others = [
        (RESERVED_FOR_OTHER, of_class.saturating_sub(unreserved + reserved)),
        (OTHER_CLASS, view.volumes_count().saturating_sub(of_class + of_other_class)),
    ];
    for (reason, count) in others {
        if count > 0 {
            tally.add(reason, count);
        }
    }
    tally
}

impl FitCounts {
    /// Returns how many volumes there are.
    pub fn total(&self) -> usize {
        self.fitting + self.unfit.values().sum::<usize>()
    }

    /// Returns how many volumes fail for which first reason, by the label of [`Mismatch`](super::Mismatch).
    pub fn by_label(&self) -> BTreeMap<&'static str, usize> {
        self.unfit.iter().map(|((label, _), count)| (*label, *count)).collect()
    }

    fn add(&mut self, reason: (&'static str, &'static str), count: usize) {
        *self.unfit.entry(reason).or_default() += count;
    }
}

impl fmt::Display for FitCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} volumes fit", self.fitting, self.total())?;
        let mut separator = ":";
        for ((_, said), count) in &self.unfit {
            write!(f, "{separator} {count} {said}")?;
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::binding::Observed;
    use crate::binding::tests::{claim, volume};
    use crate::model::{
        BindingMode, ClaimKey, ClassName, ClassRequest, Quantity, Reservation, Uid, VolumeName,
        VolumePhase,
    };

    const IMMEDIATE: FitCheck<'_> = FitCheck::Controller(BindingMode::Immediate);

    fn view(volumes: impl IntoIterator<Item = Volume>) -> View {
        let mut view = View::default();
        for (number, volume) in volumes.into_iter().enumerate() {
            let name = VolumeName::new(format!("pv-{number}"));
            view.apply(Observed::Volume(Arc::new(Volume { name, ..volume })));
        }
        view
    }

    fn small() -> Volume {
        Volume { capacity: Quantity::parse("1Gi").unwrap(), ..volume() }
    }

    fn of_class(volume: Volume, name: &str) -> Volume {
        Volume { class_field: Some(ClassName::new(name)), ..volume }
    }

    fn taken() -> Volume {
        Volume { reservation: Reservation::Named(ClaimKey::new("qa", "x")), ..volume() }
    }

    #[test]
    fn each_volume_counts_once_and_another_class_comes_first() {
        let volumes =
            [small(), small(), taken(), of_class(small(), "fast"), of_class(volume(), "slow")];
        let view = view(volumes);
        let none = count_fits(&view, &claim(), IMMEDIATE);
        let expected =
            "0/5 volumes fit: 2 other StorageClass, 1 reserved for another PVC, 2 too small";
        assert_eq!((none.to_string().as_str(), none.total()), (expected, 5));
        assert_eq!(none.by_label()["class"], 2);
        let class_field = ClassRequest::Named(ClassName::new("slow"));
        let slow = Claim { class_field, ..claim() };
        assert_eq!(
            count_fits(&view, &slow, IMMEDIATE).to_string(),
            "1/5 volumes fit: 4 other StorageClass"
        );
        let delayed = FitCheck::Controller(BindingMode::WaitForFirstConsumer);
        let waits = "0/5 volumes fit: 4 other StorageClass, 1 waiting for the first consumer";
        assert_eq!(count_fits(&view, &slow, delayed).to_string(), waits);
        assert_eq!(count_fits(&View::default(), &slow, IMMEDIATE).to_string(), "0/0 volumes fit");
    }

    /// Kubernetes does not check the class of a reserved volume either.
    #[test]
    fn a_reserved_volume_counts_whatever_its_class_is() {
        let reservation = Reservation::Named(claim().key);
        let reserved = Volume { reservation, ..of_class(small(), "fast") };
        let counted = count_fits(&view([reserved, volume()]), &claim(), IMMEDIATE);
        assert_eq!(counted.to_string(), "1/2 volumes fit: 1 too small");
    }

    /// Those that are reserved for others are not looked at, so that each of them must count as if they were.
    #[test]
    fn every_volume_counts_as_its_first_mismatch_says() {
        let key = claim().key;
        let reservations = [
            Reservation::Free,
            Reservation::Named(key.clone()),
            Reservation::Held(key.clone(), Uid::new("other")),
            Reservation::Held(key.clone(), Uid::new("c")),
            Reservation::Named(ClaimKey::new("qa", "x")),
            Reservation::Held(ClaimKey::new("qa", "x"), Uid::new("x")),
            Reservation::Incomplete(ClaimKey::new("", "x"), None),
            Reservation::Incomplete(key, Some(Uid::new("c"))),
        ];
        let volumes = reservations.into_iter().flat_map(|reservation| {
            let here = Volume { reservation, ..volume() };
            [
                of_class(here.clone(), "fast"),
                Volume { phase: VolumePhase::Bound, ..here.clone() },
                here,
            ]
        });
        let view = view(volumes);
        let named = [None, Some(VolumeName::new("pv-0")), Some(VolumeName::new("pv-14"))];
        for volume in named {
            let claim = Claim { volume, uid: Some(Uid::new("c")), ..claim() };
            for asker in [IMMEDIATE, FitCheck::Prebind] {
                let mut expected = FitCounts::default();
                for volume in view.volumes() {
                    let is_other = volume.class() != self::volume().class()
                        && volume.reservation.key() != Some(&claim.key);
                    match fit(volume, &claim, None, asker) {
                        _ if is_other => expected.add(OTHER_CLASS, 1),
                        Ok(_) => expected.fitting += 1,
                        Err(mismatches) => expected.add(mismatches.first().names(), 1),
                    }
                }
                assert_eq!(count_fits(&view, &claim, asker), expected);
            }
        }
    }

    /// A volume that changes its class or goes is not counted where it was.
    #[test]
    fn volumes_are_counted_as_they_are_now() {
        let mut view = view([small(), small()]);
        let changed = Volume { name: VolumeName::new("pv-0"), ..of_class(small(), "fast") };
        view.apply(Observed::Volume(Arc::new(changed)));
        view.apply(Observed::VolumeGone(VolumeName::new("pv-1")));
        let counted = count_fits(&view, &claim(), IMMEDIATE);
        assert_eq!(counted.to_string(), "0/1 volumes fit: 1 other StorageClass");
    }
}

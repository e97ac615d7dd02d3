//! Which volume misses a claim by least.
//!
//! A pair is nearer the fewer mismatches it has; of equally many, the easier the hardest of them is to
//! repair; then, the less the sizes differ; then by name.

use super::report::{Candidate, Reason};
use crate::binding::{FitCheck, Mismatch, View, fit};
use crate::model::{Claim, NonEmpty, Volume};

/// A volume and a claim that do not fit.
#[derive(Clone, Debug)]
pub(super) struct Miss<'a> {
    /// The volume.
    pub volume: &'a Volume,
    /// The claim.
    pub claim: &'a Claim,
    /// Everything that speaks against the two.
    pub mismatches: Vec<Mismatch>,
}

/// The volumes that miss `claim`, the nearest first.
pub(super) fn volumes<'a>(view: &'a View, claim: &'a Claim, asker: FitCheck<'_>) -> Vec<Miss<'a>> {
    let misses = view.volumes().filter_map(|volume| miss(view, volume, claim, asker));
    sorted(misses.collect())
}

/// The claims among `claims` that `volume` misses, the nearest first.
pub(super) fn claims<'a>(
    view: &View,
    volume: &'a Volume,
    claims: impl Iterator<Item = &'a Claim>,
    asker: FitCheck<'_>,
) -> Vec<Miss<'a>> {
    sorted(claims.filter_map(|claim| miss(view, volume, claim, asker)).collect())
}

/// The two, if they do not fit.
pub(super) fn miss<'a>(
    view: &View,
    volume: &'a Volume,
    claim: &'a Claim,
    asker: FitCheck<'_>,
) -> Option<Miss<'a>> {
    let mismatches: NonEmpty<Mismatch> = fit(volume, claim, view.home(claim), asker).err()?;
    Some(Miss { volume, claim, mismatches: mismatches.iter().cloned().collect() })
}

fn sorted(mut misses: Vec<Miss<'_>>) -> Vec<Miss<'_>> {
    misses.sort_by_cached_key(|miss| {
        let hardest = miss.mismatches.iter().map(effort).max();
        let (size, asked) = (&miss.volume.capacity, &miss.claim.request);
        let distance = size.rounded_up_units().abs_diff(asked.rounded_up_units());
        let names = (miss.volume.name.clone(), miss.claim.key.clone());
        (miss.mismatches.len(), hardest, distance, names)
    });
    misses
}

/// How hard a mismatch is to repair: a label or a class is a word on the volume; size, modes and kind
/// need another claim; what another claim has is its to give; a node or an end nobody changes, and another
/// tenant's volume is nobody's to give.
fn effort(mismatch: &Mismatch) -> u8 {
    match mismatch {
        Mismatch::WaitsForConsumer => 0,
        Mismatch::Selector { .. } => 1,
        Mismatch::Class { .. } => 2,
        Mismatch::AttributesClass { .. } => 3,
        Mismatch::TooSmall { .. } => 4,
        Mismatch::AccessModes { .. } => 5,
        Mismatch::VolumeMode { .. } => 6,
        Mismatch::NotAvailable { .. } => 7,
        Mismatch::ReservedForOther { .. } => 8,
        Mismatch::ClaimElsewhere => 9,
        Mismatch::DataSource => 10,
        Mismatch::NodeAffinity => 11,
        Mismatch::Terminating => 12,
        Mismatch::ForeignNamespace => 13,
    }
}

impl Miss<'_> {
    /// The volume, for its claim.
    pub(super) fn of_volume(&self) -> Candidate {
        self.candidate(self.volume.name.to_string())
    }

    /// The claim, for its volume.
    pub(super) fn of_claim(&self) -> Candidate {
        self.candidate(self.claim.key.to_string())
    }

    fn candidate(&self, name: String) -> Candidate {
        Candidate {
            name,
            holder: self.volume.reservation.key().map(ToString::to_string),
            mismatches: self.mismatches.iter().map(Reason::of).collect(),
        }
    }
}

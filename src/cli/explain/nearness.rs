//! Volumes that do not match a claim, ranked by how little is missing.
//!
//! A pair with fewer mismatches is nearer. Of equally many, the one whose hardest mismatch is easiest to repair; then
//! the one whose sizes differ least; then the name.

use super::report::{CandidateMismatches, MismatchReason};
use crate::binding::{FitCheck, Mismatch, View, fit};
use crate::model::{Claim, NonEmpty, Volume};

/// A volume and a claim that do not match.
#[derive(Clone, Debug)]
pub(super) struct MismatchedPair<'a> {
    /// The volume.
    pub volume: &'a Volume,
    /// The claim.
    pub claim: &'a Claim,
    /// All mismatches.
    pub mismatches: Vec<Mismatch>,
}

/// The volumes that do not match `claim`, the nearest first.
pub(super) fn volumes<'a>(
    view: &'a View,
    claim: &'a Claim,
    asker: FitCheck<'_>,
) -> Vec<MismatchedPair<'a>> {
    let misses = view.volumes().filter_map(|volume| miss(view, volume, claim, asker));
    sorted(misses.collect())
}

/// The claims among `claims` that `volume` does not match, the nearest first.
pub(super) fn claims<'a>(
    view: &View,
    volume: &'a Volume,
    claims: impl Iterator<Item = &'a Claim>,
    asker: FitCheck<'_>,
) -> Vec<MismatchedPair<'a>> {
    sorted(claims.filter_map(|claim| miss(view, volume, claim, asker)).collect())
}

/// The pair, if it does not match.
pub(super) fn miss<'a>(
    view: &View,
    volume: &'a Volume,
    claim: &'a Claim,
    asker: FitCheck<'_>,
) -> Option<MismatchedPair<'a>> {
    let mismatches: NonEmpty<Mismatch> = fit(volume, claim, view.home(claim), asker).err()?;
    Some(MismatchedPair { volume, claim, mismatches: mismatches.iter().cloned().collect() })
}

fn sorted(mut misses: Vec<MismatchedPair<'_>>) -> Vec<MismatchedPair<'_>> {
    misses.sort_by_cached_key(|miss| {
        let hardest = miss.mismatches.iter().map(effort).max();
        let (size, asked) = (&miss.volume.capacity, &miss.claim.request);
        let distance = size.rounded_up_units().abs_diff(asked.rounded_up_units());
        let names = (miss.volume.name.clone(), miss.claim.key.clone());
        (miss.mismatches.len(), hardest, distance, names)
    });
    misses
}

/// Returns how hard a mismatch is to repair: labels and class are changed on the volume; size and modes need a
/// re-created claim; a volume of another claim has to be released first; node affinity, deletion and tenant cannot be
/// changed.
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

impl MismatchedPair<'_> {
    /// The volume, for its claim.
    pub(super) fn of_volume(&self) -> CandidateMismatches {
        self.candidate(self.volume.name.to_string())
    }

    /// The claim, for its volume.
    pub(super) fn of_claim(&self) -> CandidateMismatches {
        self.candidate(self.claim.key.to_string())
    }

    fn candidate(&self, name: String) -> CandidateMismatches {
        CandidateMismatches {
            name,
            holder: self.volume.reservation.key().map(ToString::to_string),
            mismatches: self.mismatches.iter().map(MismatchReason::of).collect(),
        }
    }
}

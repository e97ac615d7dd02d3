//! A free volume finds the claim that waited for it.
//!
//! The other half of `choice`: there a claim looks among the volumes, here a volume that has just become
//! free is matched against the pending claims, so that binding needs no resync.

use std::sync::Arc;

use super::choice::{Choice, choose};
use super::claim::class_of;
use super::evidence::Evidence;
use super::fit::{FitCheck, fit};
use super::mismatch::Mismatch;
use super::read::Read;
use super::view::View;
use crate::model::{BindingMode, Claim, Deletion, Reservation, Volume, VolumePhase};

/// A Pending claim that a free volume matches.
pub(super) struct Claimant<'a> {
    /// The claim.
    pub(super) claim: &'a Claim,
    /// Another free volume that it prefers; nothing if it takes this one.
    pub(super) preferred: Option<Arc<Volume>>,
}

/// The Pending claims that `volume` matches now, the oldest first; none if the volume is not free, or is assumed to be
/// reserved. The read that decides where a claim's class was not seen.
///
/// A volume that was just created (phase Pending) is given too: it need not become Available first. A claim that prefers
/// another volume is not passed over: the next claim may prefer that one too, and nothing would decide about this volume
/// again once the first has it.
///
/// **Differs from Kubernetes**: there, a claim that came before its volume waits for the next resync, 15
/// seconds at most.
pub(super) fn claimants<'a>(
    evidence: &Evidence<'a>,
    volume: &'a Volume,
) -> impl Iterator<Item = Result<Claimant<'a>, Read>> {
    let view = evidence.view();
    let is_free = volume.reservation == Reservation::Free
        && volume.deletion == Deletion::NotAsked
        && matches!(volume.phase, VolumePhase::Available | VolumePhase::Pending)
        && !view.is_assumed(&volume.name);
    let pending = is_free.then(|| view.pending_for(volume)).into_iter().flatten();
    let pending = pending.filter(|claim| claim.deletion == Deletion::NotAsked);
    pending.filter_map(|claim| claimant(evidence, volume, claim).transpose())
}

/// The claim, if `volume` matches it and no other volume is reserved for it.
fn claimant<'a>(
    evidence: &Evidence<'a>,
    volume: &Volume,
    claim: &'a Claim,
) -> Result<Option<Claimant<'a>>, Read> {
    let mode = class_of(evidence, claim)?;
    let mode = mode.map_or(BindingMode::Immediate, |class| class.binding_mode);
    let (view, asker) = (evidence.view(), FitCheck::Controller(mode));
    let preferred = match choose(view, claim, asker) {
        Choice::NoMatch => None,
        Choice::Free(best) => Some(best).filter(|best| best.name != volume.name),
        Choice::Reserved(_) | Choice::ReservedUnreachable(_) => return Ok(None),
    };
    Ok(is_served(view, volume, claim, asker).then_some(Claimant { claim, preferred }))
}

/// Returns whether nothing speaks against the pair but that the volume is new.
fn is_served(view: &View, volume: &Volume, claim: &Claim, asker: FitCheck<'_>) -> bool {
    let is_new =
        |mismatch: &Mismatch| *mismatch == Mismatch::NotAvailable { phase: VolumePhase::Pending };
    match fit(volume, claim, view.home(claim), asker) {
        Ok(_) => true,
        Err(mismatches) => mismatches.iter().all(is_new),
    }
}

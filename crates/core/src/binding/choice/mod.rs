//! The choice of a volume for a claim: one that is reserved for it, else the best free one.
//!
//! Not here: whether a volume fits (`fit`), the order of the free ones (`index`).

use std::sync::Arc;

use super::fit::{Fit, FitCheck, fit, is_foreign};
use super::mismatch::Mismatch;
use super::view::View;
use crate::model::{BindingMode, Claim, Content, Reservation, Volume, VolumeName};

/// What the view has for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This volume is reserved for the claim.
    Reserved(Arc<Volume>),
    /// This volume is free, and none that is free fits better.
    Free(Arc<Volume>),
    /// This volume is reserved for the claim, and the node cannot reach it. No other volume is considered.
    ReservedUnreachable(Arc<Volume>),
    /// None fits.
    NoMatch,
}

/// The volume for `claim`, among those that `view` shows.
///
/// A volume that is reserved for the claim comes before every other, whatever its access modes are: one
/// that names its uid first, then in the order of the free ones.
///
/// **Differs from Kubernetes**: there a volume that is reserved for the claim is found only when no free one
/// has fewer access modes (`pv_controller.go`, `findBestMatchForClaim`), and stays unused. A scheduler
/// whose node cannot reach a reserved volume is given none, as there (`pkg/volume/util`,
/// `FindMatchingVolume`).
pub fn choose(view: &View, claim: &Claim, asker: FitCheck<'_>) -> Choice {
    choose_besides(view, claim, asker, &[])
}

/// The same for one of several claims: a free volume that is in `taken` is chosen for another of them already.
///
/// Kubernetes: `pkg/volume/util`, `FindMatchingVolume`, `excludedVolumes`.
pub(super) fn choose_besides(
    view: &View,
    claim: &Claim,
    asker: FitCheck<'_>,
    taken: &[VolumeName],
) -> Choice {
    reserved(view, claim, asker).unwrap_or_else(|| free(view, claim, asker, taken))
}

/// The volume that is reserved for the claim and fits. How the claim's class binds does not count.
///
/// Kubernetes: `pkg/volume/util`, `FindMatchingVolume`: a volume that is reserved for the claim is returned before
/// the binding mode is asked.
pub(super) fn reserved_for_binder(view: &View, claim: &Claim) -> Option<Arc<Volume>> {
    match reserved(view, claim, FitCheck::Controller(BindingMode::Immediate)) {
        Some(Choice::Reserved(volume)) => Some(volume),
        Some(Choice::Free(_) | Choice::ReservedUnreachable(_) | Choice::NoMatch) | None => None,
    }
}

fn reserved(view: &View, claim: &Claim, asker: FitCheck<'_>) -> Option<Choice> {
    let home = view.home(claim);
    let mut reserved: Vec<&Arc<Volume>> =
        view.reserved_for(&claim.key).filter_map(|name| view.volume(name)).collect();
    reserved.sort_by(|a, b| standing(a).cmp(&standing(b)));
    reserved.into_iter().find_map(|volume| match fit(volume, claim, home, asker) {
        Ok(Fit::Reserved) => Some(Choice::Reserved(Arc::clone(volume))),
        Ok(Fit::Free) => None,
        Err(mismatches) => mismatches
            .iter()
            .all(|mismatch| *mismatch == Mismatch::NodeAffinity)
            .then(|| Choice::ReservedUnreachable(Arc::clone(volume))),
    })
}

fn free(view: &View, claim: &Claim, asker: FitCheck<'_>, taken: &[VolumeName]) -> Choice {
    let home = view.home(claim);
    if let FitCheck::Controller(BindingMode::WaitForFirstConsumer) = asker {
        // No free volume is given before a pod has a node: not one of them needs a look.
        return Choice::NoMatch;
    }
    if claim.content == Content::Copied {
        // Nor is one given that the data was not copied to.
        return Choice::NoMatch;
    }
    // `fit` asks it too, and lists whatever else there is: tenancy may rule out thousands.
    let mut free = view.free_for(claim).filter(|volume| !is_foreign(volume, claim, home));
    let free = free
        .find(|volume| !taken.contains(&volume.name) && fit(volume, claim, home, asker).is_ok());
    free.map_or(Choice::NoMatch, |volume| Choice::Free(Arc::clone(volume)))
}

/// Orders reserved volumes: those with a uid first, then as free ones.
fn standing(volume: &Volume) -> impl Ord + '_ {
    let by_name_only = !matches!(volume.reservation, Reservation::Held(..));
    let modes = &volume.access_modes;
    (by_name_only, modes.count(), modes, &volume.capacity, &volume.name)
}

#[cfg(test)]
mod tests;

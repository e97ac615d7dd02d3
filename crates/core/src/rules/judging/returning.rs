//! Which volume goes back to a new claim of the name that had it.

use crate::binding::{FitCheck, fit};
use crate::model::annotations::{MOVE, TRASH, TRASH_SOFT};
use crate::model::{Claim, Content, Deletion, ReclaimPolicy, Reservation, Volume};

/// Returns whether a new claim gets this volume back: the trash holds it for the next claim of that name, and the former
/// one, to which `spec.claimRef` points, is gone. A claim that asks for other content, or that does not fit the volume, is
/// meant to get another one.
pub fn returns_to(volume: &Volume, claim: &Claim) -> bool {
    let marks = &volume.annotations;
    let Reservation::Held(key, holder) = &volume.reservation else { return false };
    let is_soft = marks.has(TRASH)
        && !marks.has(MOVE)
        && marks.get(TRASH_SOFT).is_some_and(|mark| holder.is(mark));
    is_soft
        && *key == claim.key
        && claim.uid.as_ref() != Some(holder)
        && volume.deletion == Deletion::NotAsked
        && volume.policy == ReclaimPolicy::Retain
        && claim.content == Content::Empty
        && fits(volume, claim)
}

/// Returns whether they suit each other once the volume is offered to the name.
fn fits(volume: &Volume, claim: &Claim) -> bool {
    let reservation = Reservation::Named(claim.key.clone());
    let offered = Volume { reservation, ..volume.clone() };
    // Whose the volume is, the same namespace has shown.
    fit(&offered, claim, None, FitCheck::Prebind).is_ok()
}

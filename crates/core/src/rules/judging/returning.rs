//! Which volume goes back to a new claim of the name that had it.

use crate::binding::{FitCheck, fit};
use crate::model::annotations::{MOVE, TRASH, TRASH_SOFT};
use crate::model::{
    Claim, Content, Deletion, Namespace, ReclaimPolicy, Reservation, Volume, VolumePhase,
};

/// Returns whether a new claim gets this volume back: the trash holds it for the next claim of that name, and the former one is
/// gone. `home` is the namespace of the claim.
///
/// A claim that asks for other content, or that does not fit the volume, is meant to get another one. So is one with an
/// owner: those of generic ephemeral volumes, and of a StatefulSet that deletes its claims, were deleted on purpose.
pub fn returns_to(volume: &Volume, claim: &Claim, home: Option<&Namespace>) -> bool {
    let marks = &volume.annotations;
    let mark = marks.get(TRASH_SOFT).filter(|_| marks.has(TRASH) && !marks.has(MOVE));
    let is_held = match (&volume.reservation, mark) {
        (Reservation::Held(key, holder), Some(mark)) => {
            *key == claim.key && holder.is(mark) && claim.uid.as_ref() != Some(holder)
        }
        // It is offered already, and a binder may not have seen that yet.
        (Reservation::Named(key), Some(_)) => {
            *key == claim.key && volume.phase != VolumePhase::Bound
        }
        (Reservation::Free | Reservation::Incomplete(..), _) | (_, None) => false,
    };
    is_held
        && volume.deletion == Deletion::NotAsked
        && volume.policy == ReclaimPolicy::Retain
        && claim.owners.is_empty()
        && claim.content == Content::Empty
        && fits(volume, claim, home)
}

/// Returns whether they suit each other once the volume is offered to the name.
fn fits(volume: &Volume, claim: &Claim, home: Option<&Namespace>) -> bool {
    let reservation = Reservation::Named(claim.key.clone());
    let offered = Volume { reservation, ..volume.clone() };
    fit(&offered, claim, home, FitCheck::Prebind).is_ok()
}

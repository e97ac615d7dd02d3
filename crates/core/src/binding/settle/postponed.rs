//! What a settlement may leave for later: the order in which replies come decides where a volume is given up.

use super::super::decision::{ChosenBy, Remaining, Write};
use super::super::view::View;
use super::super::volume::{left_of_reservation, was_never_bound};
use crate::model::Reservation;

/// What a settlement leaves for later, as if its replies came late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Postponed {
    /// Nothing.
    Nothing,
    /// The choices of claims, until all volumes that are given up are free.
    Choices,
    /// The end of reservations that are given up, until all claims have chosen among what is free without them.
    GivingUp,
}

impl Postponed {
    pub(super) fn contains(self, write: &Write) -> bool {
        match self {
            Self::Nothing => false,
            // A claim that finds no volume is given the default class.
            Self::Choices => matches!(
                write,
                Write::Reserve { chosen: ChosenBy::Binder, .. } | Write::SetClass { .. }
            ),
            Self::GivingUp => write.given_up().is_some(),
        }
    }
}

/// Returns whether a volume may be given up: it is reserved, by a binder, for a claim that is gone or does not name it.
/// Only then may it matter what is [`Postponed`].
pub fn may_give_up(view: &View) -> bool {
    view.volumes().any(|volume| match &volume.reservation {
        Reservation::Held(key, uid) if left_of_reservation(volume) == Remaining::Nothing => {
            match view.claim(key).filter(|claim| claim.uid.as_ref() == Some(uid)) {
                Some(claim) => claim.volume.as_ref() != Some(&volume.name),
                None => was_never_bound(volume),
            }
        }
        Reservation::Free
        | Reservation::Named(_)
        | Reservation::Held(..)
        | Reservation::Incomplete(..) => false,
    })
}

//! One step of creating a volume again from what is left of it.

use super::error::MoveError;
use super::requests::{MoveRequests, StoredClaim, StoredVolume, Written};
use crate::api::moves::{claim_of_volume, record_patch};
use crate::api::tombstone::TombstoneRecord;
use crate::model::Reservation;
use crate::moves::{ClaimRead, Direction, Goal, Journal, MoveProblem};

/// What a step came to.
#[derive(Clone, Debug)]
pub enum RecreateAdvance {
    /// The volume was created.
    Created,
    /// An object has changed between the read and the write: the step is decided again.
    Changed,
    /// A person has to solve this.
    Stopped(MoveProblem),
    /// The volume is there, and the journal of the move is on it.
    Recorded(Box<StoredVolume>, Journal),
}

/// Makes the next step of creating a volume again and recording the move to `goal` on it.
///
/// # Errors
///
/// A request failed. Whether its write was made shows in the next call.
pub async fn advance_recreation(
    requests: &MoveRequests,
    left: &TombstoneRecord,
    goal: &Goal,
) -> Result<RecreateAdvance, MoveError> {
    let name = left.name();
    let Some(stored) = requests.volume(&name).await? else {
        let is_claim_there = is_claim_there(requests, left).await?;
        let written = requests.create_volume(&name, &left.manifest(is_claim_there)).await?;
        return Ok(match written {
            Written::Made => RecreateAdvance::Created,
            Written::Stale => RecreateAdvance::Changed,
        });
    };
    if let Some(journal) = stored.recorded.clone() {
        return Ok(RecreateAdvance::Recorded(Box::new(stored), journal));
    }
    if !left.is_source_of(&stored.object) {
        return Ok(RecreateAdvance::Stopped(MoveProblem::VolumeNameTaken(name)));
    }
    let Some(journal) = journal(&stored, left, goal) else {
        return Ok(RecreateAdvance::Stopped(MoveProblem::Changed(name)));
    };
    let copy = left.claim_copy().cloned().unwrap_or_else(|| claim_of_volume(&stored.object));
    let patch = record_patch(&stored.moved, &journal, Some(&copy));
    // The next call reads it with its journal.
    requests.patch_volume(&name, &patch).await.map(|_| RecreateAdvance::Changed)
}

/// Returns whether the claim that had the volume still exists, and has no other one.
///
/// # Errors
///
/// The read failed.
pub async fn is_claim_there(
    requests: &MoveRequests,
    left: &TombstoneRecord,
) -> Result<bool, MoveError> {
    let claim = StoredClaim::state(requests.claim(&left.key()).await?.as_ref());
    Ok(match claim {
        ClaimRead::Present(claim) => {
            left.claim_uid().is_some_and(|uid| uid == claim.uid) && claim.names(&left.name())
        }
        ClaimRead::Absent | ClaimRead::Unread => false,
    })
}

/// The journal of the move of a volume that was created again; nothing if another claim has got it since.
fn journal(stored: &StoredVolume, left: &TombstoneRecord, goal: &Goal) -> Option<Journal> {
    let origin_uid = match &stored.moved.reservation {
        Reservation::Held(key, uid) if *key == left.key() && *key == *goal.claim() => {
            Some(uid.clone())
        }
        Reservation::Held(_, uid) if left.claim_uid().as_ref() == Some(uid) => Some(uid.clone()),
        Reservation::Named(key) if *key == left.key() => None,
        Reservation::Held(..)
        | Reservation::Free
        | Reservation::Named(_)
        | Reservation::Incomplete(..) => return None,
    };
    Some(Journal {
        policy: left.policy(),
        origin: left.key(),
        origin_uid,
        goal: goal.clone(),
        direction: Direction::Forward,
        begun_on: stored.moved.version.clone(),
    })
}

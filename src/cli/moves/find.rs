//! Finds the volumes that a command is about, and what is to become of them.

use super::object::MovedObject;
use super::planned::{PlannedMove, impossible};
use crate::cli::exit::Failure;
use crate::model::annotations::{FORMER_CLAIM, REPLACES, TRASH};
use crate::model::{ClaimKey, Deletion, Reservation, VolumeName, VolumePhase};
use crate::move_runner::{MoveRequests, StoredVolume};
use crate::moves::{Direction, Goal, MoveProblem};

/// The move of the volume of one claim to another.
pub(super) async fn transfer(
    requests: &MoveRequests,
    claim: &ClaimKey,
    to: &ClaimKey,
) -> Result<Vec<PlannedMove>, Failure> {
    if claim == to {
        return Err(Failure::usage(format!("PVC \"{claim}\" has this name already")));
    }
    let volumes = requests.volumes().await?;
    // First: the claim may have been created again since its move began.
    let is_begun = |stored: &&StoredVolume| {
        let recorded = stored.recorded.as_ref();
        recorded.is_some_and(|journal| journal.origin == *claim && journal.goal.claim() == to)
    };
    if let Some(stored) = volumes.iter().find(is_begun) {
        return Ok(vec![PlannedMove::to(stored.clone(), Goal::Claim(to.clone()))?]);
    }
    if let Some(stored) = of_claim(requests, claim).await? {
        return Ok(vec![PlannedMove::to(stored, Goal::Claim(to.clone()))?]);
    }
    if volumes.iter().any(|stored| was_moved(stored, claim, to)) {
        return Ok(Vec::new());
    }
    Err(impossible(if volumes.iter().any(|stored| is_left_by(stored, claim)) {
        format!(
            "PVC \"{claim}\" was deleted, and its PV is left; use: bindery rescue pvc/{claim} --to {to}"
        )
    } else {
        format!(
            "PVC \"{claim}\" does not exist, and no PV is reserved for it; check name and namespace"
        )
    }))
}

/// The two moves of a swap.
pub(super) async fn swap(
    requests: &MoveRequests,
    claim: &ClaimKey,
    other: &ClaimKey,
) -> Result<Vec<PlannedMove>, Failure> {
    if claim == other {
        return Err(Failure::usage(format!("both are PVC \"{claim}\"; name two")));
    }
    let volumes = requests.volumes().await?;
    let find = |claim: &ClaimKey, to: &ClaimKey| {
        let begun = volumes.iter().find(|stored| {
            stored.recorded.as_ref().is_some_and(|journal| {
                journal.origin == *claim
                    && matches!(&journal.goal, Goal::Swap(goal, _) if goal == to)
            })
        });
        begun.cloned()
    };
    let (mine, theirs) = (find(claim, other), find(other, claim));
    let (mine, theirs) = match (mine, theirs) {
        (Some(mine), Some(theirs)) => (mine, theirs),
        // One of them has ended, or was not begun yet.
        (Some(begun), None) | (None, Some(begun)) => return half_swap(requests, begun).await,
        (None, None) => (held(requests, claim).await?, held(requests, other).await?),
    };
    // It has ended: what exchanges them once more is undo.
    if is_swapped(&mine, &theirs) {
        return Ok(Vec::new());
    }
    let (name, other_name) = (mine.moved.name.clone(), theirs.moved.name.clone());
    Ok(vec![
        PlannedMove::to(mine, Goal::Swap(other.clone(), other_name))?,
        PlannedMove::to(theirs, Goal::Swap(claim.clone(), name))?,
    ])
}

/// Whether each volume was moved last from the claim that the other has now.
fn is_swapped(one: &StoredVolume, other: &StoredVolume) -> bool {
    let is_from = |volume: &StoredVolume, former: &StoredVolume| {
        let key = former_claim(volume);
        key.is_some_and(|key| has(former, &key)) && volume.recorded.is_none()
    };
    is_from(one, other) && is_from(other, one)
}

/// A swap of which one move is recorded.
async fn half_swap(
    requests: &MoveRequests,
    begun: StoredVolume,
) -> Result<Vec<PlannedMove>, Failure> {
    let Some(journal) = begun.recorded.clone() else { return Ok(Vec::new()) };
    let Goal::Swap(to, partner) = &journal.goal else { return Ok(Vec::new()) };
    let mut moves = Vec::new();
    let partner = requests.volume(partner).await?;
    // The partner that has ended has the claim of this move's origin.
    if let Some(partner) = partner.filter(|partner| has(partner, to)) {
        let goal = Goal::Swap(journal.origin.clone(), begun.moved.name.clone());
        moves.push(PlannedMove::along(partner, goal, journal.direction.clone())?);
    }
    moves.push(PlannedMove::resumed(begun)?);
    Ok(moves)
}

/// The move back, or the two of a swap.
pub(super) async fn undo(
    requests: &MoveRequests,
    object: &MovedObject,
) -> Result<Vec<PlannedMove>, Failure> {
    let volumes = requests.volumes().await?;
    let is_it = |stored: &&StoredVolume| match (object, &stored.recorded) {
        (MovedObject::Volume(name), _) => stored.moved.name == *name,
        (MovedObject::Claim(key), Some(journal)) => {
            journal.origin == *key || journal.goal.claim() == key
        }
        (MovedObject::Claim(key), None) => {
            let former = former_claim(stored);
            former.is_some_and(|former| former == *key || has(stored, key))
        }
        (MovedObject::Namespace(_), _) => false,
    };
    let found: Vec<&StoredVolume> = volumes.iter().filter(is_it).collect();
    let stored = match &*found {
        [stored] => (*stored).clone(),
        [one, other] if is_swapped(one, other) => {
            return PlannedMove::swap_back((*one).clone(), (*other).clone());
        }
        [one, other] if is_swapped_with(one, other) => (*one).clone(),
        [one, other] if is_swapped_with(other, one) => (*other).clone(),
        [] => {
            return Err(match object {
                MovedObject::Namespace(_) => {
                    Failure::usage("a move is undone for one PVC; write pvc/NAME or pv/NAME")
                }
                MovedObject::Volume(name) => missing(name),
                MovedObject::Claim(key) => impossible(format!(
                    "no PV was moved from or to PVC \"{key}\"; there is nothing to undo"
                )),
            });
        }
        several => {
            return Err(impossible(format!(
                "several PVs were moved from or to this PVC: {}; undo the move of one, as pv/NAME",
                names(several)
            )));
        }
    };
    if let Some(other) = volumes.iter().find(|other| is_swapped(&stored, other)) {
        return PlannedMove::swap_back(stored, other.clone());
    }
    if let Some(journal) = stored.recorded.clone()
        && let Goal::Swap(to, partner) = &journal.goal
    {
        if matches!(journal.direction, Direction::Back { .. }) {
            let other = volumes.iter().find(|other| is_swap_of(&stored, other)).cloned();
            return match other {
                Some(other) => {
                    Ok(vec![PlannedMove::resumed(stored)?, PlannedMove::resumed(other)?])
                }
                None => half_swap(requests, stored).await,
            };
        }
        let partner = volumes.iter().find(|other| other.moved.name == *partner);
        let is_alone = partner.is_none_or(|other| !is_swap_of(&stored, other) && has(other, to));
        if is_alone && stored.moved.reservation.uid() == journal.origin_uid.as_ref() {
            return Ok(vec![PlannedMove::back_alone(stored, &journal)]);
        }
    }
    let former = former_claim(&stored);
    Ok(vec![PlannedMove::back(stored, former)?])
}

/// Whether both volumes are in one swap.
fn is_swap_of(one: &StoredVolume, other: &StoredVolume) -> bool {
    is_swapped_with(one, other) && is_swapped_with(other, one)
}

/// Whether the journal of a volume is that of a swap with another one.
fn is_swapped_with(stored: &StoredVolume, partner: &StoredVolume) -> bool {
    let recorded = stored.recorded.as_ref();
    recorded.is_some_and(
        |journal| matches!(&journal.goal, Goal::Swap(_, name) if *name == partner.moved.name),
    )
}

/// The volume of a claim that exists; nothing if it does not.
pub(super) async fn of_claim(
    requests: &MoveRequests,
    key: &ClaimKey,
) -> Result<Option<StoredVolume>, Failure> {
    let Some(claim) = requests.claim(key).await? else { return Ok(None) };
    let not_bound = || impossible(MoveProblem::NotBound(key.clone()).to_string());
    let name = claim.claim.volume.clone().ok_or_else(not_bound)?;
    let stored = by_name(requests, &name).await?;
    match (&stored.moved.reservation, &claim.claim.uid) {
        (Reservation::Held(_, held), Some(uid)) if held == uid => Ok(Some(stored)),
        // Of a move that has not reserved the volume yet, the claim is the new one.
        _ if stored.recorded.as_ref().is_some_and(|journal| journal.goal.claim() == key) => {
            Ok(Some(stored))
        }
        _ => Err(not_bound()),
    }
}

async fn held(requests: &MoveRequests, key: &ClaimKey) -> Result<StoredVolume, Failure> {
    let stored = of_claim(requests, key).await?;
    stored.ok_or_else(|| {
        impossible(format!("PVC \"{key}\" does not exist; check name and namespace"))
    })
}

pub(super) async fn by_name(
    requests: &MoveRequests,
    name: &VolumeName,
) -> Result<StoredVolume, Failure> {
    let stored = requests.volume(name).await?;
    stored.ok_or_else(|| missing(name))
}

pub(super) fn missing(name: &VolumeName) -> Failure {
    impossible(format!("PV {:?} does not exist; check the name", name.as_str()))
}

/// Whether a claim that is gone has left the volume.
pub(super) fn is_left_by(stored: &StoredVolume, key: &ClaimKey) -> bool {
    left_key(stored) == Some(key)
}

/// The claim that is gone and has left the volume, or that had it before its move.
pub(super) fn left_key(stored: &StoredVolume) -> Option<&ClaimKey> {
    match (&stored.recorded, &stored.moved.phase) {
        (Some(journal), _) => Some(&journal.origin),
        (None, VolumePhase::Released) => stored.moved.reservation.key(),
        // It would go with its claim.
        (None, VolumePhase::Bound) if is_terminating(stored) => stored.moved.reservation.key(),
        // In the trash, and offered to any claim of that name; or made in the place of one that was being deleted.
        (None, VolumePhase::Available) => {
            let annotations = &stored.object["metadata"]["annotations"];
            let is_left = [TRASH, REPLACES].iter().any(|key| annotations.get(key).is_some());
            stored.moved.reservation.key().filter(|_| is_left)
        }
        (
            None,
            VolumePhase::Pending
            | VolumePhase::Bound
            | VolumePhase::Failed
            | VolumePhase::Unknown(_),
        ) => None,
    }
}

/// Whether the volume is being deleted.
pub(super) fn is_terminating(stored: &StoredVolume) -> bool {
    stored.moved.deletion == Deletion::Terminating
}

/// Whether the last move of the volume led from one claim to the other.
pub(super) fn was_moved(stored: &StoredVolume, from: &ClaimKey, to: &ClaimKey) -> bool {
    former_claim(stored).as_ref() == Some(from) && has(stored, to)
}

/// Whether the volume is reserved for the claim.
fn has(stored: &StoredVolume, key: &ClaimKey) -> bool {
    stored.moved.reservation.key() == Some(key)
}

/// The claim from which the volume was moved last; nothing if another claim has got it since.
fn former_claim(stored: &StoredVolume) -> Option<ClaimKey> {
    let text = stored.object["metadata"]["annotations"][FORMER_CLAIM].as_str()?;
    let (key, holder) = text.split_once(' ')?;
    let (namespace, name) = key.split_once('/')?;
    let is_it = stored.moved.reservation.uid().is_some_and(|uid| uid.is(holder));
    is_it.then(|| ClaimKey::new(namespace, name))
}

pub(super) fn names(volumes: &[&StoredVolume]) -> String {
    let names = volumes.iter().map(|stored| format!("{:?}", stored.moved.name.as_str()));
    names.collect::<Vec<_>>().join(", ")
}

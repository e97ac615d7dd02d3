//! Finds the volumes that a rescue is about.

use serde_json::Value;

use super::find::{is_left_by, is_terminating, left_key, names, was_moved};
use super::labels::LabelTerms;
use super::object::MovedObject;
use super::planned::{PlannedMove, impossible};
use crate::api::moves::recorded_copy;
use crate::cli::exit::Failure;
use crate::cli::output::eprint_line;
use crate::model::annotations::RECREATED;
use crate::model::{ClaimKey, ClaimPhase, VolumeName, VolumePhase};
use crate::move_runner::{
    MoveRequests, StoredClaim, StoredVolume, is_claim_there, is_replacement_of,
};
use crate::moves::{Goal, MoveProblem};

/// A rescue.
#[derive(Clone, Copy)]
pub(super) struct Rescue<'a> {
    pub(super) requests: &'a MoveRequests,
    /// Leaves out claims that do not have these labels.
    pub(super) labels: &'a LabelTerms,
    /// Where the claim goes, if not to its former name.
    pub(super) to: Option<&'a ClaimKey>,
    /// The namespace in which the controller records volumes that are gone. Of other namespaces, nothing is believed.
    pub(super) records: &'a str,
}

impl Rescue<'_> {
    /// The moves that create deleted claims again.
    pub(super) async fn find(&self, object: &MovedObject) -> Result<Vec<PlannedMove>, Failure> {
        match object {
            MovedObject::Volume(_) | MovedObject::Claim(_) if !self.labels.is_empty() => {
                Err(Failure::usage(
                    "-l selects among many PVCs; give it without an object, or with ns/NAME",
                ))
            }
            MovedObject::Volume(name) => self.of_volume(name).await,
            MovedObject::Claim(key) => of_claim(self.requests, key, self.to).await,
            MovedObject::Namespace(_) if self.to.is_some() => Err(Failure::usage(
                "--to names one PVC, and ns/NAME stands for many; leave out one of them",
            )),
            MovedObject::Namespace(name) => of_namespace(self.requests, name, self.labels).await,
        }
    }

    async fn of_volume(&self, name: &VolumeName) -> Result<Vec<PlannedMove>, Failure> {
        let Some(stored) = self.requests.volume(name).await? else {
            return self.of_replacement(name).await;
        };
        let is_recreated = stored.object["metadata"]["annotations"].get(RECREATED).is_some();
        if stored.recorded.is_none() && is_recreated {
            return self.of_tombstone(name).await;
        }
        let is_bound = stored.moved.phase == VolumePhase::Bound;
        if stored.recorded.is_none() && is_bound && !is_terminating(&stored) {
            return Err(impossible(format!(
                "PV {:?} is Bound: its PVC was not deleted, or the binder has not seen that yet; to move it, use: bindery \
                 transfer; if its PVC is gone, run the same command again",
                name.as_str()
            )));
        }
        let key = stored.moved.reservation.key().cloned();
        let key = key.ok_or_else(|| impossible(MoveProblem::NoClaim(name.clone()).to_string()))?;
        Ok(vec![PlannedMove::rescue(stored, goal(&key, self.to))?])
    }

    /// The move of the volume that was created in the place of this one, which is gone.
    async fn of_replacement(&self, former: &VolumeName) -> Result<Vec<PlannedMove>, Failure> {
        let mut volumes = self.requests.volumes().await?;
        volumes.retain(|stored| is_replacement_of(stored, former));
        match volumes.pop() {
            None => self.of_tombstone(former).await,
            Some(stored) if stored.recorded.is_some() => Ok(vec![PlannedMove::resumed(stored)?]),
            Some(stored) if stored.moved.phase == VolumePhase::Bound => Ok(Vec::new()),
            Some(stored) => {
                let key = stored.moved.reservation.key().cloned();
                let key = key.ok_or_else(|| {
                    impossible(MoveProblem::NoClaim(stored.moved.name.clone()).to_string())
                })?;
                Ok(vec![PlannedMove::rescue(stored, goal(&key, self.to))?])
            }
        }
    }

    /// The move of a volume that is gone, from what the controller has recorded of it.
    async fn of_tombstone(&self, name: &VolumeName) -> Result<Vec<PlannedMove>, Failure> {
        let records = self.requests.tombstones(self.records).await?;
        let left = records.into_iter().find(|left| left.name() == *name);
        let left = left.ok_or_else(|| {
            impossible(format!(
                "PV {:?} does not exist, and nothing is recorded of it in Namespace {:?}; check the name, and --installation; \
                 with the trash, the controller records PVs that are deleted while their storage stays, for 30 days",
                name.as_str(),
                self.records
            ))
        })?;
        let is_claim_there = is_claim_there(self.requests, &left).await?;
        Ok(vec![PlannedMove::recreation(left, is_claim_there, self.to)?])
    }
}

async fn of_claim(
    requests: &MoveRequests,
    key: &ClaimKey,
    to: Option<&ClaimKey>,
) -> Result<Vec<PlannedMove>, Failure> {
    let volumes = requests.volumes().await?;
    if to.is_some_and(|to| volumes.iter().any(|stored| was_moved(stored, key, to))) {
        return Ok(Vec::new());
    }
    let mut left = left(volumes);
    left.retain(|stored| is_left_by(stored, key));
    match <[StoredVolume; 1]>::try_from(left) {
        Ok([stored]) => Ok(vec![PlannedMove::rescue(stored, goal(key, to))?]),
        Err(left) if left.is_empty() && is_bound(requests, key).await? => Ok(Vec::new()),
        Err(left) if left.is_empty() => Err(impossible(format!(
            "no PV is released from a deleted PVC \"{key}\"; it exists, its PV was deleted with it, or the binder has not seen yet \
             that it is gone; `bindery explain pvc/{key}` shows which; if it is gone, run the same command again"
        ))),
        Err(left) => Err(impossible(format!(
            "{} PVs are left from PVCs \"{key}\" that were deleted one after another: {}; rescue the one with the data \
             that you need, as pv/NAME",
            left.len(),
            names(&left.iter().collect::<Vec<_>>())
        ))),
    }
}

async fn of_namespace(
    requests: &MoveRequests,
    namespace: &str,
    labels: &LabelTerms,
) -> Result<Vec<PlannedMove>, Failure> {
    let volumes = requests.volumes().await?;
    let mut moves = Vec::new();
    for stored in left(volumes) {
        let key = left_key(&stored).filter(|key| *key.namespace == *namespace).cloned();
        let Some(key) = key else { continue };
        let claim = requests.claim(&key).await?;
        match is_rescued(&stored, &key, claim.as_ref(), labels) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(reason) => {
                let name = stored.moved.name.as_str();
                eprint_line(&format!("PV {name:?} is left out: {reason}"));
                continue;
            }
        }
        moves.push(PlannedMove::rescue(stored, Goal::Claim(key))?);
    }
    if moves.is_empty() {
        return Err(impossible(format!(
            "no PV is released from a deleted PVC of Namespace {namespace:?}{labels}; the binder releases a PV a moment after its \
             PVC is gone; if one was deleted just now, run the same command again"
        )));
    }
    unambiguous(moves)
}

/// Whether the claim of a volume has the labels. The error is why the volume is left out.
fn is_rescued(
    stored: &StoredVolume,
    key: &ClaimKey,
    claim: Option<&StoredClaim>,
    labels: &LabelTerms,
) -> Result<bool, String> {
    let copy = recorded_copy(&stored.object);
    let claim_labels = match (&copy, claim) {
        (Some(copy), _) => &copy["labels"],
        (None, Some(claim)) => &claim.object["metadata"]["labels"],
        (None, None) if labels.is_empty() => &Value::Null,
        (None, None) => return Err(format!("the labels of PVC \"{key}\" are not recorded")),
    };
    if !labels.admit(claim_labels) {
        return Ok(false);
    }
    if is_terminating(stored) && claim.is_some() {
        let reason = "it is being deleted while its PVC exists; name it as pv/NAME";
        return Err(reason.to_owned());
    }
    let recorded = stored.recorded.as_ref();
    // A transfer that has begun is not a rescue.
    let is_other = recorded.is_some_and(|journal| *journal.goal.claim() != *key);
    // One that has no volume is a problem of the move: a workload may have created it again.
    let has_volume = claim.is_some_and(|claim| claim.claim.volume.is_some());
    if is_other || (recorded.is_none() && has_volume) {
        return Err(format!("PVC \"{key}\" exists, or a move leads to it"));
    }
    Ok(true)
}

fn goal(key: &ClaimKey, to: Option<&ClaimKey>) -> Goal {
    Goal::Claim(to.unwrap_or(key).clone())
}

/// The volumes, without those that take the place of another one that is still there.
fn left(volumes: Vec<StoredVolume>) -> Vec<StoredVolume> {
    let terminating: Vec<VolumeName> = volumes
        .iter()
        .filter(|stored| is_terminating(stored))
        .map(|stored| stored.moved.name.clone())
        .collect();
    let takes_place =
        |stored: &StoredVolume| terminating.iter().any(|name| is_replacement_of(stored, name));
    volumes.into_iter().filter(|stored| !takes_place(stored)).collect()
}

/// The moves, if no two lead to one claim.
fn unambiguous(moves: Vec<PlannedMove>) -> Result<Vec<PlannedMove>, Failure> {
    let mut keys: Vec<&ClaimKey> =
        moves.iter().map(|planned| planned.journal.goal.claim()).collect();
    keys.sort_unstable();
    let twice: Vec<String> = keys
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| format!("\"{}\"", pair[0]))
        .collect();
    if twice.is_empty() {
        return Ok(moves);
    }
    Err(impossible(format!(
        "several PVs are left from PVCs {} that were deleted one after another; rescue the one of each that you need, as \
         pv/NAME, first",
        twice.join(", ")
    )))
}

/// Whether the claim exists and is bound.
async fn is_bound(requests: &MoveRequests, key: &ClaimKey) -> Result<bool, Failure> {
    let claim = requests.claim(key).await?;
    Ok(claim.is_some_and(|claim| claim.claim.phase == ClaimPhase::Bound))
}

//! The writes of a move to its volume, as merge patches that name the version that was read.

use serde_json::{Value, json};

use super::claim_copy::copy_text;
use super::journal::journal_text;
use crate::api::write::write_patch;
use crate::binding::{ChosenBy, ObjectRef, Write};
use crate::model::annotations::{CLAIM_COPY, FORMER_CLAIM, MOVE, MOVE_UNDONE, RECREATED};
use crate::model::{ClaimKey, ResourceVersion, Uid};
use crate::moves::{Direction, Journal, MovedVolume};

fn metadata(volume: &MovedVolume, annotations: &Value) -> Value {
    let (uid, version) = (volume.uid.to_string(), volume.version.to_string());
    json!({"uid": uid, "resourceVersion": version, "annotations": annotations})
}

/// Returns the write that sets the reclaim policy to Retain and records `journal`, with a copy of the claim if there is one.
pub fn record_patch(volume: &MovedVolume, journal: &Journal, copy: Option<&Value>) -> Value {
    // Of a volume that was created again, the move says the rest from here on.
    let mut annotations = json!({MOVE: journal_text(journal, &volume.uid), RECREATED: null});
    if let Some(copy) = copy {
        annotations[CLAIM_COPY] = json!(copy_text(copy, &volume.uid));
    }
    json!({
        "metadata": metadata(volume, &annotations),
        "spec": {"persistentVolumeReclaimPolicy": "Retain"},
    })
}

/// Returns the write that points `spec.claimRef` to the claim of this name and uid.
pub fn reserve_patch(volume: &MovedVolume, claim: &ClaimKey, uid: &Uid) -> Value {
    let write = Write::Reserve {
        volume: ObjectRef {
            name: volume.name.clone(),
            uid: Some(volume.uid.clone()),
            version: Some(volume.version.clone()),
        },
        claim: ObjectRef { name: claim.clone(), uid: Some(uid.clone()), version: None },
        chosen: ChosenBy::Other,
        tenant: None,
    };
    write_patch(&write).body
}

/// Returns the write that states on the claim of this uid and version by which journal it stays.
pub fn fence_patch(uid: &Uid, version: &ResourceVersion, journal: &Journal) -> Value {
    let (uid, version) = (uid.to_string(), version.to_string());
    let annotations = json!({MOVE_UNDONE: journal.begun_on.to_string()});
    json!({"metadata": {"uid": uid, "resourceVersion": version, "annotations": annotations}})
}

/// Returns the write that sets the former reclaim policy and removes the journal.
pub fn finish_patch(volume: &MovedVolume, journal: &Journal) -> Value {
    let is_at_home = journal.origin == *journal.goal.claim();
    let former = match journal.direction {
        // With the uid of the claim that has it now: for another one, it says nothing.
        Direction::Forward if !is_at_home => match volume.reservation.uid() {
            Some(holder) => json!(format!("{} {holder}", journal.origin)),
            None => Value::Null,
        },
        // The same command again finds nothing to undo.
        Direction::Forward | Direction::Back { .. } => Value::Null,
    };
    let annotations = json!({MOVE: null, CLAIM_COPY: null, FORMER_CLAIM: former});
    json!({
        "metadata": metadata(volume, &annotations),
        "spec": {"persistentVolumeReclaimPolicy": journal.policy.to_string()},
    })
}

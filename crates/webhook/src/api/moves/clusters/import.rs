//! The manifests and the last write of an import, and what it recognizes as its own.

use serde_json::{Value, json};

use super::sanitized::{exported_claim, portable_volume};
use crate::model::annotations::{IMPORT, IMPORTED_FROM};
use crate::model::{ClaimKey, ReclaimPolicy, VolumeName};
use crate::moves::{ImportedVolume, MadeVolume, MovedVolume};

/// Returns the volume that an import creates from an exported one (its JSON): with the reclaim policy Retain, and marked
/// with the uid of its source and the policy that it gets in the end.
pub fn imported_volume(exported: &Value, source: &str, policy: &ReclaimPolicy) -> Value {
    let mut volume = portable_volume(exported);
    volume["metadata"]["annotations"][IMPORTED_FROM] = json!(source);
    volume["metadata"]["annotations"][IMPORT] = json!(policy.to_string());
    volume
}

/// Returns the claim that an import creates from an exported one (its JSON), for the volume of this name.
pub fn imported_claim(exported: &Value, key: &ClaimKey, volume: &VolumeName) -> Value {
    let mut claim = exported_claim(exported, key);
    claim["spec"]["volumeName"] = json!(volume.as_str());
    claim
}

/// Returns whether a volume (its JSON) has been created by an import that has not ended.
pub fn is_in_import(volume: &Value) -> bool {
    !volume["metadata"]["annotations"][IMPORT].is_null()
}

/// Returns what an existing volume is to the import of `source`.
pub fn made_volume(volume: &Value, moved: &MovedVolume, source: &str) -> ImportedVolume {
    if volume["metadata"]["annotations"][IMPORTED_FROM] != source {
        return ImportedVolume::Foreign;
    }
    ImportedVolume::Made(MadeVolume {
        deletion: moved.deletion,
        reservation: moved.reservation.clone(),
        phase: moved.phase.clone(),
        is_finished: !is_in_import(volume),
    })
}

/// Returns the write that sets the final reclaim policy and removes the mark of an unfinished import. It names the version
/// that was read.
pub fn import_finish_patch(volume: &MovedVolume, policy: &ReclaimPolicy) -> Value {
    let (uid, version) = (volume.uid.to_string(), volume.version.to_string());
    json!({
        "metadata": {"uid": uid, "resourceVersion": version, "annotations": {IMPORT: null}},
        "spec": {"persistentVolumeReclaimPolicy": policy.to_string()},
    })
}

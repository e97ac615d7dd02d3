//! The volume that is made in the place of one that is being deleted.

use serde_json::{Value, json};

use super::clusters::portable_volume;
use crate::model::annotations::{CLAIM_COPY, MOVE, REPLACES};
use crate::model::{Uid, VolumeName};

/// Returns the manifest of the volume `name` in the place of `former` (its JSON) with this uid: for the same storage, with
/// labels and annotations as they were, the reclaim policy Retain, and reserved for the same claim by name.
pub fn replacement_manifest(former: &Value, name: &VolumeName, uid: &Uid) -> Value {
    let mut volume = portable_volume(former);
    let name_before = former["metadata"]["name"].as_str().unwrap_or_default();
    volume["metadata"]["name"] = json!(name.as_str());
    volume["metadata"]["annotations"][REPLACES] = json!(format!("{name_before} {uid}"));
    // They hold the uid of the former volume: for this one they begin to count once they are recorded anew.
    for key in [MOVE, CLAIM_COPY] {
        if let Some(recorded) = former["metadata"]["annotations"].get(key) {
            volume["metadata"]["annotations"][key] = recorded.clone();
        }
    }
    volume
}

/// Returns name and uid of the volume in whose place `volume` (its JSON) was made; nothing if it was not.
pub fn replaced(volume: &Value) -> Option<(VolumeName, Uid)> {
    let text = volume["metadata"]["annotations"][REPLACES].as_str()?;
    let (name, uid) = text.split_once(' ')?;
    Some((VolumeName::new(name), Uid::new(uid)))
}

/// Returns whether a volume (its JSON) was made in the place of the one with this name, and with this uid if one is given.
pub fn is_replacement(volume: &Value, former: &VolumeName, uid: Option<&Uid>) -> bool {
    let replaced = replaced(volume);
    replaced.is_some_and(|(name, of)| name == *former && uid.is_none_or(|uid| *uid == of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_is_of_the_same_storage_and_reserved_for_the_same_claim() {
        let former = json!({
            "metadata": {
                "name": "pvc-1", "uid": "v1", "resourceVersion": "7", "labels": {"zone": "a"},
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "finalizers": ["kubernetes.io/pv-protection"],
                "annotations": {
                    "pv.kubernetes.io/provisioned-by": "disk.example.com",
                    "pv.kubernetes.io/bound-by-controller": "yes", "bindery.dev/keep": "72h",
                    "bindery.dev/trash": "{}", "bindery.dev/move": "{}",
                },
            },
            "spec": {
                "capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Delete",
                "csi": {"driver": "disk.example.com", "volumeHandle": "vol-1"},
                "claimRef": {
                    "kind": "PersistentVolumeClaim", "namespace": "db", "name": "data",
                    "uid": "c1", "resourceVersion": "6",
                },
            },
            "status": {"phase": "Bound"},
        });
        let made = replacement_manifest(&former, &VolumeName::new("pvc-1-v1"), &Uid::new("v1"));
        assert_eq!(
            made,
            json!({
                "apiVersion": "v1", "kind": "PersistentVolume",
                "metadata": {
                    "name": "pvc-1-v1", "labels": {"zone": "a"},
                    "annotations": {
                        "pv.kubernetes.io/provisioned-by": "disk.example.com",
                        "bindery.dev/keep": "72h", "bindery.dev/move": "{}",
                        "bindery.dev/replaces": "pvc-1 v1",
                    },
                },
                "spec": {
                    "capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain",
                    "csi": {"driver": "disk.example.com", "volumeHandle": "vol-1"},
                    "claimRef": {
                        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                        "namespace": "db", "name": "data",
                    },
                },
            })
        );
        assert!(is_replacement(&made, &VolumeName::new("pvc-1"), Some(&Uid::new("v1"))));
        assert!(!is_replacement(&made, &VolumeName::new("pvc-1"), Some(&Uid::new("v2"))));
        assert!(!is_replacement(&former, &VolumeName::new("pvc-1"), None));
    }
}

//! The volume that is made in the place of one that is being deleted.

use serde_json::{Value, json};

use super::clusters::portable_volume;
use crate::model::annotations::REPLACES;
use crate::model::{Uid, VolumeName};

/// Returns the manifest of the volume `name` in the place of `former` (its JSON) with this uid: for the same storage, with
/// labels and annotations as they were, the reclaim policy Retain, and reserved for the same claim by name.
pub fn replacement_manifest(former: &Value, name: &VolumeName, uid: &Uid) -> Value {
    let mut volume = portable_volume(former);
    let former = former["metadata"]["name"].as_str().unwrap_or_default();
    volume["metadata"]["name"] = json!(name.as_str());
    volume["metadata"]["annotations"][REPLACES] = json!(format!("{former} {uid}"));
    volume
}

/// Returns whether a volume (its JSON) was made in the place of the one with this name, and with this uid if one is given.
pub fn is_replacement(volume: &Value, former: &VolumeName, uid: Option<&Uid>) -> bool {
    let text = volume["metadata"]["annotations"][REPLACES].as_str();
    let replaced = text.and_then(|text| text.split_once(' '));
    replaced.is_some_and(|(name, of)| name == former.as_str() && uid.is_none_or(|uid| uid.is(of)))
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
                        "bindery.dev/keep": "72h", "bindery.dev/replaces": "pvc-1 v1",
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

//! The objects that a person creates when a disk was moved: a volume in the place of the former one, and its claim again.

use serde_json::{Map, Value, json};

use super::local_volume::label_value;
use crate::disks::{DiskLocation, DiskMark, volume_name};
use crate::model::VolumeName;
use crate::model::annotations::{
    DISK_DEVICE, DISK_FOUND_AT, DISK_MACHINE, DISK_MARK, DISK_MISSING, LAST_APPLIED, LOCAL_DISK,
    LOCAL_NODE, MOVED_FROM, POLICY_BEFORE, PROVISIONED_BY,
};

/// The node on which a disk was found.
#[derive(Clone, Copy, Debug)]
pub struct NewNode<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its uid.
    pub uid: &'a str,
    /// The value of its label `kubernetes.io/hostname`.
    pub hostname: &'a str,
    /// Its machine-id.
    pub machine: &'a str,
}

/// Returns the volume that takes the place of `volume` (its JSON) once its disk is at `place`, on `node`: it is reserved for
/// the same claim, whichever uid that has then, and its reclaim policy is Retain.
pub fn moved_volume(volume: &Value, place: &DiskLocation, node: NewNode<'_>) -> Value {
    let (metadata, spec) = (&volume["metadata"], &volume["spec"]);
    let former = metadata["name"].as_str().unwrap_or_default();
    let file = place.path.rsplit('/').next().unwrap_or_default();
    let affinity =
        json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node.hostname]});
    let mut new = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": volume_name(file, node.name, &place.class).as_str(),
            "labels": {
                LOCAL_NODE: label_value(node.name),
                LOCAL_DISK: metadata["labels"][LOCAL_DISK],
            },
            "annotations": annotations(volume, former, node),
        },
        "spec": {
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": *place.path},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [affinity]}]}},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": spec["claimRef"]["namespace"], "name": spec["claimRef"]["name"],
            },
        },
    });
    for key in ["capacity", "accessModes", "volumeMode", "storageClassName", "mountOptions"] {
        if let Some(value) = spec.get(key) {
            new["spec"][key] = value.clone();
        }
    }
    if let Some(fs_type) = spec["local"].get("fsType") {
        new["spec"]["local"]["fsType"] = fs_type.clone();
    }
    new
}

/// What records the disk, but not where and how it was used before.
fn annotations(volume: &Value, former: &str, node: NewNode<'_>) -> Map<String, Value> {
    let stored = volume["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    let of_place = [DISK_MARK, DISK_MISSING, DISK_FOUND_AT, DISK_DEVICE, DISK_MACHINE];
    let is_kept = |key: &str| key.starts_with("bindery.dev/disk-") && !of_place.contains(&key);
    let before = stored.get(POLICY_BEFORE);
    let before = before.unwrap_or(&volume["spec"]["persistentVolumeReclaimPolicy"]).clone();
    let mut annotations: Map<String, Value> =
        stored.into_iter().filter(|(key, _)| is_kept(key)).collect();
    let provisioner = format!("local-volume-provisioner-{}-{}", node.name, node.uid);
    annotations.insert(PROVISIONED_BY.to_owned(), json!(provisioner));
    annotations.insert(DISK_MACHINE.to_owned(), json!(node.machine));
    // A block device has its mark in the ledger of the former node: as long as the former volume exists, this one is not used.
    let mark = DiskMark::Offered(VolumeName::new(former));
    annotations.insert(DISK_MARK.to_owned(), json!(mark.to_string()));
    annotations.insert(MOVED_FROM.to_owned(), json!(former));
    annotations.insert(POLICY_BEFORE.to_owned(), before);
    annotations
}

/// Whether an annotation of a claim is one of the binder, of a provisioner or of `kubectl apply`.
fn is_of_binder(key: &str) -> bool {
    let prefixes = ["pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/"];
    key == LAST_APPLIED || prefixes.iter().any(|prefix| key.starts_with(prefix))
}

/// Returns the claim that is made again for the volume of this name: `claim` (its JSON) without what the API server and the
/// binder have added.
pub fn moved_claim(claim: &Value, volume: &str) -> Value {
    let (metadata, spec) = (&claim["metadata"], &claim["spec"]);
    let mut new = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": metadata["namespace"], "name": metadata["name"]},
        "spec": {"volumeName": volume},
    });
    if let Some(labels) = metadata.get("labels") {
        new["metadata"]["labels"] = labels.clone();
    }
    let mut annotations = metadata["annotations"].as_object().cloned().unwrap_or_default();
    annotations.retain(|key, _| !is_of_binder(key));
    if !annotations.is_empty() {
        new["metadata"]["annotations"] = json!(annotations);
    }
    // A StatefulSet that scales down makes the pod the owner: the claim would be deleted again with it.
    let mut owners = metadata["ownerReferences"].as_array().cloned().unwrap_or_default();
    owners.retain(|owner| owner["kind"] != "Pod");
    if !owners.is_empty() {
        new["metadata"]["ownerReferences"] = json!(owners);
    }
    for key in ["accessModes", "resources", "selector", "storageClassName", "volumeMode"] {
        if let Some(value) = spec.get(key) {
            new["spec"][key] = value.clone();
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_volume_has_the_disk_and_the_claim_of_the_former_one() {
        let volume = json!({
            "metadata": {"name": "local-pv-1", "uid": "u", "resourceVersion": "7",
                "labels": {"bindery.dev/local-node": "node-1", "bindery.dev/local-disk": "00ff", "zone": "a"},
                "annotations": {
                    "bindery.dev/disk-serial": "S1", "bindery.dev/disk-mark": "cleaning local-pv-1",
                    "bindery.dev/disk-missing": "true", "bindery.dev/disk-found-at": "{}",
                    "bindery.dev/disk-machine": "m1", "bindery.dev/disk-device": "sdb",
                    "pv.kubernetes.io/provisioned-by": "local-volume-provisioner-node-1-u1",
                    "pv.kubernetes.io/bound-by-controller": "yes"}},
            "spec": {
                "capacity": {"storage": "97Gi"}, "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
                "persistentVolumeReclaimPolicy": "Delete", "storageClassName": "fast",
                "local": {"path": "/mnt/disks/vol1", "fsType": "ext4"},
                "claimRef": {"namespace": "db", "name": "data", "uid": "c", "resourceVersion": "3"}},
            "status": {"phase": "Bound"},
        });
        let place = DiskLocation {
            node: "node-2".into(),
            class: "fast".into(),
            path: "/mnt/disks/vol9".into(),
        };
        let node = NewNode { name: "node-2", uid: "u2", hostname: "host-2", machine: "m2" };
        let name = volume_name("vol9", "node-2", "fast");
        assert_eq!(
            moved_volume(&volume, &place, node),
            json!({
                "apiVersion": "v1", "kind": "PersistentVolume",
                "metadata": {"name": name.as_str(),
                    "labels": {"bindery.dev/local-node": "node-2", "bindery.dev/local-disk": "00ff"},
                    "annotations": {
                        "bindery.dev/disk-serial": "S1", "bindery.dev/moved-from": "local-pv-1",
                        "bindery.dev/disk-mark": "offered local-pv-1", "bindery.dev/disk-machine": "m2",
                        "bindery.dev/reclaim-policy-before": "Delete",
                        "pv.kubernetes.io/provisioned-by": "local-volume-provisioner-node-2-u2"}},
                "spec": {
                    "capacity": {"storage": "97Gi"}, "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
                    "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "fast",
                    "local": {"path": "/mnt/disks/vol9", "fsType": "ext4"},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions":
                        [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["host-2"]}]}]}},
                    "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                        "namespace": "db", "name": "data"}},
            })
        );
    }

    #[test]
    fn a_claim_that_is_made_again_asks_for_the_same_and_names_its_volume() {
        let claim = json!({
            "metadata": {"namespace": "db", "name": "data", "uid": "c", "labels": {"app": "db"},
                "annotations": {"pv.kubernetes.io/bind-completed": "yes", "example.com/state": "ready"},
                "ownerReferences": [{"kind": "Pod", "name": "db-0"}, {"kind": "Cluster", "name": "db"}],
                "finalizers": ["kubernetes.io/pvc-protection"]},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeName": "local-pv-1",
                "resources": {"requests": {"storage": "5Gi"}}, "volumeMode": "Filesystem"},
            "status": {"phase": "Bound"},
        });
        assert_eq!(
            moved_claim(&claim, "local-pv-2"),
            json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"namespace": "db", "name": "data", "labels": {"app": "db"},
                    "annotations": {"example.com/state": "ready"},
                    "ownerReferences": [{"kind": "Cluster", "name": "db"}]},
                "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeName": "local-pv-2",
                    "resources": {"requests": {"storage": "5Gi"}}, "volumeMode": "Filesystem"},
            })
        );
    }
}

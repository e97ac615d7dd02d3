//! The provisioner of one driver, outside the binder. Kubernetes:
//! `sig-storage-lib-external-provisioner`.

use bindery_sim::{ClusterState, Method};
use serde_json::{Value, json};

use super::{
    DRIVER, VOLUMES, all, annotation, class_row, is_terminating, name, reference, send, text,
    volume_path,
};

pub(crate) const USER: &str = "provisioner";
const ASKED: [&str; 2] =
    ["volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"];
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
const FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";

/// Answers every claim that asks for it, and deletes what was released.
pub(super) fn look(cluster: &mut ClusterState) {
    let volumes = all(cluster, "PersistentVolume");
    for claim in all(cluster, "PersistentVolumeClaim") {
        let made = format!("pvc-{}", text(&claim, "/metadata/uid"));
        if is_asked(&claim) && !volumes.iter().any(|volume| name(volume) == made) {
            let volume = provisioned(&claim, &made);
            send(cluster, USER, Method::Post, VOLUMES, volume);
        }
    }
    for volume in &volumes {
        let is_own = annotation(volume, PROVISIONED_BY) == DRIVER;
        let is_given_up = text(volume, "/status/phase") == "Released"
            && text(volume, "/spec/persistentVolumeReclaimPolicy") == "Delete";
        if is_own && is_given_up {
            delete(cluster, volume);
        }
    }
}

fn is_asked(claim: &Value) -> bool {
    let Some((_, provisioner, mode)) = class_row(claim) else { return false };
    let asked = ASKED.iter().map(|key| annotation(claim, key)).find(|value| !value.is_empty());
    let waits = *mode == "WaitForFirstConsumer" && annotation(claim, SELECTED_NODE).is_empty();
    asked == Some(DRIVER)
        && *provisioner == DRIVER
        && !waits
        && text(claim, "/spec/volumeName").is_empty()
        && !is_terminating(claim)
}

/// The volume as the library makes it: complete but for the phase, and not marked as bound by the
/// binder.
fn provisioned(claim: &Value, made: &str) -> Value {
    let spec = &claim["spec"];
    json!({
        "metadata": {
            "name": made, "annotations": {PROVISIONED_BY: DRIVER}, "finalizers": [FINALIZER],
        },
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"], "volumeMode": spec["volumeMode"],
            "storageClassName": spec["storageClassName"], "claimRef": reference(claim),
            "persistentVolumeReclaimPolicy": "Delete",
            "csi": {"driver": DRIVER, "volumeHandle": made},
        },
    })
}

/// First the storage, which is not visible; then the object, and the finalizer that kept it till now.
fn delete(cluster: &mut ClusterState, volume: &Value) {
    let path = volume_path(volume);
    let uid = json!({"preconditions": {"uid": volume["metadata"]["uid"]}});
    send(cluster, USER, Method::Delete, &path, uid);
    let mut held = volume["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    held.retain(|one| *one != FINALIZER);
    let patch = json!({"metadata": {"finalizers": held}});
    send(cluster, USER, Method::Patch, &path, patch);
}

//! Marks of plug-ins that moved, and the finalizers of the driver that deletes a volume's storage.

use serde_json::{Value, json};

use crate::fault_matrix::path::{Path, claim, delete_claim, volume};

const BINDS: [&str; 4] = ["reserve a volume", "volume Bound", "name a volume", "claim Bound"];
const IN_TREE: &str = "kubernetes.io/pv-controller";
const OUTSIDE: &str = "external-provisioner.volume.kubernetes.io/finalizer";

pub(super) fn paths() -> Vec<Path> {
    let none = json!({});
    let asked = json!({"metadata": {"annotations": {
        "volume.kubernetes.io/storage-provisioner": "kubernetes.io/aws-ebs"}}});
    let wrongly = json!({"metadata": {"annotations": {
        "volume.kubernetes.io/storage-provisioner": "csi.example.com",
        "pv.kubernetes.io/migrated-to": "ebs.csi.aws.com"}}});
    let life = |name: &str, more: &Value| {
        Path::from(name, vec![volume("pv-a", more), claim("data", &none)])
            .then(vec![delete_claim("data")])
    };
    vec![
        Path::from("claim-of-a-plug-in-that-moved", vec![claim("data", &asked)])
            .writes(&["mark a claim"]),
        Path::from("claim-marked-wrongly", vec![claim("data", &wrongly)]).writes(&["mark a claim"]),
        life(
            "volume-of-a-plug-in-that-moved",
            &made_by("kubernetes.io/aws-ebs", "Delete", IN_TREE),
        )
        .writes(&["change a volume's finalizers"])
        .writes(&BINDS)
        .writes(&["volume Released"]),
        life("volume-of-a-plug-in-that-is-gone", &made_by("kubernetes.io/rbd", "Delete", OUTSIDE))
            .writes(&["change a volume's finalizers"])
            .writes(&BINDS)
            .writes(&["volume Released", "volume Failed"]),
        life("retained-of-a-plug-in", &made_by("kubernetes.io/rbd", "Retain", OUTSIDE))
            .writes(&["change a volume's finalizers"])
            .writes(&BINDS)
            .writes(&["volume Released"]),
    ]
}

fn made_by(plugin: &str, policy: &str, finalizer: &str) -> Value {
    json!({
        "metadata": {"annotations": {"pv.kubernetes.io/provisioned-by": plugin},
                     "finalizers": [finalizer]},
        "spec": {"persistentVolumeReclaimPolicy": policy},
    })
}

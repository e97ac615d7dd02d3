//! What is behind a volume: emptied while in use, reclaimed while its claim exists, left over.

use bindery_sim::Method;
use serde_json::{Value, json};

use super::play::{CLAIMS, Play, US, VOLUMES};
use crate::invariants::Invariant;

const PODS: &str = "/api/v1/namespaces/default/pods";

/// A pod on a node that uses the claim `data`.
fn user() -> Value {
    let source = json!({"name": "data", "persistentVolumeClaim": {"claimName": "data"}});
    let containers = json!([{"name": "main", "image": "main"}]);
    json!({
        "metadata": {"name": "user"},
        "spec": {"nodeName": "node-a", "containers": containers, "volumes": [source]},
    })
}

/// The controller makes a pod that empties the volume `pv`.
fn empty(play: &mut Play) {
    let uid = play.get(&format!("{VOLUMES}/pv"))["metadata"]["uid"].clone();
    let pod = json!({
        "metadata": {"name": "recycler", "labels": {"bindery.dev/recycles-volume": uid}},
        "spec": {"containers": [{"name": "main", "image": "main"}]},
    });
    play.send(US, Method::Post, PODS, pod);
}

#[test]
fn emptied_unused() {
    let mut play = Play::new();
    play.pair();
    play.pass(60);
    empty(&mut play);
    assert_eq!(play.broken(), [Invariant::EmptiedUnused], "its claim exists");
    for status in [None, Some("Running"), Some("Succeeded")] {
        let mut play = Play::new();
        play.pair();
        play.send("tenant", Method::Post, PODS, user());
        if let Some(phase) = status {
            let status = json!({"status": {"phase": phase}});
            play.send("kubelet", Method::Patch, &format!("{PODS}/user/status"), status);
        }
        play.pass(60);
        play.drop_claim("data");
        play.claim("data");
        play.phase("pv", "Released");
        empty(&mut play);
        let is_mounted = status != Some("Succeeded");
        let expected: &[Invariant] = if is_mounted { &[Invariant::EmptiedUnused] } else { &[] };
        assert_eq!(play.broken(), expected, "the pod is {status:?}");
    }
}

#[test]
fn failed_only_without_claim() {
    let mut play = Play::new();
    play.volume("pv", &json!({"persistentVolumeReclaimPolicy": "Delete"}));
    play.claim("data");
    play.reserve("pv", "data");
    let released = json!({"status": {"phase": "Released"}});
    play.send("admin", Method::Patch, &format!("{VOLUMES}/pv/status"), released);
    play.phase("pv", "Failed");
    assert_eq!(play.broken(), [Invariant::ReleasedOnlyWithoutClaim]);
}

#[test]
fn storage_not_leaked() {
    for maker_deletes in [true, false] {
        let mut play = Play::new();
        let made = json!({
            "metadata": {
                "name": "pv", "finalizers": ["driver/keeps"],
                "annotations": {"pv.kubernetes.io/provisioned-by": "driver"},
            },
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "csi": {"driver": "driver", "volumeHandle": "1"},
            },
        });
        play.send("provisioner", Method::Post, VOLUMES, made);
        let who = if maker_deletes { "provisioner" } else { "admin" };
        play.send(who, Method::Delete, &format!("{VOLUMES}/pv"), Value::Null);
        let bare = json!({"metadata": {"finalizers": null}});
        play.send("protection", Method::Patch, &format!("{VOLUMES}/pv"), bare);
        let expected: &[Invariant] =
            if maker_deletes { &[] } else { &[Invariant::StorageNotLeaked] };
        assert_eq!(play.broken(), expected, "{who} deletes it");
    }
}

#[test]
fn a_volume_that_has_just_got_a_claim_was_emptied_before() {
    let mut play = Play::new();
    play.volume("pv", &json!({}));
    play.claim("data");
    play.reserve("pv", "data");
    empty(&mut play);
    assert_eq!(play.broken(), []);
    assert_eq!(play.get(&format!("{CLAIMS}/data"))["status"]["phase"], "Pending");
}

//! The controllers that take the protection finalizers off. Kubernetes: `pkg/controller/volume/
//! pvprotection` and `pvcprotection`.

use bindery_sim::{ClusterState, Method};
use serde_json::{Value, json};

use super::{all, claim_path, is_terminating, send, text, used_by, volume_path};

/// Looks at every volume and claim once.
pub(super) fn look(cluster: &mut ClusterState) {
    for volume in all(cluster, "PersistentVolume") {
        // Only the phase counts: neither the reservation nor the claim is looked at.
        let is_used = text(&volume, "/status/phase") == "Bound";
        protect(cluster, "pv-protection", &volume_path(&volume), &volume, is_used);
    }
    let pods = all(cluster, "Pod");
    for claim in all(cluster, "PersistentVolumeClaim") {
        let path = claim_path(&claim);
        // A pod that is over counts until it is gone, one without a node never does.
        let uses =
            |pod: &Value| !text(pod, "/spec/nodeName").is_empty() && used_by(pod).contains(&path);
        let is_used = pods.iter().any(|pod| uses(pod));
        protect(cluster, "pvc-protection", &path, &claim, is_used);
    }
}

/// The finalizer is called after the controller, or the other way round.
fn protect(cluster: &mut ClusterState, user: &str, path: &str, object: &Value, is_used: bool) {
    let finalizer = format!("kubernetes.io/{user}");
    let held = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let is_held = held.iter().any(|one| *one == *finalizer);
    let mut wanted = held;
    match (is_terminating(object), is_held) {
        (true, true) if !is_used => wanted.retain(|one| *one != *finalizer),
        (false, false) => wanted.push(json!(finalizer)),
        _ => return,
    }
    let version = &object["metadata"]["resourceVersion"];
    let patch = json!({"metadata": {"resourceVersion": version, "finalizers": wanted}});
    send(cluster, user, Method::Patch, path, patch);
}

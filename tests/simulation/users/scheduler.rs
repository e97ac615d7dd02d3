//! The scheduler, as far as volumes go. Kubernetes: `pkg/scheduler/framework/plugins/volumebinding`.

use std::sync::Arc;

use bindery::model::Quantity;
use bindery::model::annotations::ALLOWED_NAMESPACES;
use bindery_sim::{ClusterState, Method, SeededRng};
use serde_json::{Value, json};

use super::{
    DRIVER, NODE_NAMES, OF_TENANT, all, annotation, claim_path, class_row, is_terminating, name,
    pod_path, reference, send, text, used_by, volume_path,
};

const USER: &str = "system:kube-scheduler";
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// What a pod's claim still needs.
enum Need {
    Nothing,
    /// The binder, or the user who makes the claim, has to act first.
    Waits,
    /// A node: a volume there, or a provisioner that makes one.
    Node,
}

/// Tries each waiting pod once.
pub(super) fn look(rng: &mut SeededRng, cluster: &mut ClusterState) {
    for pod in all(cluster, "Pod") {
        let is_over = matches!(text(&pod, "/status/phase"), "Succeeded" | "Failed");
        if text(&pod, "/spec/nodeName").is_empty() && !is_terminating(&pod) && !is_over {
            schedule(rng, cluster, &pod);
        }
    }
}

fn schedule(rng: &mut SeededRng, cluster: &mut ClusterState, pod: &Value) {
    let claims = all(cluster, "PersistentVolumeClaim");
    let wanted = used_by(pod);
    let used: Vec<&Arc<Value>> =
        claims.iter().filter(|claim| wanted.contains(&claim_path(claim))).collect();
    if used.len() < wanted.len() {
        return;
    }
    let volumes = all(cluster, "PersistentVolume");
    let mut delayed = Vec::new();
    for claim in used {
        match need(claim) {
            Need::Nothing => {}
            Need::Waits => return,
            Need::Node => delayed.push(claim),
        }
    }
    let Some(node) = rng.pick(&NODE_NAMES) else { return };
    if delayed.is_empty() {
        let binding = json!({"metadata": {"name": name(pod)}, "target": {"name": node}});
        let path = format!("{}/binding", pod_path(pod));
        send(cluster, USER, Method::Post, &path, binding);
        return;
    }
    for claim in delayed {
        place(cluster, claim, node, &volumes);
    }
}

fn need(claim: &Value) -> Need {
    let is_named = !text(claim, "/spec/volumeName").is_empty();
    if is_named && !annotation(claim, BIND_COMPLETED).is_empty() {
        return Need::Nothing;
    }
    let is_delayed = class_row(claim).is_some_and(|(_, _, mode)| *mode == "WaitForFirstConsumer");
    let is_lost = text(claim, "/status/phase") == "Lost";
    if is_named || !is_delayed || is_lost || is_terminating(claim) {
        return Need::Waits;
    }
    // In progress already: the provisioner is asked, or the binder finds what is reserved.
    if annotation(claim, SELECTED_NODE).is_empty() { Need::Node } else { Need::Waits }
}

/// Reserves the smallest volume that fits on the node, or asks for one to be made there.
fn place(cluster: &mut ClusterState, claim: &Value, node: &str, volumes: &[Arc<Value>]) {
    let uid = &claim["metadata"]["uid"];
    if volumes.iter().any(|volume| volume["spec"]["claimRef"]["uid"] == *uid) {
        return;
    }
    let mut fitting: Vec<&Arc<Value>> =
        volumes.iter().filter(|volume| fits(volume, claim, node)).collect();
    fitting.sort_by_key(|volume| Quantity::parse(text(volume, "/spec/capacity/storage")).ok());
    if let Some(volume) = fitting.first() {
        let version = &volume["metadata"]["resourceVersion"];
        let patch = json!({
            "metadata": {"resourceVersion": version, "annotations": {BOUND_BY_CONTROLLER: "yes"}},
            "spec": {"claimRef": reference(claim)},
        });
        send(cluster, USER, Method::Patch, &volume_path(volume), patch);
    } else if class_row(claim).is_some_and(|(_, provisioner, _)| *provisioner == DRIVER) {
        let version = &claim["metadata"]["resourceVersion"];
        let chosen = json!({SELECTED_NODE: node});
        let patch = json!({"metadata": {"resourceVersion": version, "annotations": chosen}});
        send(cluster, USER, Method::Patch, &claim_path(claim), patch);
    }
}

fn fits(volume: &Value, claim: &Value, node: &str) -> bool {
    let same = |pointer: &str| text(volume, pointer) == text(claim, pointer);
    let size = Quantity::parse(text(volume, "/spec/capacity/storage")).ok();
    let asked = Quantity::parse(text(claim, "/spec/resources/requests/storage")).ok();
    let offered = volume["spec"]["accessModes"].as_array().cloned().unwrap_or_default();
    let modes = claim["spec"]["accessModes"].as_array().cloned().unwrap_or_default();
    let affinity = volume["spec"]["nodeAffinity"].to_string();
    let selected = claim["spec"]["selector"]["matchLabels"].as_object();
    volume["spec"]["claimRef"].is_null()
        && text(volume, "/status/phase") == "Available"
        && !is_terminating(volume)
        && admits(volume, text(claim, "/metadata/namespace"))
        && same("/spec/storageClassName")
        && same("/spec/volumeMode")
        && size >= asked
        && modes.iter().all(|mode| offered.contains(mode))
        && (affinity == "null" || affinity.contains(node))
        && selected
            .into_iter()
            .flatten()
            .all(|(key, value)| volume["metadata"]["labels"][key] == *value)
}

/// Admission denies what the scheduler would reserve for another tenant.
fn admits(volume: &Value, namespace: &str) -> bool {
    let listed = annotation(volume, ALLOWED_NAMESPACES);
    match volume["metadata"]["labels"][OF_TENANT].as_str() {
        Some(tenant) => listed == namespace || (tenant == "red" && namespace == "db"),
        None => listed.is_empty() || listed == namespace,
    }
}

//! Everybody but the controller, under a seed: people who make, edit and delete volumes, claims and
//! pods, and the robots of a cluster, which do what the real ones do.
//!
//! [`Users::act`] does one thing a person does; [`Users::run_robots`] lets provisioner, scheduler,
//! kubelet and protection controllers each look at the cluster once. They write past any fault, each under its own
//! name, and what the server rejects them does not happen. There are few names, so that they are used
//! again and again.

mod force;
mod kubelet;
mod people;
mod protection;
pub(crate) mod provisioner;
mod scheduler;
#[cfg(test)]
mod tests;
pub(crate) mod unreadable;

use std::sync::Arc;

use bindery_sim::{ApiRequest, ClusterState, Method, RequestUser, SeededRng};
use serde_json::{Value, json};

pub(crate) use kubelet::Kubelet;
pub(crate) use people::Action;

const VOLUMES: &str = "/api/v1/persistentvolumes";
/// Who owns volumes and classes.
const ADMIN: &str = "admin";
/// Who owns claims and pods.
const TENANT: &str = "tenant";
const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
const NODES: &str = "/api/v1/nodes";

/// The namespaces in which people work.
const SPACES: [&str; 2] = ["default", "db"];

/// Whose a namespace is, or a volume: the namespace `db` is red, `default` has no tenant.
const OF_TENANT: &str = "bindery.dev/tenant";

/// The nodes of the cluster.
const NODE_NAMES: [&str; 2] = ["node-a", "node-b"];

/// The driver whose provisioner runs.
const DRIVER: &str = "csi.example.com";

/// Classes with an object: name, provisioner, binding mode.
const CLASS_ROWS: [(&str, &str, &str); 4] = [
    ("fast", DRIVER, "Immediate"),
    ("later", DRIVER, "WaitForFirstConsumer"),
    ("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
    ("archive", "kubernetes.io/no-provisioner", "Immediate"),
];

/// People and robots.
pub(crate) struct Users {
    rng: SeededRng,
    kubelet: Kubelet,
}

impl Users {
    /// The users of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: SeededRng::new(seed), kubelet: Kubelet::FailsAtTimes }
    }

    /// From now on recycler pods end like this.
    pub(crate) fn set_kubelet(&mut self, kubelet: Kubelet) {
        self.kubelet = kubelet;
    }

    /// Makes what a new cluster has: namespaces, nodes, classes.
    pub(crate) fn found(cluster: &mut ClusterState) {
        let namespace = json!({"metadata": {"name": "db", "labels": {OF_TENANT: "red"}}});
        send(cluster, "admin", Method::Post, "/api/v1/namespaces", namespace);
        for name in NODE_NAMES {
            let node =
                json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}});
            send(cluster, "admin", Method::Post, NODES, node);
        }
        for (name, provisioner, mode) in CLASS_ROWS {
            let class = json!({
                "metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode,
                "reclaimPolicy": "Delete", "allowVolumeExpansion": true,
            });
            send(cluster, "admin", Method::Post, CLASSES, class);
        }
    }

    /// One thing that a person does; nothing may come of it.
    pub(crate) fn act(&mut self, cluster: &mut ClusterState) -> Action {
        people::act(&mut self.rng, cluster)
    }

    /// One of the rare things that a person does by force, if there is something to do it to; in words.
    pub(crate) fn act_by_force(&mut self, cluster: &mut ClusterState) -> Option<&'static str> {
        force::act(&mut self.rng, cluster)
    }

    /// Each robot looks at the cluster once. Whether anything was written.
    ///
    /// The one that takes protection off comes first: a controller that relies on another to be quicker loses.
    pub(crate) fn run_robots(&mut self, cluster: &mut ClusterState) -> bool {
        let before = cluster.version();
        protection::look(cluster);
        provisioner::look(cluster);
        scheduler::look(&mut self.rng, cluster);
        kubelet::look(&mut self.kubelet, &mut self.rng, cluster);
        cluster.version() > before
    }
}

/// Sends a request as a user. The object, unless the server rejects it.
fn send(
    cluster: &mut ClusterState,
    user: &str,
    method: Method,
    path: &str,
    body: Value,
) -> Option<Value> {
    let mut request = ApiRequest::new(method, path, body).by(RequestUser::named(user, &[]));
    if method == Method::Patch {
        "application/merge-patch+json".clone_into(&mut request.content_type);
    }
    let response = cluster.handle(request);
    (response.code < 300).then(|| response.object().cloned()).flatten()
}

/// Everything of a kind, in the order of its names.
fn all(cluster: &ClusterState, kind: &str) -> Vec<Arc<Value>> {
    cluster.objects().into_iter().filter(|object| object["kind"] == *kind).collect()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"]["annotations"][key].as_str().unwrap_or_default()
}

fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

fn is_terminating(object: &Value) -> bool {
    !text(object, "/metadata/deletionTimestamp").is_empty()
}

fn volume_path(volume: &Value) -> String {
    format!("{VOLUMES}/{}", name(volume))
}

fn claims_path(space: &str) -> String {
    format!("/api/v1/namespaces/{space}/persistentvolumeclaims")
}

fn pods_path(space: &str) -> String {
    format!("/api/v1/namespaces/{space}/pods")
}

fn claim_path(claim: &Value) -> String {
    format!("{}/{}", claims_path(text(claim, "/metadata/namespace")), name(claim))
}

fn pod_path(pod: &Value) -> String {
    format!("{}/{}", pods_path(text(pod, "/metadata/namespace")), name(pod))
}

/// Paths of the claims that a pod uses.
fn used_by(pod: &Value) -> Vec<String> {
    let space = claims_path(text(pod, "/metadata/namespace"));
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let names = volumes.map(|volume| text(volume, "/persistentVolumeClaim/claimName").to_owned());
    names.filter(|name| !name.is_empty()).map(|name| format!("{space}/{name}")).collect()
}

/// The class that a claim asks for or a volume has, if it has an object.
fn class_row(object: &Value) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let class = text(object, "/spec/storageClassName");
    CLASS_ROWS.iter().find(|(name, _, _)| *name == class)
}

/// The full reference to a claim.
fn reference(claim: &Value) -> Value {
    let metadata = &claim["metadata"];
    json!({
        "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": metadata["namespace"],
        "name": metadata["name"], "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
    })
}

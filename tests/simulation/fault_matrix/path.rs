//! A decision path as data: what there is, what users do, and which writes the controller makes of it.

use bindery::controller::mode::ControllerMode;
use bindery_sim::{ApiRequest, ClusterState, Method, RequestUser};
use serde_json::{Value, json};

use crate::users::Kubelet;
use crate::users::provisioner::USER;

pub(super) const VOLUMES: &str = "/api/v1/persistentvolumes";
pub(super) const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
pub(super) const PODS: &str = "/api/v1/namespaces/default/pods";
pub(super) const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";

/// One way through the decisions.
pub(super) struct Path {
    /// Its name, in cells too.
    pub(super) name: String,
    pub(super) mode: ControllerMode,
    pub(super) kubelet: Kubelet,
    /// What users do: the first before any process runs, each other once the cluster rests.
    pub(super) acts: Vec<Vec<Act>>,
    /// The kinds of the controller's writes, in order.
    pub(super) writes: Vec<&'static str>,
}

/// One thing that a user does. A text `uid of PATH` in a body is the uid of the object there, so that a
/// reference can be whole.
pub(super) enum Act {
    /// Creates, in a collection.
    Make(&'static str, Value),
    /// Changes an object, or its status, by a merge patch.
    Change(String, Value),
    /// Deletes.
    Delete(String),
}

impl Path {
    /// A path on which these objects are there from the start.
    pub(super) fn from(name: &str, acts: Vec<Act>) -> Self {
        Self {
            name: name.to_owned(),
            mode: ControllerMode::Full,
            kubelet: Kubelet::Succeeds,
            acts: vec![acts],
            writes: Vec::new(),
        }
    }

    /// Users do this next.
    pub(super) fn then(mut self, acts: Vec<Act>) -> Self {
        self.acts.push(acts);
        self
    }

    /// The controller writes this, from the start to the end.
    pub(super) fn writes(mut self, kinds: &[&'static str]) -> Self {
        self.writes.extend(kinds);
        self
    }
}

impl Act {
    /// Does it; a cluster that rejects it fails the test.
    pub(super) fn perform(&self, cluster: &mut ClusterState) {
        let request = match self {
            Self::Make(path, object) => {
                let request = ApiRequest::new(Method::Post, *path, whole(cluster, object));
                // Only who made its storage may delete it.
                let is_provisioned =
                    object["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"]
                        .is_string();
                if is_provisioned { request.by(RequestUser::named(USER, &[])) } else { request }
            }
            Self::Change(path, patch) => ApiRequest::merge_patch(path, whole(cluster, patch)),
            Self::Delete(path) => ApiRequest::new(Method::Delete, path, Value::Null),
        };
        let reported = format!("{request:?}");
        let response = cluster.handle(request);
        assert!(response.code < 300, "{reported}: {:?}", response.object());
    }
}

/// The body with its references filled in.
fn whole(cluster: &mut ClusterState, body: &Value) -> Value {
    match body {
        Value::String(text) => match text.strip_prefix("uid of ") {
            Some(path) => {
                let found = cluster.handle(ApiRequest::new(Method::Get, path, Value::Null));
                found.object().map(|object| object["metadata"]["uid"].clone()).expect("an object")
            }
            None => body.clone(),
        },
        Value::Object(map) => {
            map.iter().map(|(key, value)| (key.clone(), whole(cluster, value))).collect()
        }
        Value::Array(items) => items.iter().map(|item| whole(cluster, item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => body.clone(),
    }
}

/// A volume of 10Gi, in the class "archive" unless `more` says otherwise.
pub(super) fn volume(name: &str, more: &Value) -> Act {
    let mut volume = json!({
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
                 "storageClassName": "archive", "nfs": {"server": "nfs.example.com", "path": format!("/{name}")}},
    });
    json_patch::merge(&mut volume, more);
    Act::Make(VOLUMES, volume)
}

/// A claim of 5Gi, likewise.
pub(super) fn claim(name: &str, more: &Value) -> Act {
    let mut claim = json!({
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "archive",
                 "resources": {"requests": {"storage": "5Gi"}}},
    });
    json_patch::merge(&mut claim, more);
    Act::Make(CLAIMS, claim)
}

/// A pod that uses a claim.
pub(super) fn pod(name: &str, claim: &str, more: &Value) -> Act {
    let source = json!({"name": "data", "persistentVolumeClaim": {"claimName": claim}});
    let mut pod = json!({
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "main"}], "volumes": [source]},
    });
    json_patch::merge(&mut pod, more);
    Act::Make(PODS, pod)
}

/// Changes a volume, its status too.
pub(super) fn change_volume(name: &str, patch: &Value) -> Vec<Act> {
    change(format!("{VOLUMES}/{name}"), patch)
}

/// Changes a claim, its status too.
pub(super) fn change_claim(name: &str, patch: &Value) -> Vec<Act> {
    change(format!("{CLAIMS}/{name}"), patch)
}

fn change(path: String, patch: &Value) -> Vec<Act> {
    let mut rest = patch.clone();
    let status = rest.as_object_mut().and_then(|rest| rest.remove("status"));
    let mut acts = Vec::new();
    if let Some(status) = status {
        acts.push(Act::Change(format!("{path}/status"), json!({"status": status})));
    }
    if rest != json!({}) {
        acts.push(Act::Change(path, rest));
    }
    acts
}

/// Deletes a claim; protection lets it go.
pub(super) fn delete_claim(name: &str) -> Act {
    Act::Delete(format!("{CLAIMS}/{name}"))
}

/// Deletes a volume in spite of its protection.
pub(super) fn force_volume_away(name: &str) -> Vec<Act> {
    let path = format!("{VOLUMES}/{name}");
    let bare = json!({"metadata": {"finalizers": null}});
    vec![Act::Change(path.clone(), bare), Act::Delete(path)]
}

/// A reference to a claim by name alone.
pub(super) fn named(claim: &str) -> Value {
    json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "default", "name": claim})
}

/// A whole reference to a claim.
pub(super) fn held(claim: &str) -> Value {
    let mut reference = named(claim);
    reference["uid"] = json!(format!("uid of {CLAIMS}/{claim}"));
    reference
}

/// Metadata with these annotations, all of the value "yes".
pub(super) fn marked(keys: &[&str]) -> Value {
    let marks: serde_json::Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), json!("yes"))).collect();
    json!({"annotations": marks})
}

/// Several lists of acts as one.
pub(super) fn all<const N: usize>(acts: [Vec<Act>; N]) -> Vec<Act> {
    acts.into_iter().flatten().collect()
}

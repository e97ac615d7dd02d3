//! Pods: `PodStrategy`.
//!
//! Only what claims and deletion depend on: most defaults of a pod are not filled in, and of its
//! specification only the presence of containers is checked at creation.

use serde_json::{Value, json};

use super::Strategy;
use bindery::api::server::Cause;
use bindery::api::server::fields::{at, copy, set, set_default, text};
use bindery::api::server::metadata::GENERATION;

/// `PodStrategy`.
#[derive(Debug)]
pub(crate) struct PodStrategy;

/// Kubernetes: `terminationGracePeriodSeconds` of a pod that names none.
const GRACE_SECONDS: i64 = 30;

const CONTAINERS: [&str; 2] = ["spec", "containers"];
const NODE: [&str; 2] = ["spec", "nodeName"];
const PHASE: [&str; 2] = ["status", "phase"];

/// Kubernetes: `updatablePodSpecFields`.
const CHANGEABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,\
    `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

impl Strategy for PodStrategy {
    fn default(&self, object: &mut Value) {
        set_default(object, &PHASE, json!("Pending"));
        set_default(object, &["spec", "restartPolicy"], json!("Always"));
        set_default(object, &["spec", "schedulerName"], json!("default-scheduler"));
        set_default(object, &["spec", "terminationGracePeriodSeconds"], json!(GRACE_SECONDS));
    }

    fn prepare_create(&self, object: &mut Value, _now: &str) {
        set(object, &["status"], json!({"phase": "Pending"}));
        set(object, &GENERATION, json!(1));
    }

    fn prepare_update(&self, object: &mut Value, existing: &Value) {
        copy(object, existing, &["status"]);
        if object["spec"] != existing["spec"] {
            let generation = at(existing, &GENERATION).and_then(Value::as_i64).unwrap_or_default();
            set(object, &GENERATION, json!(generation + 1));
        }
    }

    fn prepare_status(&self, object: &mut Value, existing: &Value, _now: &str) {
        copy(object, existing, &["spec"]);
        copy(object, existing, &["metadata", "ownerReferences"]);
    }

    fn validate(&self, object: &Value) -> Vec<Cause> {
        let containers = at(object, &CONTAINERS).and_then(Value::as_array);
        if containers.is_none_or(Vec::is_empty) {
            return vec![Cause::required("spec.containers", "")];
        }
        Vec::new()
    }

    fn validate_update(&self, object: &Value, existing: &Value) -> Vec<Cause> {
        if frozen(object, existing) == existing["spec"] {
            return Vec::new();
        }
        // The real server prints a diff of its internal types after this text.
        let detail = format!("pod updates may not change fields other than {CHANGEABLE}\n");
        vec![Cause::forbidden("spec", &detail)]
    }

    fn selectable(&self) -> Option<&'static [&'static str]> {
        Some(&[
            "metadata.name",
            "metadata.namespace",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ])
    }

    fn selected<'a>(&self, object: &'a Value, field: &str) -> &'a str {
        match (field, at(object, &["spec", "hostNetwork"]).and_then(Value::as_bool)) {
            ("spec.hostNetwork", Some(true)) => "true",
            ("spec.hostNetwork", _) => "false",
            _ => text(object, &field.split('.').collect::<Vec<_>>()),
        }
    }

    fn grace(&self, object: &Value, asked: Option<i64>) -> Option<i64> {
        let own = at(object, &["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64);
        let is_over = matches!(text(object, &PHASE), "Failed" | "Succeeded");
        if is_over || text(object, &NODE).is_empty() {
            return Some(0);
        }
        let period = asked.or(own).unwrap_or_default();
        Some(if period < 0 { 1 } else { period })
    }
}

/// Puts a pod on a node: what a scheduler's `Binding` asks for. The error is the server's sentence.
pub(crate) fn place(pod: &mut Value, node: &str) -> Result<(), String> {
    let name = text(pod, &["metadata", "name"]);
    if at(pod, &["metadata", "deletionTimestamp"]).is_some() {
        return Err(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    match text(pod, &NODE) {
        "" => {
            set(pod, &NODE, json!(node));
            Ok(())
        }
        held => Err(format!("pod {name} is already assigned to node {held:?}")),
    }
}

/// The new specification with what may change put back: what is left must equal the old one.
fn frozen(object: &Value, existing: &Value) -> Value {
    let mut object = object.clone();
    for list in ["containers", "initContainers"] {
        let old = at(existing, &["spec", list]).and_then(Value::as_array);
        let new = object["spec"].get_mut(list).and_then(Value::as_array_mut);
        for (new, old) in new.into_iter().flatten().zip(old.into_iter().flatten()) {
            copy(new, old, &["image"]);
        }
    }
    if at(&object, &["spec", "activeDeadlineSeconds"]).is_some() {
        copy(&mut object, existing, &["spec", "activeDeadlineSeconds"]);
    }
    let list =
        |object: &Value| at(object, &["spec", "tolerations"]).and_then(Value::as_array).cloned();
    let (new, old) = (list(&object).unwrap_or_default(), list(existing).unwrap_or_default());
    if old.iter().all(|one| new.contains(one)) {
        copy(&mut object, existing, &["spec", "tolerations"]);
    }
    object["spec"].take()
}

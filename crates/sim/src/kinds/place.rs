//! Where volumes and claims live: nodes, namespaces.
//!
//! Only what bindings and deletion depend on; a node's spec is not validated.

use serde_json::{Value, json};

use super::Strategy;
use bindery::api::server::fields::{at, copy, set, set_default, text};

/// `NodeStrategy`.
#[derive(Debug)]
pub(crate) struct NodeStrategy;

/// `NamespaceStrategy`.
#[derive(Debug)]
pub(crate) struct NamespaceStrategy;

/// What a kubelet reports of its machine; a typed server fills it in before a kubelet does.
const NODE_FIELDS: [&str; 10] = [
    "architecture",
    "bootID",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "kubeletVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
];

const NAME_LABEL: [&str; 3] = ["metadata", "labels", "kubernetes.io/metadata.name"];
const SPACE_FINALIZERS: [&str; 2] = ["spec", "finalizers"];

impl Strategy for NodeStrategy {
    fn default(&self, object: &mut Value) {
        let port = ["status", "daemonEndpoints", "kubeletEndpoint", "Port"];
        set_default(object, &port, json!(0));
        for field in NODE_FIELDS {
            set_default(object, &["status", "nodeInfo", field], json!(""));
        }
    }

    /// A new node is tainted until its controller sees it ready. Kubernetes: the admission plugin
    /// `TaintNodesByCondition`.
    fn admit_create(&self, object: &mut Value, _store: &crate::store::Store) {
        let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
        let mut taints = at(object, &["spec", "taints"]).cloned().unwrap_or_else(|| json!([]));
        if let Some(list) = taints.as_array_mut()
            && !list.contains(&taint)
        {
            list.push(taint);
        }
        set(object, &["spec", "taints"], taints);
    }

    fn selectable(&self) -> Option<&'static [&'static str]> {
        Some(&["metadata.name", "spec.unschedulable"])
    }

    fn selected<'a>(&self, object: &'a Value, field: &str) -> &'a str {
        match (field, at(object, &["spec", "unschedulable"]).and_then(Value::as_bool)) {
            ("spec.unschedulable", Some(true)) => "true",
            ("spec.unschedulable", _) => "false",
            _ => text(object, &["metadata", "name"]),
        }
    }

    fn returns_deleted(&self) -> bool {
        false
    }
}

impl Strategy for NamespaceStrategy {
    fn default(&self, object: &mut Value) {
        set_default(object, &["status", "phase"], json!("Active"));
        let name = text(object, &["metadata", "name"]).to_owned();
        if !name.is_empty() {
            set_default(object, &NAME_LABEL, json!(name));
        }
    }

    fn prepare_create(&self, object: &mut Value, _now: &str) {
        set(object, &["status"], json!({"phase": "Active"}));
        set(object, &SPACE_FINALIZERS, json!(["kubernetes"]));
    }

    fn prepare_update(&self, object: &mut Value, existing: &Value) {
        copy(object, existing, &SPACE_FINALIZERS);
        copy(object, existing, &["status"]);
    }

    fn prepare_finalize(&self, object: &mut Value, existing: &Value) {
        copy(object, existing, &["status"]);
        if at(object, &SPACE_FINALIZERS).and_then(Value::as_array).is_some_and(Vec::is_empty) {
            set(object, &["spec"], json!({}));
        }
    }

    fn selectable(&self) -> Option<&'static [&'static str]> {
        Some(&["metadata.name", "status.phase"])
    }

    fn returns_deleted(&self) -> bool {
        false
    }

    fn may_vanish(&self, object: &Value) -> bool {
        at(object, &SPACE_FINALIZERS).is_none()
    }
}

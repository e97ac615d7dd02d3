//! The `AdmissionReview` that kube-apiserver would send for a write.
//!
//! Source of the shape: `k8s.io/apiserver/pkg/admission/plugin/webhook/request` of Kubernetes 1.36,
//! compared with recorded reviews. Which webhook matches which review is the caller's business: a
//! registration is not known here.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use super::request::{Call, Method, RequestUser};
use bindery::api::server::fields::text;

/// A write that waits for admission.
#[derive(Debug, Clone)]
pub struct Review {
    phase: Phase,
    uid: String,
    /// Made on request: most writes are not reviewed.
    body: OnceLock<Value>,
    pub(super) pending: Pending,
}

/// Which kind of webhook is to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Mutating webhooks: the object as the client means it, defaulted.
    Mutating,
    /// Validating webhooks: the object as it will be stored.
    Validating,
}

/// Where a write stands between two verdicts.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub(super) call: Call,
    pub(super) step: ReviewStep,
    pub(super) warnings: Vec<String>,
}

/// What is being written.
#[derive(Debug, Clone)]
pub(super) enum ReviewStep {
    Create { object: Value },
    Update { object: Value, existing: Arc<Value> },
    Delete { existing: Arc<Value>, collection: Option<CollectionDeletion> },
}

/// The rest of a collection delete.
#[derive(Debug, Clone)]
pub(super) struct CollectionDeletion {
    /// The reply: the objects as they were when the delete began.
    pub(super) list: Value,
    /// Namespace and name of those that are still to be deleted.
    pub(super) rest: VecDeque<(String, String)>,
}

impl Review {
    pub(super) fn new(phase: Phase, uid: String, pending: Pending) -> Self {
        Self { phase, uid, body: OnceLock::new(), pending }
    }

    /// Returns which kind of webhook is to be asked.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The whole `AdmissionReview`, version `admission.k8s.io/v1`.
    pub fn body(&self) -> &Value {
        self.body.get_or_init(|| {
            json!({
                "apiVersion": "admission.k8s.io/v1",
                "kind": "AdmissionReview",
                "request": request(&self.pending, &self.uid),
            })
        })
    }

    /// Its `request`.
    pub fn request(&self) -> &Value {
        &self.body()["request"]
    }
}

fn request(pending: &Pending, uid: &str) -> Value {
    let call = &pending.call;
    let row = call.resource;
    let kind = json!({"group": row.group, "version": "v1", "kind": row.kind});
    let resource = json!({"group": row.group, "version": "v1", "resource": row.plural});
    let (operation, options, object, old) = match &pending.step {
        ReviewStep::Create { object } => ("CREATE", "CreateOptions", object, &Value::Null),
        ReviewStep::Update { object, existing } => ("UPDATE", "UpdateOptions", object, &**existing),
        ReviewStep::Delete { existing, .. } => {
            ("DELETE", "DeleteOptions", &Value::Null, &**existing)
        }
    };
    let mut request = json!({
        "uid": uid,
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "operation": operation,
        "userInfo": user_info(&call.user),
        "object": object,
        "oldObject": old,
        "dryRun": call.is_dry_run(),
        "options": self::options(call, options),
    });
    let name = match &pending.step {
        ReviewStep::Create { object } => text(object, &["metadata", "name"]),
        ReviewStep::Update { .. } | ReviewStep::Delete { .. } => &call.name,
    };
    // A namespace is reviewed as content of itself once its path names it.
    let namespace = if row.plural == "namespaces" { &call.name } else { &call.namespace };
    for (key, value) in [("name", name), ("namespace", namespace)] {
        if !value.is_empty() {
            request[key] = json!(value);
        }
    }
    if !call.subresource.is_empty() {
        request["subResource"] = json!(call.subresource);
        request["requestSubResource"] = json!(call.subresource);
    }
    request
}

fn user_info(user: &RequestUser) -> Value {
    let mut info = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        info["uid"] = json!(user.uid);
    }
    info
}

fn options(call: &Call, kind: &str) -> Value {
    let mut options = match (call.method, &call.body) {
        (Method::Delete, Value::Object(sent)) => sent.clone(),
        _ => Map::new(),
    };
    options.insert("kind".to_owned(), json!(kind));
    options.insert("apiVersion".to_owned(), json!("meta.k8s.io/v1"));
    if call.is_dry_run() {
        options.insert("dryRun".to_owned(), json!(["All"]));
    }
    for name in ["fieldManager", "fieldValidation"] {
        if !call.parameter(name).is_empty() && call.method != Method::Delete {
            options.insert(name.to_owned(), json!(call.parameter(name)));
        }
    }
    Value::Object(options)
}

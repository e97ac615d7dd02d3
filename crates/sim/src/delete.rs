//! Deleting one object or a collection.
//!
//! Source: `registry/generic/registry/store.go` and `registry/rest/delete.go` of Kubernetes 1.36. An
//! object with finalizers is only marked; a pod on a node gets its grace period; a namespace waits
//! for its content. Who removes finalizers, ends pods and empties namespaces is not here.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::cluster::{ClusterState, spell};
use super::list::list_of;
use super::outcome::{Progress, Response};
use super::request::Call;
use super::review::{CollectionDeletion, Pending, Phase, ReviewStep};
use super::selector::ListSelector;
use super::status::StatusError;
use bindery::api::server::fields::{at, remove, set, text, texts};
use bindery::api::server::metadata::{DELETION, FINALIZERS, GENERATION, GRACE, NAME, UID, VERSION};

/// Finalizers that stand for a propagation policy.
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// Namespaces that may not be deleted. Kubernetes: the admission plugin `NamespaceLifecycle`.
const PROTECTED_NAMESPACES: [&str; 3] = ["default", "kube-public", "kube-system"];

/// What a delete does to the stored object.
enum DeleteEffect {
    Unchanged,
    Marked(Value),
    Gone,
    /// A pod that ends at once is still marked before it goes.
    MarkedAndGone(Value),
}

impl ClusterState {
    /// Begins a delete: up to mutating admission.
    pub(super) fn delete(&mut self, call: Call) -> Result<Progress, StatusError> {
        let existing = self.find(&call)?;
        if call.resource.plural == "namespaces" && PROTECTED_NAMESPACES.contains(&&*call.name) {
            let why = "this namespace may not be deleted";
            return Err(StatusError::forbidden(call.resource, &call.name, why));
        }
        self.delete_found(call, existing, None, Vec::new())
    }

    fn delete_found(
        &mut self,
        call: Call,
        existing: Arc<Value>,
        collection: Option<CollectionDeletion>,
        warnings: Vec<String>,
    ) -> Result<Progress, StatusError> {
        check_preconditions(&call, &existing)?;
        let step = ReviewStep::Delete { existing, collection };
        Ok(self.review(Phase::Mutating, Pending { call, step, warnings }))
    }

    /// Begins a collection delete: up to mutating admission of its first object.
    pub(super) fn delete_collection(&mut self, call: Call) -> Result<Progress, StatusError> {
        let selector = ListSelector::parse(&call)?;
        let mut objects = self.store.objects(call.resource, &call.namespace);
        objects.retain(|object| selector.matches(object));
        let name = |object: &Arc<Value>| {
            let space = text(object, &["metadata", "namespace"]);
            (space.to_owned(), text(object, &NAME).to_owned())
        };
        let rest: VecDeque<(String, String)> = objects.iter().map(name).collect();
        let list = list_of(&call, &objects, self.store.version());
        self.delete_next(call, CollectionDeletion { list, rest }, Vec::new())
    }

    fn delete_next(
        &mut self,
        call: Call,
        mut collection: CollectionDeletion,
        warnings: Vec<String>,
    ) -> Result<Progress, StatusError> {
        while let Some((space, name)) = collection.rest.pop_front() {
            let key = super::store::Key::new(call.resource, &space, &name);
            if let Some(existing) = self.store.get(&key).map(Arc::clone) {
                return self.delete_found(call, existing, Some(collection), warnings);
            }
        }
        let done = Response::warned(200, collection.list, warnings);
        Ok(Progress::Done(done))
    }

    /// Carries an admitted delete out, and goes on to the next object of a collection.
    pub(super) fn commit_delete(
        &mut self,
        call: Call,
        existing: &Arc<Value>,
        collection: Option<CollectionDeletion>,
        warnings: Vec<String>,
    ) -> Result<Progress, StatusError> {
        let (space, name) = (text(existing, &["metadata", "namespace"]), text(existing, &NAME));
        let key = super::store::Key::new(call.resource, space, name);
        let now = self.store.get(&key).map(Arc::clone);
        if let Some(now) = now.filter(|now| !Arc::ptr_eq(now, existing)) {
            return self.delete_found(call, now, collection, warnings);
        }
        if self.store.get(&key).is_none() && collection.is_none() {
            return Err(StatusError::not_found(call.resource, name));
        }
        let effect = self.effect(&call, existing);
        let is_stored = !call.is_dry_run() && self.store.get(&key).is_some();
        let reply = match effect {
            DeleteEffect::Unchanged => (**existing).clone(),
            DeleteEffect::Marked(object) if is_stored => (*self.put(&call, key, object)).clone(),
            DeleteEffect::MarkedAndGone(object) if is_stored => {
                self.put(&call, key.clone(), object);
                self.remove(&call, &key).unwrap_or_default()
            }
            DeleteEffect::Marked(object) | DeleteEffect::MarkedAndGone(object) => object,
            DeleteEffect::Gone => {
                let last = if is_stored { self.remove(&call, &key) } else { None };
                let last = last.unwrap_or_else(|| (**existing).clone());
                if call.strategy.returns_deleted() { last } else { deleted(&call, &last) }
            }
        };
        match collection {
            Some(collection) => self.delete_next(call, collection, warnings),
            None => Ok(Progress::Done(Response::warned(200, reply, warnings))),
        }
    }

    fn effect(&self, call: &Call, existing: &Value) -> DeleteEffect {
        let mut object = existing.clone();
        let finalizers = finalizers(&call.body, existing);
        if finalizers.is_empty() {
            remove(&mut object, &FINALIZERS);
        } else {
            set(&mut object, &FINALIZERS, json!(finalizers));
        }
        if call.resource.plural == "namespaces" && !call.strategy.may_vanish(existing) {
            return self.namespace_effect(object, existing);
        }
        let asked = at(&call.body, &["gracePeriodSeconds"]).and_then(Value::as_i64);
        let grace = call.strategy.grace(existing, asked);
        if let Some(effect) = grace.and_then(|grace| self.graceful_effect(&object, asked, grace)) {
            return effect;
        }
        if finalizers.is_empty() {
            return DeleteEffect::Gone;
        }
        self.mark(&mut object, 0);
        if object == *existing { DeleteEffect::Unchanged } else { DeleteEffect::Marked(object) }
    }

    /// Marks as terminating: now plus the grace period.
    fn mark(&self, object: &mut Value, grace: i64) {
        let end = self.now.checked_add(SignedDuration::from_secs(grace)).unwrap_or(self.now);
        let marked = text(object, &DELETION).parse::<Timestamp>().ok();
        if marked.is_none()
            && let Some(generation) = at(object, &GENERATION).and_then(Value::as_i64)
        {
            set(object, &GENERATION, json!(generation + 1));
        }
        if marked.is_none_or(|marked| marked > end) {
            set(object, &DELETION, json!(spell(end)));
        }
        set(object, &GRACE, json!(grace));
    }

    fn namespace_effect(&self, mut object: Value, existing: &Value) -> DeleteEffect {
        if at(existing, &DELETION).is_some() {
            return DeleteEffect::Unchanged;
        }
        set(&mut object, &DELETION, json!(self.time()));
        set(&mut object, &["status", "phase"], json!("Terminating"));
        DeleteEffect::Marked(object)
    }

    /// Returns what happens to an object that may terminate gracefully; `None` when it is deleted as any other. A
    /// grace period that runs already can only be shortened.
    fn graceful_effect(
        &self,
        object: &Value,
        asked: Option<i64>,
        grace: i64,
    ) -> Option<DeleteEffect> {
        let mut object = object.clone();
        if at(&object, &DELETION).is_some() {
            let running = at(&object, &GRACE).and_then(Value::as_i64).unwrap_or_default();
            if running == 0 {
                return None;
            }
            if asked.is_none_or(|asked| asked >= running) {
                return Some(DeleteEffect::Unchanged);
            }
        }
        self.mark(&mut object, grace);
        let is_held = !texts(&object, &FINALIZERS).is_empty();
        Some(if grace > 0 || is_held {
            DeleteEffect::Marked(object)
        } else {
            DeleteEffect::MarkedAndGone(object)
        })
    }
}

/// The finalizers that the propagation policy leaves or adds. The garbage collector, who would act
/// on them, is not here: such an object stays until they are removed.
fn finalizers(options: &Value, existing: &Value) -> Vec<String> {
    let mut kept: Vec<String> =
        texts(existing, &FINALIZERS).into_iter().map(str::to_owned).collect();
    let policy = match (at(options, &["orphanDependents"]), text(options, &["propagationPolicy"])) {
        (Some(orphan), _) if *orphan == json!(true) => Some(ORPHAN),
        (Some(_), _) | (None, "Background") => None,
        (None, "Orphan") => Some(ORPHAN),
        (None, "Foreground") => Some(FOREGROUND),
        (None, _) => return kept,
    };
    kept.retain(|one| one != ORPHAN && one != FOREGROUND);
    kept.extend(policy.map(str::to_owned));
    kept
}

fn check_preconditions(call: &Call, existing: &Value) -> Result<(), StatusError> {
    let name = text(existing, &NAME);
    let checks = [
        ("uid", "UID", UID, "deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", VERSION, "modified"),
    ];
    for (field, label, path, happened) in checks {
        let (sent, stored) = (at(&call.body, &["preconditions", field]), text(existing, &path));
        let Some(sent) = sent.and_then(Value::as_str).filter(|sent| *sent != stored) else {
            continue;
        };
        let why = format!(
            "the {label} in the precondition ({sent}) does not match the {label} in record \
             ({stored}). The object might have been {happened}"
        );
        return Err(StatusError::failed_precondition(call.resource, name, &why));
    }
    Ok(())
}

/// The reply to a delete of a kind whose last state is not returned.
fn deleted(call: &Call, last: &Value) -> Value {
    let mut details = json!({
        "name": text(last, &NAME),
        "kind": call.resource.plural,
        "uid": text(last, &UID),
    });
    if !call.resource.group.is_empty() {
        details["group"] = json!(call.resource.group);
    }
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    })
}

//! Creating and updating.
//!
//! The order is kube-apiserver's (`registry/generic/registry/store.go`, `registry/rest`): decode and
//! default, mutating admission, version check, what a client may not touch is reset, validation,
//! validating admission, storage. So a stale version is rejected after the mutating webhook saw the
//! object and before the validating one does.

use std::sync::Arc;

use serde_json::{Value, json};

use super::cluster::ClusterState;
use super::kinds::place;
use super::outcome::{Progress, Response};
use super::patch::{is_apply, patched};
use super::request::{Call, Method};
use super::resource::NAMESPACES;
use super::review::{Pending, Phase, ReviewStep};
use super::status::StatusError;
use super::store::Key;
use bindery::api::server::Cause;
use bindery::api::server::fields::{at, remove, set, set_default, text, texts, tidy};
use bindery::api::server::metadata::{
    DELETION, FINALIZERS, GRACE, NAME, UID, VERSION, protect, reset, validate, validate_change,
    wipe,
};

impl ClusterState {
    /// Begins a create: up to mutating admission.
    pub(super) fn create(&mut self, call: Call) -> Result<Progress, StatusError> {
        let mut object = decoded(&call, call.body.clone())?;
        wipe(&mut object);
        self.check_namespace(&call, text(&object, &NAME))?;
        if let Some(finalizer) = call.strategy.finalizer() {
            protect(&mut object, finalizer);
        }
        call.strategy.admit_create(&mut object, &self.store);
        let step = ReviewStep::Create { object };
        Ok(self.review(Phase::Mutating, Pending { call, step, warnings: Vec::new() }))
    }

    /// Goes on with a create after mutating admission.
    pub(super) fn created(&mut self, mut pending: Pending) -> Result<Progress, StatusError> {
        let strategy = pending.call.strategy;
        if let ReviewStep::Create { object } = &mut pending.step {
            *object = decoded(&pending.call, object.take())?;
            let prefix = text(object, &["metadata", "generateName"]).to_owned();
            if text(object, &NAME).is_empty() && !prefix.is_empty() {
                set(object, &NAME, json!(format!("{prefix}{}", self.uids.next_suffix())));
            }
            set(object, &UID, json!(self.uids.next_uid()));
            set(object, &["metadata", "creationTimestamp"], json!(self.time()));
            strategy.prepare_create(object, &self.time());
            let mut causes = strategy.name_causes(text(object, &NAME));
            causes.extend(validate(&object["metadata"], pending.call.resource.namespaced));
            causes.extend(strategy.validate(object));
            check(&pending.call, text(object, &NAME), &causes)?;
            pending.warnings.extend(strategy.warnings(object));
        }
        Ok(self.review(Phase::Validating, pending))
    }

    /// Stores a new object.
    pub(super) fn commit_create(
        &mut self,
        call: &Call,
        mut object: Value,
        warnings: Vec<String>,
    ) -> Result<Response, StatusError> {
        if !text(&object, &VERSION).is_empty() {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(StatusError::plain_error(message));
        }
        call.strategy.default(&mut object);
        let key = Key::new(call.resource, &call.namespace, text(&object, &NAME));
        if self.store.get(&key).is_some() {
            return Err(StatusError::already_exists(call.resource, text(&object, &NAME)));
        }
        let stored =
            if call.is_dry_run() { object } else { (*self.put(call, key, object)).clone() };
        Ok(Response::warned(201, stored, warnings))
    }

    /// Puts a pod on a node, as its `binding` asks. Webhooks are not asked: a `Binding` is no kind
    /// that any of them looks at here.
    pub(super) fn place(&mut self, call: &Call) -> Result<Progress, StatusError> {
        let mut pod = (*self.find(call)?).clone();
        check_uid(call, &call.body, &pod)?;
        place(&mut pod, text(&call.body, &["target", "name"]))
            .map_err(|why| StatusError::conflict_at(call.resource, "binding", &call.name, &why))?;
        if !call.is_dry_run() {
            self.put(call, call.key(), pod);
        }
        Ok(Progress::Done(Response::json(201, created_status())))
    }

    /// Begins an update: up to mutating admission.
    pub(super) fn update(
        &mut self,
        mut call: Call,
        warnings: Vec<String>,
    ) -> Result<Progress, StatusError> {
        let is_new = call.method == Method::Put
            && call.subresource.is_empty()
            && call.strategy.is_made_by_put()
            && self.store.get(&call.key()).is_none();
        let is_applied =
            is_apply(&call) && call.subresource.is_empty() && self.store.get(&call.key()).is_none();
        if is_new || is_applied {
            check_name(&call, &call.body)?;
            remove(&mut call.body, &VERSION);
            return self.create(call);
        }
        let existing = if call.method == Method::Put {
            let object = decoded(&call, call.body.clone())?;
            check_name(&call, &object)?;
            let existing = self.find(&call)?;
            check_uid(&call, &object, &existing)?;
            existing
        } else {
            self.find(&call)?
        };
        let object = match call.method {
            Method::Patch => decoded(&call, patched(&call, &existing)?)?,
            Method::Put | Method::Get | Method::Post | Method::Delete => {
                decoded(&call, call.body.clone())?
            }
        };
        check_name(&call, &object)?;
        let step = ReviewStep::Update { object, existing };
        Ok(self.review(Phase::Mutating, Pending { call, step, warnings }))
    }

    /// Goes on with an update after mutating admission.
    pub(super) fn updated(&mut self, mut pending: Pending) -> Result<Progress, StatusError> {
        let call = &pending.call;
        let strategy = call.strategy;
        if let ReviewStep::Update { object, existing } = &mut pending.step {
            *object = decoded(call, object.take())?;
            let sent = text(object, &VERSION);
            if sent.is_empty() && !strategy.takes_blind_updates() {
                return Err(unversioned(call));
            }
            if !sent.is_empty() && sent != text(existing, &VERSION) {
                let why = "the object has been modified; please apply your changes to the latest \
                           version and try again";
                return Err(StatusError::conflict(call.resource, &call.name, why));
            }
            reset(object, existing);
            let mut causes = validate_change(object, existing);
            if strategy.repeats_metadata(&call.subresource) {
                causes.extend_from_within(..);
            }
            match call.subresource.as_str() {
                "" => {
                    strategy.prepare_update(object, existing);
                    causes.extend(strategy.validate_update(object, existing));
                    pending.warnings.extend(strategy.warnings(object));
                }
                "status" => strategy.prepare_status(object, existing, &self.time()),
                _ => strategy.prepare_finalize(object, existing),
            }
            check(call, &call.name, &causes)?;
            if call.subresource.is_empty() {
                strategy
                    .admit_update(object, existing, &self.store)
                    .map_err(|why| StatusError::forbidden(call.resource, &call.name, &why))?;
            }
        }
        Ok(self.review(Phase::Validating, pending))
    }

    /// Stores a changed object, or removes it when it was only waiting for its last finalizer. A
    /// write that changes nothing makes no new version and no event.
    pub(super) fn commit_update(
        &mut self,
        call: &Call,
        mut object: Value,
        existing: &Arc<Value>,
        warnings: Vec<String>,
    ) -> Result<Response, StatusError> {
        let key = call.key();
        if self.store.get(&key).is_none() {
            return Err(StatusError::not_found(call.resource, &call.name));
        }
        call.strategy.default(&mut object);
        let is_finished = at(existing, &DELETION).is_some()
            && texts(&object, &FINALIZERS).is_empty()
            && at(existing, &GRACE).and_then(Value::as_i64).unwrap_or_default() == 0
            && call.strategy.may_vanish(&object);
        let stored = if call.is_dry_run() || object == **existing {
            object
        } else if is_finished {
            self.remove(call, &key);
            object
        } else {
            (*self.put(call, key, object)).clone()
        };
        Ok(Response::warned(200, stored, warnings))
    }

    fn check_namespace(&self, call: &Call, name: &str) -> Result<(), StatusError> {
        if !call.resource.namespaced {
            return Ok(());
        }
        match self.namespace(&call.namespace) {
            None => Err(StatusError::not_found(&NAMESPACES, &call.namespace)),
            Some(space) if at(space, &DELETION).is_some() => {
                Err(StatusError::terminating_namespace(call.resource, name, &call.namespace))
            }
            Some(_) => Ok(()),
        }
    }
}

/// The answer to a binding that took place.
fn created_status() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
}

/// The server names the resource where it names the kind elsewhere, and a number where the version
/// is a text.
fn unversioned(call: &Call) -> StatusError {
    let cause =
        Cause::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
    StatusError::invalid(call.resource.group, call.resource.plural, &call.name, &[cause])
}

/// Checks what a typed server's decoder would, fills the namespace in and applies the defaults.
fn decoded(call: &Call, mut object: Value) -> Result<Value, StatusError> {
    let row = call.resource;
    let (version, kind) = (row.api_version(), text(&object, &["kind"]).to_owned());
    let sent = text(&object, &["apiVersion"]).to_owned();
    if !object.is_object() || (!kind.is_empty() && kind != row.kind) {
        return Err(StatusError::bad_request(format!(
            "{kind} in version \"v1\" cannot be handled as a {}: converting (v1.{kind}) to \
             (core.{}): unknown conversion",
            row.kind, row.kind
        )));
    }
    if !sent.is_empty() && sent != version {
        return Err(StatusError::bad_request(format!(
            "{} in version {sent:?} cannot be handled as a {}: no kind {:?} is registered for \
             version {sent:?} in scheme \"pkg/runtime/scheme.go:111\"",
            row.kind, row.kind, row.kind
        )));
    }
    set(&mut object, &["apiVersion"], json!(version));
    set(&mut object, &["kind"], json!(row.kind));
    tidy(&mut object);
    set_default(&mut object, &["metadata"], json!({}));
    if row.namespaced {
        set_default(&mut object, &["metadata", "namespace"], json!(call.namespace));
    } else {
        remove(&mut object, &["metadata", "namespace"]);
    }
    if text(&object, &["metadata", "namespace"]) != call.namespace {
        return Err(StatusError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    call.strategy.default(&mut object);
    Ok(object)
}

fn check_name(call: &Call, object: &Value) -> Result<(), StatusError> {
    let name = text(object, &NAME);
    if name == call.name {
        return Ok(());
    }
    Err(StatusError::bad_request(format!(
        "the name of the object ({name}) does not match the name on the URL ({})",
        call.name
    )))
}

/// A uid in a `PUT` is a precondition; in a patch it is a change of an immutable field.
fn check_uid(call: &Call, object: &Value, existing: &Value) -> Result<(), StatusError> {
    let (sent, stored) = (text(object, &UID), text(existing, &UID));
    if sent.is_empty() || sent == stored {
        return Ok(());
    }
    let prefix = if call.resource.group.is_empty() { "" } else { call.resource.group };
    let key = [prefix, call.resource.plural, &call.namespace, &call.name];
    let key: Vec<&str> = key.into_iter().filter(|step| !step.is_empty()).collect();
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{}, ResourceVersion: 0, \
         AdditionalErrorMsg: Precondition failed: UID in precondition: {sent}, UID in object meta: \
         {stored}",
        key.join("/")
    );
    Err(StatusError::conflict(call.resource, &call.name, &why))
}

fn check(call: &Call, name: &str, causes: &[Cause]) -> Result<(), StatusError> {
    if causes.is_empty() {
        return Ok(());
    }
    Err(StatusError::invalid(call.resource.group, call.resource.kind, name, causes))
}

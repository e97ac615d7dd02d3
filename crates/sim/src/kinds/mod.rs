//! What is particular to a kind: defaults, what a client may not set, and validation.
//!
//! Source: the strategies in `k8s.io/kubernetes/pkg/registry` and the validation in
//! `pkg/apis/*/validation` of Kubernetes 1.36, as far as bindings depend on them.

mod claim;
mod event;
mod lease;
mod place;
mod pod;
mod storage;
mod volume;

use std::fmt::Debug;

use serde_json::Value;

use super::store::Store;
use bindery::api::server::Cause;
use bindery::api::server::fields::{copy, text};
use bindery::api::server::metadata::validate_name;

pub(super) use claim::ClaimStrategy;
pub(super) use event::EventStrategy;
pub(super) use lease::LeaseStrategy;
pub(super) use place::{NamespaceStrategy, NodeStrategy};
pub(super) use pod::{PodStrategy, place};
pub(super) use storage::{AttachmentStrategy, ClassStrategy};
pub(super) use volume::VolumeStrategy;

/// The hooks of one kind. The defaults fit a kind without a status or rules of its own.
pub(super) trait Strategy: Debug + Sync {
    /// Fills in what an absent field means; runs on every object that is decoded or stored.
    fn default(&self, _object: &mut Value) {}

    /// The protection finalizer that admission adds at creation.
    fn finalizer(&self) -> Option<&'static str> {
        None
    }

    /// What built-in mutating admission does to a new object.
    fn admit_create(&self, _object: &mut Value, _store: &Store) {}

    /// Resets what a client may not set at creation; `now` is the time of the request.
    fn prepare_create(&self, _object: &mut Value, _now: &str) {}

    /// Resets what a client may not change through the main path.
    fn prepare_update(&self, object: &mut Value, existing: &Value) {
        copy(object, existing, &["status"]);
    }

    /// Resets what a client may not change through `/status`. Metadata is left as sent.
    fn prepare_status(&self, object: &mut Value, existing: &Value, _now: &str) {
        copy(object, existing, &["spec"]);
    }

    /// Resets what a client may not change through `/finalize`.
    fn prepare_finalize(&self, _object: &mut Value, _existing: &Value) {}

    /// Returns what is wrong with a new object.
    fn validate(&self, _object: &Value) -> Vec<Cause> {
        Vec::new()
    }

    /// Returns what is wrong with a change.
    fn validate_update(&self, object: &Value, _existing: &Value) -> Vec<Cause> {
        self.validate(object)
    }

    /// Returns why built-in validating admission rejects a change.
    fn admit_update(
        &self,
        _object: &Value,
        _existing: &Value,
        _store: &Store,
    ) -> Result<(), String> {
        Ok(())
    }

    /// Warnings about an object that is accepted.
    fn warnings(&self, _object: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Every field that a field selector may name; `None`: name and namespace, as for kinds that
    /// say nothing about it.
    fn selectable(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// The value of a selectable field, as a field selector compares it.
    fn selected<'a>(&self, object: &'a Value, field: &str) -> &'a str {
        text(object, &field.split('.').collect::<Vec<_>>())
    }

    /// Returns whether a `PUT` of an object that does not exist creates it.
    fn is_made_by_put(&self) -> bool {
        false
    }

    /// Returns whether an update without a version overwrites whatever is stored.
    fn takes_blind_updates(&self) -> bool {
        true
    }

    /// Returns whether the real validation of an update looks at the metadata once more than that of all
    /// kinds, so that its causes come twice.
    fn repeats_metadata(&self, _subresource: &str) -> bool {
        true
    }

    /// Returns what is wrong with a name.
    fn name_causes(&self, name: &str) -> Vec<Cause> {
        validate_name(name)
    }

    /// Seconds that a deleted object has to terminate gracefully: `asked` by the client or its own. `None`
    /// for kinds without that.
    fn grace(&self, _object: &Value, _asked: Option<i64>) -> Option<i64> {
        None
    }

    /// Returns whether the reply to a final delete is the object; a `Status` otherwise.
    fn returns_deleted(&self) -> bool {
        true
    }

    /// Returns whether nothing but `metadata.finalizers` can hold a terminating object.
    fn may_vanish(&self, _object: &Value) -> bool {
        true
    }
}

/// A kind with nothing particular.
#[derive(Debug)]
pub(super) struct PlainStrategy;

impl Strategy for PlainStrategy {
    fn prepare_update(&self, _object: &mut Value, _existing: &Value) {}

    fn returns_deleted(&self) -> bool {
        false
    }
}

//! The labels of namespaces that rules rest on, and who may change them.
//!
//! Labels decide the tenant of a namespace and the modes of rules in it, but every user who may write a Namespace
//! sets any label on it. Only the API server knows whether the user may write PersistentVolumes as well: its
//! authorizer decides in the condition, before the webhook is called. Not here: what a namespace's tenant may claim (`tenancy`).

use super::actor::SUPERUSERS;
use super::change::{Change, ChangedObject};
use crate::model::Namespace;

/// The permission that stands for this one write, for accounts that label namespaces and have no other business
/// with storage. The group is our own, so that no role has it by accident.
const PERMISSION: (&str, &str, &str) = ("bindery.dev", "namespacelabels", "update");

/// The guarded labels that `change` sets, changes or removes on a namespace: the key, and the value as it would be.
pub fn changed(change: &Change) -> impl Iterator<Item = (&str, Option<&str>)> {
    let (old, new) = match &change.subject {
        ChangedObject::Namespace(transition) => (transition.stored(), transition.proposed()),
        ChangedObject::Volume(_)
        | ChangedObject::Claim(_)
        | ChangedObject::Class(_)
        | ChangedObject::Attachment(_)
        | ChangedObject::Node(_)
        | ChangedObject::Driver(_)
        | ChangedObject::SnapshotContent(_) => (None, None),
    };
    let old = old.filter(|_| new.is_some());
    let value = |namespace: Option<&'_ Namespace>, key: &str| {
        namespace.and_then(|namespace| namespace.labels.get(key)).map(str::to_owned)
    };
    let keys = change.parameters.namespace_labels.iter();
    keys.filter(move |key| value(old, key) != value(new, key))
        .map(move |key| (&**key, new.and_then(|new| new.labels.get(key))))
}

/// Returns whether the API server sends `change` of a namespace, as far as the request shows: only its authorizer knows
/// who else may write PersistentVolumes.
pub(super) fn are_sent(change: &Change) -> bool {
    changed(change).next().is_some() && !change.user.is_in(SUPERUSERS)
}

/// [`are_sent`] as CEL, for the guarded `keys`. A user who may update PersistentVolumes can give any of them away, so
/// the label protects nothing from that user.
pub(super) fn expression(keys: &[String]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("'{key}'")).collect();
    let may = |(group, resource, verb): (&str, &str, &str)| {
        format!("authorizer.group('{group}').resource('{resource}').check('{verb}').allowed()")
    };
    format!(
        "request.resource.resource != 'namespaces' || ([{keys}].exists(k, request.operation == 'CREATE' ? \
         object.metadata.?labels[?k].hasValue() : \
         oldObject.metadata.?labels[?k] != object.metadata.?labels[?k]) && !{volumes} && !{labels})",
        keys = keys.join(", "),
        volumes = may(("", "persistentvolumes", "update")),
        labels = may(PERMISSION),
    )
}

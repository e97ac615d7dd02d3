//! Namespace: wire form to model.

use serde::de::IgnoredAny;

use super::bounded::{LabelUse, OptionalText, parse};
use super::object::ObjectWire;
use crate::model::Namespace;

/// Reads a namespace from its JSON text.
pub fn namespace(text: &str) -> Result<Namespace, serde_json::Error> {
    Ok(namespace_of(parse::<NamespaceWire<'_>>(text, LabelUse::Collect)?.value))
}

/// A namespace as it is sent. Nothing of its spec is read.
pub(super) type NamespaceWire<'a> = ObjectWire<'a, IgnoredAny>;

/// The namespace of an object.
pub(super) fn namespace_of(wire: NamespaceWire<'_>) -> Namespace {
    let metadata = wire.metadata;
    Namespace {
        name: metadata.name.or_empty().into(),
        deletion: metadata.deletion(),
        labels: metadata.labels.0,
    }
}

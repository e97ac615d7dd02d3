//! Namespace: wire form to model.

use super::bounded::{LabelUse, OptionalText, parse};
use super::object::ObjectWire;
use crate::model::Namespace;

/// Reads a namespace from its JSON text.
pub fn namespace(text: &str) -> Result<Namespace, serde_json::Error> {
    Ok(namespace_of(parse(text, LabelUse::Collect)?.value))
}

/// The namespace of an object that was read as far as all kinds are alike.
pub(super) fn namespace_of(wire: ObjectWire<'_>) -> Namespace {
    let metadata = wire.metadata;
    Namespace {
        name: metadata.name.or_empty().into(),
        deletion: metadata.deletion(),
        labels: metadata.labels.0,
    }
}

//! Node: wire form to model; only what volumes select nodes by.

use serde::Deserialize;

use super::bounded::{LabelUse, Object, read};
use super::metadata::{Metadata, or_empty};
use crate::model::Node;

#[derive(Deserialize)]
struct NodeWire<'a> {
    #[serde(borrow, default)]
    metadata: Object<Metadata<'a>>,
}

/// Reads a node from its JSON text.
pub fn node(text: &str) -> Result<Node, serde_json::Error> {
    let wire: NodeWire<'_> = read(text, LabelUse::Collect)?.value;
    let metadata = wire.metadata.0;
    Ok(Node { name: or_empty(metadata.name.as_ref()).into(), labels: metadata.labels.0 })
}

//! Node: wire form to model.

use serde::de::Error;

use super::bounded::{LabelUse, OptionalText, parse, wire};
use super::metadata::Metadata;
use crate::model::Node;

wire! {
    struct NodeWire<'a> {
        metadata: Metadata<'a> = "metadata",
    }
}

/// Parses a node from its JSON text. More labels than are collected are an error: it would be unknown whether a volume
/// can be reached from it.
pub fn node(text: &str) -> Result<Node, serde_json::Error> {
    let wire = parse::<NodeWire<'_>>(text, LabelUse::Collect)?;
    if wire.is_cut {
        return Err(serde_json::Error::custom(
            "the node has more labels than are read of one node",
        ));
    }
    let metadata = wire.value.metadata;
    Ok(Node { name: metadata.name.or_empty().into(), labels: metadata.labels.0 })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_is_its_name_and_its_labels() {
        let labels = json!({"zone": "a", "kubernetes.io/hostname": "n1"});
        let text = json!({"metadata": {"name": "n1", "labels": labels}, "spec": {}}).to_string();
        let expected = [("zone", "a"), ("kubernetes.io/hostname", "n1")].into_iter().collect();
        assert_eq!(node(&text).unwrap(), Node { name: "n1".into(), labels: expected });
        let many: serde_json::Map<_, _> =
            (0..60_000).map(|number| (format!("label-{number}"), json!("x"))).collect();
        assert!(node(&json!({"metadata": {"name": "n1", "labels": many}}).to_string()).is_err());
    }
}

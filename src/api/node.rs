//! Node: wire form to model.

use serde::Deserialize;
use serde::de::Error;

use super::bounded::{LabelUse, Object, read};
use super::metadata::{Metadata, or_empty};
use crate::model::Node;

#[derive(Deserialize)]
struct NodeWire<'a> {
    #[serde(borrow, default)]
    metadata: Object<Metadata<'a>>,
}

/// Reads a node from its JSON text. One with more labels than are read is an error: whether a volume can
/// be reached from it is not known.
pub fn node(text: &str) -> Result<Node, serde_json::Error> {
    let wire = read::<NodeWire<'_>>(text, LabelUse::Collect)?;
    if wire.is_cut {
        return Err(serde_json::Error::custom(
            "the node has more labels than are read of one node",
        ));
    }
    let metadata = wire.value.metadata.0;
    Ok(Node { name: or_empty(metadata.name.as_ref()).into(), labels: metadata.labels.0 })
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

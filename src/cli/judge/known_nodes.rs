//! The nodes that are known while a change is judged. Of a dump none is kept whole: it has thousands, of some 10 KB each.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::api::attachment::node_state;
use crate::api::node::node;
use crate::model::{Node, NodeState, NodeTerm, OUT_OF_SERVICE, Uid};

/// Nodes as they are stored, and as the input leaves them.
#[derive(Debug, Default)]
pub(super) struct KnownNodes(Vec<KnownNode>);

/// A node.
#[derive(Debug)]
pub(super) struct KnownNode {
    node: Node,
    /// Whether its machine runs.
    pub(super) state: NodeState,
    /// Its uid, if it has one.
    pub(super) uid: Option<Uid>,
}

impl KnownNodes {
    /// Takes in a node from its JSON text, and returns what is judged of it, as an object.
    pub(super) fn add(&mut self, text: &str, uid: Option<Uid>) -> Result<Value, serde_json::Error> {
        let (node, state) = (node(text)?, node_state(text)?);
        let object = judged(&node, &state);
        self.0.push(KnownNode { node, state, uid });
        Ok(object)
    }

    /// Removes the node of this name.
    pub(super) fn remove(&mut self, name: &str) {
        self.0.retain(|known| &*known.node.name != name);
    }

    /// Returns whether there is a node that the term admits.
    pub(super) fn has_one_for(&self, term: &NodeTerm) -> bool {
        self.0.iter().any(|known| term.admits(&known.node))
    }

    /// The node of this name; of several the latest.
    pub(super) fn named(&self, name: &str) -> Option<&KnownNode> {
        self.0.iter().rev().find(|known| &*known.node.name == name)
    }
}

fn judged(node: &Node, state: &NodeState) -> Value {
    let labels: BTreeMap<&str, &str> = node.labels.iter().collect();
    let ready = if state.is_ready { "True" } else { "Unknown" };
    let taints = state.is_out_of_service.then(|| json!([{"key": OUT_OF_SERVICE}]));
    json!({
        "metadata": {"name": &*node.name, "labels": labels}, "spec": {"taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    })
}

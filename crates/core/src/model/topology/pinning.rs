//! Whether a volume is on one node only: what the rule on the deletion of a node asks.

use super::super::selector::Test;
use super::{Node, NodeAffinity, NodeExpression, NodeName, NodeTerm};

/// Kubernetes: `staging/src/k8s.io/api/core/v1/well_known_labels.go`, `LabelHostname`.
const HOSTNAME: &str = "kubernetes.io/hostname";

impl NodeAffinity {
    /// Returns whether it admits this node only: each term asks for its name, or for a label that has the name or the
    /// hostname of the node as its value. So the drivers that keep data on one node write it; one that asks for a zone
    /// names no node, and one with a term for each replica names several.
    pub fn names(&self, node: &Node) -> bool {
        match self {
            Self::Unrestricted | Self::Unread(_) => false,
            Self::Required(terms) => {
                !terms.is_empty() && terms.iter().all(|term| term.admits(node) && term.names(node))
            }
        }
    }
}

impl NodeTerm {
    fn names(&self, node: &Node) -> bool {
        let is_name =
            |value: &str| value == &*node.name || node.labels.get(HOSTNAME) == Some(value);
        let by_name = self.names.iter().any(|one| match one {
            NodeName::Is(name) => is_name(name),
            NodeName::IsNot(_) => false,
        });
        let by_label = self.expressions.iter().any(|one| match one {
            NodeExpression::Label(term) => match term.test() {
                Test::In(values) => values.iter().all(&is_name),
                Test::NotIn(_) | Test::Exists | Test::DoesNotExist | Test::Unread => false,
            },
            NodeExpression::Above(_) | NodeExpression::Below(_) => false,
        });
        by_name || by_label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(key: &str, operator: &str, values: &[&str]) -> NodeAffinity {
        let expression = NodeExpression::new(key, operator, values).unwrap();
        NodeAffinity::Required(vec![NodeTerm::new(vec![expression], Vec::new())])
    }

    #[test]
    fn a_volume_is_on_a_node_that_its_affinity_names_alone() {
        let labels = [(HOSTNAME, "host-1"), ("topology.example.com/node", "n1"), ("zone", "a")];
        let node = Node { name: "n1".into(), labels: labels.into_iter().collect() };
        assert!(asking(HOSTNAME, "In", &["host-1"]).names(&node));
        assert!(asking("topology.example.com/node", "In", &["n1"]).names(&node));
        assert!(
            !asking("topology.example.com/node", "In", &["n1", "n2"]).names(&node),
            "replicated"
        );
        assert!(!asking("zone", "In", &["a"]).names(&node));
        assert!(!asking(HOSTNAME, "In", &["host-2"]).names(&node));
        assert!(!asking(HOSTNAME, "Exists", &[]).names(&node));
        assert!(!NodeAffinity::Unrestricted.names(&node));
        let name = NodeName::new("metadata.name", "In", &["n1"]).unwrap();
        assert!(NodeAffinity::Required(vec![NodeTerm::new(Vec::new(), vec![name])]).names(&node));
        let of = |node: &str| {
            NodeTerm::new(vec![NodeExpression::new(HOSTNAME, "In", &[node]).unwrap()], Vec::new())
        };
        let replicas = NodeAffinity::Required(vec![of("host-1"), of("host-2")]);
        assert!(!replicas.names(&node), "a term for each replica");
        assert!(!NodeAffinity::Required(Vec::new()).names(&node));
    }
}

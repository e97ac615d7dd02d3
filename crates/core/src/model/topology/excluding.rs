//! Whether no node reaches two volumes: what the rule on volumes that have one path in common asks.
//!
//! Not here: an exact decision. Affinities are compared condition by condition, and a doubt is a no.

use super::super::selector::Test;
use super::{NodeAffinity, NodeExpression, NodeName, NodeTerm};

impl NodeAffinity {
    /// Returns whether surely no node is admitted by both: wherever one term of each is taken, they ask one label, or
    /// the name, for different values.
    pub fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unrestricted | Self::Unread(_), _)
            | (_, Self::Unrestricted | Self::Unread(_)) => false,
            (Self::Required(mine), Self::Required(theirs)) => {
                mine.iter().all(|mine| theirs.iter().all(|theirs| mine.excludes(theirs)))
            }
        }
    }
}

impl NodeTerm {
    fn excludes(&self, other: &Self) -> bool {
        let by_label = self
            .expressions
            .iter()
            .any(|mine| other.expressions.iter().any(|theirs| mine.excludes(theirs)));
        let by_name =
            self.names.iter().any(|mine| other.names.iter().any(|theirs| mine.excludes(theirs)));
        self.is_empty() || other.is_empty() || by_label || by_name
    }
}

impl NodeExpression {
    fn excludes(&self, other: &Self) -> bool {
        let (Self::Label(mine), Self::Label(theirs)) = (self, other) else { return false };
        let (Test::In(here), Test::In(there)) = (mine.test(), theirs.test()) else { return false };
        mine.key() == theirs.key() && here.iter().all(|value| !there.contains(value))
    }
}

impl NodeName {
    fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Is(mine), Self::Is(theirs)) => mine != theirs,
            (Self::Is(name), Self::IsNot(not)) | (Self::IsNot(not), Self::Is(name)) => name == not,
            (Self::IsNot(_), Self::IsNot(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(key: &str, values: &[&str]) -> NodeAffinity {
        let expression = NodeExpression::new(key, "In", values).unwrap();
        NodeAffinity::Required(vec![NodeTerm::new(vec![expression], Vec::new())])
    }

    #[test]
    fn only_what_asks_one_label_for_different_values_is_surely_apart() {
        let host = |names: &[&str]| on("kubernetes.io/hostname", names);
        assert!(host(&["a"]).excludes(&host(&["b", "c"])));
        assert!(!host(&["a", "b"]).excludes(&host(&["b"])), "b is in both");
        assert!(!host(&["a"]).excludes(&on("zone", &["b"])), "other labels");
        assert!(!host(&["a"]).excludes(&NodeAffinity::Unrestricted));
        let nowhere = NodeAffinity::Required(Vec::new());
        assert!(nowhere.excludes(&host(&["a"])));
        let named = |operator: &str, name: &str| {
            let name = NodeName::new("metadata.name", operator, &[name]).unwrap();
            NodeAffinity::Required(vec![NodeTerm::new(Vec::new(), vec![name])])
        };
        assert!(named("In", "a").excludes(&named("In", "b")));
        assert!(named("NotIn", "a").excludes(&named("In", "a")));
        assert!(!named("NotIn", "a").excludes(&named("NotIn", "b")));
    }
}

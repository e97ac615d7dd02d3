//! Label selectors and node affinity: wire form to model.

use super::bounded::{LabelUse, List, MatchLabels, OptionalText, Text, parse, wire};
use crate::model::{NodeAffinity, NodeExpression, NodeName, NodeTerm, Selector, Term, TermError};

wire! {
    /// The wire form of one condition of a label or node selector.
    pub(super) struct RequirementWire<'a> {
        key: Option<Text<'a>> = "key",
        operator: Option<Text<'a>> = "operator",
        values: List<Text<'a>> = "values",
    }

    /// The wire form of a node selector.
    pub(super) struct NodeSelectorWire<'a> {
        node_selector_terms: List<NodeTermWire<'a>> = "nodeSelectorTerms",
    }

    struct NodeTermWire<'a> {
        match_expressions: List<RequirementWire<'a>> = "matchExpressions",
        match_fields: List<RequirementWire<'a>> = "matchFields",
    }

    /// The wire form of a term of `allowedTopologies`.
    pub(super) struct TopologyTermWire<'a> {
        match_label_expressions: List<RequirementWire<'a>> = "matchLabelExpressions",
    }

    /// The wire form of a label selector.
    pub(super) struct SelectorWire<'a> {
        pub(super) match_labels: MatchLabels = "matchLabels",
        pub(super) match_expressions: List<RequirementWire<'a>> = "matchExpressions",
    }
}

/// The selector of a claim; an error if a term means nothing here.
pub(super) fn selector(wire: SelectorWire<'_>) -> Result<Selector, TermError> {
    let labels = wire.match_labels.0;
    let equal = labels.iter().map(|(key, value)| Term::equals(key, value));
    let expressions = wire.match_expressions.0.iter().map(|wire| {
        let values = wire.values.0.iter().map(|value| value.0.clone());
        Term::new(wire.key.or_empty(), wire.operator.or_empty(), values)
    });
    equal.chain(expressions).collect::<Result<Vec<Term>, TermError>>().map(Selector::new)
}

/// The node affinity of a volume that has `required`. A term that Kubernetes cannot make sense of
/// admits no node.
pub(super) fn affinity(wire: &NodeSelectorWire<'_>) -> NodeAffinity {
    NodeAffinity::Required(wire.node_selector_terms.0.iter().map(node_term).collect())
}

/// The nodes for which volumes are provisioned: every one if there are no terms. Each condition is an `In`.
pub(super) fn allowed_topologies(terms: &[TopologyTermWire<'_>]) -> NodeAffinity {
    if terms.is_empty() {
        return NodeAffinity::Unrestricted;
    }
    let is_in = |key: &str, _: &str, values: &[&str]| NodeExpression::new(key, "In", values);
    let term = |wire: &TopologyTermWire<'_>| {
        let expressions = wire.match_label_expressions.0.iter();
        let expressions: Result<Vec<NodeExpression>, _> =
            expressions.map(|wire| with_parts(wire, is_in)).collect();
        expressions.map_or_else(|_| NodeTerm::default(), |all| NodeTerm::new(all, Vec::new()))
    };
    NodeAffinity::Required(terms.iter().map(term).collect())
}

/// Reads a node selector from its JSON text: which nodes it admits.
pub fn node_selector(text: &str) -> Result<NodeAffinity, serde_json::Error> {
    let wire: NodeSelectorWire<'_> = parse(text, LabelUse::Skip)?.value;
    Ok(affinity(&wire))
}

fn node_term(wire: &NodeTermWire<'_>) -> NodeTerm {
    let expressions: Result<Vec<NodeExpression>, _> =
        wire.match_expressions.0.iter().map(|wire| with_parts(wire, NodeExpression::new)).collect();
    let names: Result<Vec<NodeName>, _> =
        wire.match_fields.0.iter().map(|wire| with_parts(wire, NodeName::new)).collect();
    match (expressions, names) {
        (Ok(expressions), Ok(names)) => NodeTerm::new(expressions, names),
        (Err(_), _) | (_, Err(_)) => NodeTerm::default(),
    }
}

fn with_parts<T>(wire: &RequirementWire<'_>, make: impl Fn(&str, &str, &[&str]) -> T) -> T {
    let values: Vec<&str> = wire.values.0.iter().map(|value| &*value.0).collect();
    make(wire.key.or_empty(), wire.operator.or_empty(), &values)
}

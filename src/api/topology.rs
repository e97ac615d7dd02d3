//! Label selectors and node affinity: wire form to model.

use serde::Deserialize;

use super::bounded::{List, Object, Text};
use super::claim::SelectorWire;
use super::metadata::or_empty;
use crate::model::{NodeAffinity, NodeExpression, NodeName, NodeTerm, Selector, Term, TermError};

/// The wire form of one condition of a label or node selector.
#[derive(Deserialize)]
pub(super) struct RequirementWire<'a> {
    #[serde(borrow, default)]
    key: Option<Text<'a>>,
    #[serde(default)]
    operator: Option<Text<'a>>,
    #[serde(default)]
    values: List<Text<'a>>,
}

/// The wire form of a node selector.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeSelectorWire<'a> {
    #[serde(borrow, default)]
    node_selector_terms: List<Object<NodeTermWire<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeTermWire<'a> {
    #[serde(borrow)]
    match_expressions: List<Object<RequirementWire<'a>>>,
    match_fields: List<Object<RequirementWire<'a>>>,
}

/// The selector of a claim; an error if a term means nothing here.
pub(super) fn selector(wire: SelectorWire<'_>) -> Result<Selector, TermError> {
    let labels = wire.match_labels.0;
    let equal = labels.iter().map(|(key, value)| Term::equals(key, value));
    let expressions = wire.match_expressions.0.iter().map(|Object(wire)| {
        let values = wire.values.0.iter().map(|value| value.0.clone());
        Term::new(or_empty(wire.key.as_ref()), or_empty(wire.operator.as_ref()), values)
    });
    equal.chain(expressions).collect::<Result<Vec<Term>, TermError>>().map(Selector::new)
}

/// The node affinity of a volume that has `required`. A term that Kubernetes cannot make sense of
/// admits no node.
pub(super) fn affinity(wire: &NodeSelectorWire<'_>) -> NodeAffinity {
    NodeAffinity::Required(
        wire.node_selector_terms.0.iter().map(|term| node_term(&term.0)).collect(),
    )
}

fn node_term(wire: &NodeTermWire<'_>) -> NodeTerm {
    let expressions: Result<Vec<NodeExpression>, _> = wire
        .match_expressions
        .0
        .iter()
        .map(|wire| with_parts(&wire.0, NodeExpression::new))
        .collect();
    let names: Result<Vec<NodeName>, _> =
        wire.match_fields.0.iter().map(|wire| with_parts(&wire.0, NodeName::new)).collect();
    match (expressions, names) {
        (Ok(expressions), Ok(names)) => NodeTerm::new(expressions, names),
        (Err(_), _) | (_, Err(_)) => NodeTerm::default(),
    }
}

fn with_parts<T>(wire: &RequirementWire<'_>, make: impl Fn(&str, &str, &[&str]) -> T) -> T {
    let values: Vec<&str> = wire.values.0.iter().map(|value| &*value.0).collect();
    make(or_empty(wire.key.as_ref()), or_empty(wire.operator.as_ref()), &values)
}

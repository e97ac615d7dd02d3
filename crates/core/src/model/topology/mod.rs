//! Where a volume can be reached from: the node affinity of a volume, and the nodes it admits.
//!
//! It exists for the half of binding that the scheduler does, and for the rule that lets the
//! affinity of a bound volume grow but not shrink.
//!
//! Not here: preferred affinity, pods, and the JSON shape.

mod excluding;
mod pinning;
#[cfg(test)]
mod tests;
mod widening;

use std::fmt;

use super::annotations::TOPOLOGY_LABELS;
use super::selector::{self, Labels, Term, TermError};
pub use widening::{WiderLabel, stable_label};

/// What is known of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// `metadata.name`. If empty, conditions on the name are passed over, as in Kubernetes.
    pub name: Box<str>,
    /// `metadata.labels`.
    pub labels: Labels,
}

impl Node {
    /// The zones that its labels name: one, or two that differ.
    ///
    /// Kubernetes: `component-helpers/node/topology/helpers.go`, `GetZoneKey`.
    pub fn zones(&self) -> impl Iterator<Item = &str> {
        let [zone, _, beta_zone, _] = TOPOLOGY_LABELS;
        [zone, beta_zone].into_iter().filter_map(|label| self.labels.get(label))
    }
}

/// Which nodes can reach a volume: `spec.nodeAffinity`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NodeAffinity {
    /// No affinity, or one without `required`: every node.
    #[default]
    Unrestricted,
    /// `required.nodeSelectorTerms`: the nodes that one of the terms admits. Without terms: none.
    Required(Vec<NodeTerm>),
    /// More terms than are read, by a digest of their text: which nodes they admit is not known.
    Unread([u64; 2]),
}

/// Conditions that a node must all fulfil. Without any it admits no node.
///
/// That is also the form of a term which Kubernetes cannot make sense of (`Gt` with a text, for
/// one): it passes over such a term and still asks the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeTerm {
    expressions: Vec<NodeExpression>,
    names: Vec<NodeName>,
}

/// What an API server is asked to find the nodes that a term admits, as it spells selectors.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeQuery {
    /// The selector of labels; empty for none.
    pub labels: Box<str>,
    /// The selector of fields; empty for none.
    pub fields: Box<str>,
}

/// One entry of `matchExpressions`: a condition on one label of the node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeExpression {
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`.
    Label(Term),
    /// `Gt`: the label is an integer above the bound.
    Above(Bound),
    /// `Lt`: the label is an integer below the bound.
    Below(Bound),
}

/// The label and the limit of a `Gt` or `Lt`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bound {
    key: Box<str>,
    limit: i64,
}

/// One entry of `matchFields`; the only field that Kubernetes knows is `metadata.name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeName {
    /// `In` with its one value.
    Is(Box<str>),
    /// `NotIn` with its one value.
    IsNot(Box<str>),
}

/// Why parts do not make a condition on nodes. Kubernetes passes over a term with such a part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeTermError {
    /// What is wrong with any condition on a label.
    #[error(transparent)]
    Label(#[from] TermError),
    /// `Gt` or `Lt` without exactly one integer of 64 bits.
    #[error("{operator} on {key:?} takes one whole number; write exactly one")]
    NotOneInteger {
        /// Label of the condition.
        key: Box<str>,
        /// The operator as written.
        operator: Box<str>,
    },
    /// A field of the node that cannot be selected by.
    #[error("{0:?} is not a field that nodes are selected by; use metadata.name or a label")]
    UnknownField(Box<str>),
    /// `matchFields` with another operator than `In` or `NotIn`, or without exactly one value.
    #[error("a condition on metadata.name takes In or NotIn with one value, not {operator:?}")]
    MisshapenField {
        /// The operator as written.
        operator: Box<str>,
    },
}

impl NodeAffinity {
    /// Returns whether the node surely can reach the volume.
    ///
    /// **Differs from Kubernetes**: its scheduler and kubelet ask a volume's affinity about the
    /// labels only, so that `matchFields` admits every node. The API documents and validates
    /// `matchFields`, so it is honoured here. Asking about a node with an empty name gives
    /// Kubernetes' answer.
    pub fn admits(&self, node: &Node) -> bool {
        match self {
            Self::Unrestricted => true,
            Self::Required(terms) => terms.iter().any(|term| term.admits(node)),
            Self::Unread(_) => false,
        }
    }
}

impl NodeTerm {
    /// All conditions of the term.
    pub fn new(expressions: Vec<NodeExpression>, names: Vec<NodeName>) -> Self {
        Self { expressions, names }
    }

    /// Returns what finds the nodes that it admits; nothing if it admits none.
    pub fn query(&self) -> Option<NodeQuery> {
        fn joined<T: fmt::Display>(parts: &[T]) -> Box<str> {
            let parts: Vec<String> = parts.iter().map(T::to_string).collect();
            parts.join(",").into()
        }
        let query = NodeQuery { labels: joined(&self.expressions), fields: joined(&self.names) };
        (!self.is_empty()).then_some(query)
    }

    fn is_empty(&self) -> bool {
        self.expressions.is_empty() && self.names.is_empty()
    }

    /// Returns whether the node fulfils all its conditions.
    pub fn admits(&self, node: &Node) -> bool {
        !self.is_empty()
            && self.expressions.iter().all(|expression| expression.admits(&node.labels))
            && (node.name.is_empty() || self.names.iter().all(|name| name.admits(&node.name)))
    }
}

impl NodeExpression {
    /// One entry of `matchExpressions`, its operator spelled as in the API.
    ///
    /// # Errors
    ///
    /// What Kubernetes passes over the whole term for: unknown operator, wrong number of values, a
    /// key or a value that no label can have (negative numbers among them), or a `Gt` or `Lt` that
    /// is not an integer.
    pub fn new(key: &str, operator: &str, values: &[&str]) -> Result<Self, NodeTermError> {
        match operator {
            "Gt" => Bound::new(key, operator, values).map(Self::Above),
            "Lt" => Bound::new(key, operator, values).map(Self::Below),
            _ => match Term::new(key, operator, values.iter().copied()) {
                Ok(term) => Ok(Self::Label(term)),
                Err(TermError::UnknownOperator { key, operator, .. }) => {
                    let known = "In, NotIn, Exists, DoesNotExist, Gt, Lt";
                    Err(TermError::UnknownOperator { key, operator, known }.into())
                }
                Err(error) => Err(error.into()),
            },
        }
    }

    fn admits(&self, labels: &Labels) -> bool {
        match self {
            Self::Label(term) => term.matches(labels),
            Self::Above(bound) => bound.read(labels).is_some_and(|value| value > bound.limit),
            Self::Below(bound) => bound.read(labels).is_some_and(|value| value < bound.limit),
        }
    }
}

impl Bound {
    fn new(key: &str, operator: &str, values: &[&str]) -> Result<Self, NodeTermError> {
        selector::check_key(key)?;
        for value in values {
            selector::check_value(key, value)?;
        }
        let limit = match values {
            [value] => value.parse().ok(),
            _ => None,
        };
        let limit = limit.ok_or_else(|| NodeTermError::NotOneInteger {
            key: key.into(),
            operator: operator.into(),
        })?;
        Ok(Self { key: key.into(), limit })
    }

    /// The label as a number; a label that is none fulfils no bound.
    fn read(&self, labels: &Labels) -> Option<i64> {
        labels.get(&self.key)?.parse().ok()
    }
}

impl NodeName {
    /// One entry of `matchFields`, its operator spelled as in the API.
    ///
    /// # Errors
    ///
    /// Another field than `metadata.name`, another operator than `In` and `NotIn`, or another
    /// number of values than one: the API server rejects each of them.
    pub fn new(field: &str, operator: &str, values: &[&str]) -> Result<Self, NodeTermError> {
        if field != "metadata.name" {
            return Err(NodeTermError::UnknownField(field.into()));
        }
        match (operator, values) {
            ("In", [name]) => Ok(Self::Is((*name).into())),
            ("NotIn", [name]) => Ok(Self::IsNot((*name).into())),
            _ => Err(NodeTermError::MisshapenField { operator: operator.into() }),
        }
    }

    fn admits(&self, node: &str) -> bool {
        match self {
            Self::Is(name) => **name == *node,
            Self::IsNot(name) => **name != *node,
        }
    }
}

impl fmt::Display for NodeAffinity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = match self {
            Self::Unrestricted => return formatter.write_str("any node"),
            Self::Required(terms) if terms.is_empty() => return formatter.write_str("no node"),
            Self::Required(terms) => terms,
            Self::Unread(_) => return formatter.write_str("more terms than are read"),
        };
        join(formatter, terms, " or ")
    }
}

impl fmt::Display for NodeTerm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return formatter.write_str("no node");
        }
        join(formatter, &self.expressions, ",")?;
        if !self.expressions.is_empty() && !self.names.is_empty() {
            formatter.write_str(",")?;
        }
        join(formatter, &self.names, ",")
    }
}

impl fmt::Display for NodeExpression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(term) => write!(formatter, "{term}"),
            Self::Above(bound) => write!(formatter, "{}>{}", bound.key, bound.limit),
            Self::Below(bound) => write!(formatter, "{}<{}", bound.key, bound.limit),
        }
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(name) => write!(formatter, "metadata.name={name}"),
            Self::IsNot(name) => write!(formatter, "metadata.name!={name}"),
        }
    }
}

fn join<T: fmt::Display>(
    formatter: &mut fmt::Formatter<'_>,
    parts: &[T],
    separator: &str,
) -> fmt::Result {
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            formatter.write_str(separator)?;
        }
        write!(formatter, "{part}")?;
    }
    Ok(())
}

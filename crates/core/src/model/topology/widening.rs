//! Whether a volume that changes its node affinity stays reachable from every node it was
//! reachable from: what the rule on the affinity of bound volumes asks.
//!
//! Not here: an exact decision. Affinities are compared condition by condition, and a doubt is
//! a no; but whether a label that spans more, a region for a zone, admits the same nodes is a question to the nodes.

use super::super::selector::Test;
use super::{NodeAffinity, NodeExpression, NodeName, NodeTerm};

/// The nodes that decide whether a label that spans more admits every node that another label admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WiderLabel {
    /// Nodes that would no longer be admitted. There must be none.
    pub lost: NodeTerm,
    /// Nodes that stay admitted. There must be one: a label that no node has proves nothing.
    pub remaining: NodeTerm,
}

impl NodeAffinity {
    /// Returns whether `new` surely admits every node that this affinity admits.
    ///
    /// Surely: for each term there is a new one whose every condition follows from a condition of
    /// the old term. Where that cannot be seen condition by condition the answer is no.
    ///
    /// A condition on a beta label counts as one on the label that replaced it, because nodes
    /// carry both with the same value. Unless its gate `MutablePVNodeAffinity` is on, Kubernetes
    /// lets an affinity change in this way only, and not back.
    pub fn widened_by(&self, new: &Self) -> bool {
        match (self, new) {
            (_, Self::Unrestricted) => true,
            (Self::Unread(old), Self::Unread(new)) => old == new,
            (Self::Unrestricted, Self::Required(_) | Self::Unread(_))
            | (Self::Required(_), Self::Unread(_))
            | (Self::Unread(_), Self::Required(_)) => false,
            (Self::Required(old), Self::Required(new)) => old
                .iter()
                .filter(|term| !term.is_empty())
                .all(|old| new.iter().any(|new| old.widened_by(new))),
        }
    }
}

impl NodeAffinity {
    /// Under which conditions `new` admits every node that this affinity admits: under none, if it surely does
    /// ([`Self::widened_by`]). `None` if conditions and labels do not prove it.
    ///
    /// Kubernetes: KEP-5381, `MutablePVNodeAffinity`: a disk that becomes regional has a region where it had a zone.
    pub fn widened_if(&self, new: &Self) -> Option<Vec<WiderLabel>> {
        if self.widened_by(new) {
            return Some(Vec::new());
        }
        let (Self::Required(old), Self::Required(new)) = (self, new) else { return None };
        let mut wider = Vec::new();
        for term in old.iter().filter(|term| !term.is_empty()) {
            if !new.iter().any(|new| term.widened_by(new)) {
                wider.extend(new.iter().find_map(|new| term.widened_if(new))?);
            }
        }
        Some(wider)
    }
}

impl NodeTerm {
    fn widened_if(&self, new: &Self) -> Option<Vec<WiderLabel>> {
        let name_follows = |new: &NodeName| self.names.iter().any(|old| old.implies(new));
        if new.is_empty() || !new.names.iter().all(name_follows) {
            return None;
        }
        let open = |new: &&NodeExpression| !self.expressions.iter().any(|old| old.implies(new));
        new.expressions.iter().filter(open).map(|wider| self.within(wider)).collect()
    }

    /// Returns what it takes for `wider` to hold on every node of this term.
    fn within(&self, wider: &NodeExpression) -> Option<WiderLabel> {
        let NodeExpression::Label(label) = wider else { return None };
        let spans_more = |old: &NodeExpression| match old {
            NodeExpression::Label(old) => {
                matches!(old.test(), Test::In(_)) && spans_more(old.key(), label.key())
            }
            NodeExpression::Above(_) | NodeExpression::Below(_) => false,
        };
        if !self.expressions.iter().any(spans_more) {
            return None;
        }
        let and = |more: NodeExpression| {
            let expressions = self.expressions.iter().cloned().chain([more]).collect();
            Self { expressions, names: self.names.clone() }
        };
        let outside = NodeExpression::Label(label.opposite()?);
        Some(WiderLabel { lost: and(outside), remaining: and(wider.clone()) })
    }

    /// Labels follow from labels and names from names, so that the answer holds whether or not
    /// names are asked about (see `admits`). A term that lost all its conditions admits nothing.
    fn widened_by(&self, new: &Self) -> bool {
        let follows = |new: &NodeExpression| self.expressions.iter().any(|old| old.implies(new));
        let name_follows = |new: &NodeName| self.names.iter().any(|old| old.implies(new));
        !new.is_empty() && new.expressions.iter().all(follows) && new.names.iter().all(name_follows)
    }
}

impl NodeExpression {
    fn key(&self) -> &str {
        match self {
            Self::Label(term) => term.key(),
            Self::Above(bound) | Self::Below(bound) => &bound.key,
        }
    }

    /// Returns whether every node that fulfils this condition fulfils the other one.
    fn implies(&self, other: &Self) -> bool {
        if self.key() != other.key() && stable_label(self.key()) != Some(other.key()) {
            return false;
        }
        match (self, other) {
            (Self::Label(mine), Self::Label(theirs)) => test_implies(mine.test(), theirs.test()),
            (Self::Above(mine), Self::Above(theirs)) => mine.limit >= theirs.limit,
            (Self::Below(mine), Self::Below(theirs)) => mine.limit <= theirs.limit,
            (Self::Above(_) | Self::Below(_), Self::Label(theirs)) => {
                *theirs.test() == Test::Exists
            }
            (Self::Label(_), Self::Above(_) | Self::Below(_))
            | (Self::Above(_), Self::Below(_))
            | (Self::Below(_), Self::Above(_)) => false,
        }
    }
}

impl NodeName {
    fn implies(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Is(mine), other) => other.admits(mine),
            (Self::IsNot(mine), Self::IsNot(theirs)) => mine == theirs,
            (Self::IsNot(_), Self::Is(_)) => false,
        }
    }
}

fn test_implies(mine: &Test, theirs: &Test) -> bool {
    match (mine, theirs) {
        (Test::In(mine), Test::In(theirs)) => mine.iter().all(|value| theirs.contains(value)),
        (Test::In(mine), Test::NotIn(theirs)) => mine.iter().all(|value| !theirs.contains(value)),
        (Test::NotIn(mine), Test::NotIn(theirs)) => theirs.iter().all(|value| mine.contains(value)),
        (Test::In(_) | Test::Exists, Test::Exists)
        | (Test::DoesNotExist, Test::DoesNotExist | Test::NotIn(_)) => true,
        (Test::NotIn(_), Test::In(_) | Test::Exists | Test::DoesNotExist)
        | (Test::Exists, Test::In(_) | Test::NotIn(_) | Test::DoesNotExist)
        | (Test::DoesNotExist, Test::In(_) | Test::Exists)
        | (Test::In(_), Test::DoesNotExist)
        | (Test::Unread, _)
        | (_, Test::Unread) => false,
    }
}

/// What a label names, from the narrowest on. Kubernetes and drivers end their labels alike:
/// `topology.kubernetes.io/zone`, `topology.gke.io/zone`, `topology.ebs.csi.aws.com/zone`.
///
/// Kubernetes: `csi-translation-lib/plugins`, which replaces one of them by another.
const SPANS: [&str; 3] = ["hostname", "zone", "region"];

/// Returns whether `wider` is another label, for places at least as large.
fn spans_more(key: &str, wider: &str) -> bool {
    let span = |key: &str| {
        let (_, name) = key.rsplit_once('/')?;
        SPANS.iter().position(|span| *span == name)
    };
    key != wider && span(key).zip(span(wider)).is_some_and(|(old, new)| new >= old)
}

/// The label that replaced a beta label.
///
/// Kubernetes: `betaToGALabel` of `pkg/apis/core/validation`, 1.36.3.
pub fn stable_label(key: &str) -> Option<&'static str> {
    Some(match key {
        "failure-domain.beta.kubernetes.io/zone" => "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region" => "topology.kubernetes.io/region",
        "beta.kubernetes.io/os" => "kubernetes.io/os",
        "beta.kubernetes.io/arch" => "kubernetes.io/arch",
        "beta.kubernetes.io/instance-type" => "node.kubernetes.io/instance-type",
        _ => return None,
    })
}

//! What a pod asks of its node, and what keeps it from one: the part of the scheduler's filters that does not
//! depend on what else runs.
//!
//! Kubernetes: `pkg/scheduler/framework/plugins`: `nodeaffinity`, `tainttoleration`, `nodeunschedulable`. Not
//! here: resources, ports, affinity between pods, and what is only preferred.

use std::fmt;

use super::selector::Term;
use super::topology::{Node, NodeAffinity};

/// What a pod asks of its node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraints {
    /// `spec.nodeSelector`: labels that the node must all have.
    pub selector: Vec<Term>,
    /// `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`.
    pub affinity: NodeAffinity,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
}

/// A taint that the pod bears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    /// The key; empty bears every key.
    pub key: Box<str>,
    /// The value; none bears every value (`Exists`).
    pub value: Option<Box<str>>,
    /// The effect; empty bears every effect.
    pub effect: Box<str>,
}

/// A taint of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// The key.
    pub key: Box<str>,
    /// The value; empty if there is none.
    pub value: Box<str>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: Box<str>,
}

/// A node, as a scheduler looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name and labels.
    pub node: Node,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `spec.unschedulable`: it is cordoned.
    pub is_cordoned: bool,
}

/// Why a pod cannot go to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The node does not have this label of `nodeSelector`.
    Selector(String),
    /// No term of the required node affinity admits the node.
    Affinity,
    /// The node has this taint, which the pod does not tolerate.
    Taint(Taint),
    /// The node is cordoned.
    Cordoned,
}

/// What a cordoned node is tainted with besides, by the node controller.
const CORDON: &str = "node.kubernetes.io/unschedulable";

impl Constraints {
    /// Everything that keeps the pod from `host`.
    pub fn obstacles(&self, host: &Host) -> Vec<Obstacle> {
        let labels = self.selector.iter().filter(|term| !term.matches(&host.node.labels));
        let mut found: Vec<Obstacle> =
            labels.map(|term| Obstacle::Selector(term.to_string())).collect();
        found.extend((!self.affinity.admits(&host.node)).then_some(Obstacle::Affinity));
        found.extend((!self.passes_cordon(host)).then_some(Obstacle::Cordoned));
        let taints = host.taints.iter().filter(|taint| {
            let is_hard = matches!(&*taint.effect, "NoSchedule" | "NoExecute");
            is_hard && *taint.key != *CORDON && !self.tolerates(taint)
        });
        found.extend(taints.cloned().map(Obstacle::Taint));
        found
    }

    /// Returns whether `host` is not cordoned, or the pod tolerates that it is.
    ///
    /// Kubernetes: `nodeunschedulable/node_unschedulable.go`.
    pub fn passes_cordon(&self, host: &Host) -> bool {
        let cordon = || Taint { key: CORDON.into(), value: "".into(), effect: "NoSchedule".into() };
        !host.is_cordoned || self.tolerates(&cordon())
    }

    /// Returns whether the pod's `nodeSelector` and its required node affinity admit the node. Taints and cordons do not
    /// count.
    pub fn selects(&self, node: &Node) -> bool {
        self.selector.iter().all(|term| term.matches(&node.labels)) && self.affinity.admits(node)
    }

    /// Kubernetes: `api/core/v1/toleration.go`, `ToleratesTaint`.
    fn tolerates(&self, taint: &Taint) -> bool {
        self.tolerations.iter().any(|toleration| {
            let is_effect = toleration.effect.is_empty() || toleration.effect == taint.effect;
            let is_key = toleration.key.is_empty() || toleration.key == taint.key;
            let is_value = toleration.value.as_ref().is_none_or(|value| *value == taint.value);
            is_effect && is_key && is_value
        })
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Selector(term) => write!(f, "nodeSelector {term} does not match"),
            Self::Affinity => f.write_str("the pod's required node affinity does not match"),
            Self::Taint(Taint { key, value, effect }) if value.is_empty() => {
                write!(f, "taint {key}:{effect} is not tolerated")
            }
            Self::Taint(Taint { key, value, effect }) => {
                write!(f, "taint {key}={value}:{effect} is not tolerated")
            }
            Self::Cordoned => f.write_str("the node is cordoned"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Labels;

    fn host(labels: &[(&str, &str)], taints: &[(&str, &str, &str)]) -> Host {
        let labels: Labels = labels.iter().copied().collect();
        let taint = |(key, value, effect): &(&str, &str, &str)| Taint {
            key: (*key).into(),
            value: (*value).into(),
            effect: (*effect).into(),
        };
        let node = Node { name: "n1".into(), labels };
        Host { node, taints: taints.iter().map(taint).collect(), is_cordoned: false }
    }

    fn obstacles(constraints: &Constraints, host: &Host) -> Vec<String> {
        constraints.obstacles(host).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn labels_taints_and_a_cordon_keep_a_pod_from_a_node() {
        let selector = vec![Term::equals("disk", "ssd").unwrap()];
        let pod = Constraints { selector, ..Constraints::default() };
        let free = host(&[("disk", "ssd")], &[("spot", "", "PreferNoSchedule")]);
        assert_eq!(obstacles(&pod, &free), [""; 0]);
        let taints =
            [("gpu", "a", "NoSchedule"), ("old", "", "NoExecute"), (CORDON, "", "NoSchedule")];
        let other = Host { is_cordoned: true, ..host(&[], &taints) };
        assert_eq!(
            obstacles(&pod, &other),
            [
                "nodeSelector disk=ssd does not match",
                "the node is cordoned",
                "taint gpu=a:NoSchedule is not tolerated",
                "taint old:NoExecute is not tolerated",
            ]
        );
        let affinity = NodeAffinity::Required(Vec::new());
        let nowhere = Constraints { affinity, ..Constraints::default() };
        assert_eq!(obstacles(&nowhere, &free), ["the pod's required node affinity does not match"]);
    }

    #[test]
    fn a_toleration_bears_the_keys_values_and_effects_that_it_names_or_all() {
        let tainted = host(&[], &[("gpu", "a", "NoSchedule")]);
        let bears = |key: &str, value: Option<&str>, effect: &str| {
            let value = value.map(Into::into);
            let toleration = Toleration { key: key.into(), value, effect: effect.into() };
            let pod = Constraints { tolerations: vec![toleration], ..Constraints::default() };
            obstacles(&pod, &tainted).is_empty()
        };
        assert!(
            bears("", None, "") && bears("gpu", None, "") && bears("gpu", Some("a"), "NoSchedule")
        );
        assert!(!bears("gpu", Some("b"), "") && !bears("cpu", None, ""));
        assert!(!bears("gpu", Some("a"), "NoExecute"));
    }
}

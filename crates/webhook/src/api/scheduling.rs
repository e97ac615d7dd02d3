//! What a pod asks of its node, and what a node keeps off: wire form to model.

use serde::de::Error;

use super::bounded::{LabelUse, List, MatchLabels, OptionalText, Text, parse, wire};
use super::node::node;
use super::topology::{NodeSelectorWire, affinity};
use crate::model::{Constraints, Host, NodeAffinity, Taint, Term, Toleration};

wire! {
    struct PodWire<'a> {
        spec: PodSpec<'a> = "spec",
    }

    struct PodSpec<'a> {
        node_selector: MatchLabels = "nodeSelector",
        affinity: Option<AffinityWire<'a>> = "affinity",
        tolerations: List<TolerationWire<'a>> = "tolerations",
    }

    struct AffinityWire<'a> {
        node_affinity: Option<NodeAffinityWire<'a>> = "nodeAffinity",
    }

    struct NodeAffinityWire<'a> {
        required: Option<NodeSelectorWire<'a>> = "requiredDuringSchedulingIgnoredDuringExecution",
    }

    struct TolerationWire<'a> {
        key: Option<Text<'a>> = "key",
        operator: Option<Text<'a>> = "operator",
        value: Option<Text<'a>> = "value",
        effect: Option<Text<'a>> = "effect",
    }

    struct NodeWire<'a> {
        spec: NodeSpec<'a> = "spec",
    }

    struct NodeSpec<'a> {
        unschedulable: bool = "unschedulable",
        taints: List<TaintWire<'a>> = "taints",
    }

    struct TaintWire<'a> {
        key: Option<Text<'a>> = "key",
        value: Option<Text<'a>> = "value",
        effect: Option<Text<'a>> = "effect",
    }
}

/// Reads from a pod's JSON text what it asks of its node; an error for one that cannot be read whole.
pub fn constraints(pod: &str) -> Result<Constraints, serde_json::Error> {
    let wire = parse::<PodWire<'_>>(pod, LabelUse::Collect)?;
    if wire.is_cut {
        return Err(serde_json::Error::custom("the pod asks for more than is read of one pod"));
    }
    let spec = wire.value.spec;
    let labels = spec.node_selector.0.iter().map(|(key, value)| Term::equals(key, value));
    let selector: Result<Vec<Term>, _> = labels.collect();
    let selector = selector.map_err(|error| serde_json::Error::custom(error.to_string()))?;
    let required = spec.affinity.and_then(|wire| wire.node_affinity?.required);
    let tolerations = spec.tolerations.0.iter().map(|wire| {
        let is_any = wire.operator.as_ref().is_some_and(|operator| operator.0 == "Exists");
        let value = (!is_any).then(|| wire.value.or_empty().into());
        Toleration { key: wire.key.or_empty().into(), value, effect: wire.effect.or_empty().into() }
    });
    Ok(Constraints {
        selector,
        affinity: required.map_or(NodeAffinity::Unrestricted, |wire| affinity(&wire)),
        tolerations: tolerations.collect(),
    })
}

/// Reads a node as a scheduler looks at it from its JSON text.
pub fn host(text_of_node: &str) -> Result<Host, serde_json::Error> {
    let wire = parse::<NodeWire<'_>>(text_of_node, LabelUse::Skip)?;
    if wire.is_cut {
        return Err(serde_json::Error::custom(
            "the node has more taints than are read of one node",
        ));
    }
    let spec = wire.value.spec;
    let taints = spec.taints.0.iter().map(|wire| Taint {
        key: wire.key.or_empty().into(),
        value: wire.value.or_empty().into(),
        effect: wire.effect.or_empty().into(),
    });
    Ok(Host {
        node: node(text_of_node)?,
        taints: taints.collect(),
        is_cordoned: spec.unschedulable,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Obstacle;

    #[test]
    fn a_pod_and_a_node_are_read_with_what_keeps_them_apart() {
        let pod = json!({"metadata": {"name": "web"}, "spec": {
            "nodeSelector": {"disk": "ssd"},
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}},
            "tolerations": [{"operator": "Exists", "key": "gpu"}, {"key": "old", "value": "x", "effect": "NoExecute"}],
        }});
        let node = json!({"metadata": {"name": "n1", "labels": {"zone": "b"}}, "spec": {
            "unschedulable": true,
            "taints": [{"key": "gpu", "value": "y", "effect": "NoSchedule"}, {"key": "old", "value": "z", "effect": "NoExecute"}],
        }});
        let pod = constraints(&pod.to_string()).unwrap();
        let found = pod.obstacles(&host(&node.to_string()).unwrap());
        let taint = Taint { key: "old".into(), value: "z".into(), effect: "NoExecute".into() };
        let expected = [
            Obstacle::Selector("disk=ssd".to_owned()),
            Obstacle::Affinity,
            Obstacle::Cordoned,
            Obstacle::Taint(taint),
        ];
        assert_eq!(found, expected);
        let plain = constraints("{\"spec\": {\"affinity\": {\"podAffinity\": {}}}}").unwrap();
        assert_eq!(plain, Constraints::default());
    }
}

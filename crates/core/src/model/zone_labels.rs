//! Zone labels of a volume, which keep its pods in its zone beside its node affinity.

use super::annotations::TOPOLOGY_LABELS;
use super::selector::Labels;
use super::topology::{Node, stable_label};

/// The separator of the zones in one label.
///
/// Kubernetes: `k8s.io/cloud-provider/volume/constants.go`, `LabelMultiZoneDelimiter`.
const DELIMITER: &str = "__";

/// Returns whether the zone labels of a volume admit the node. A node without any such label is in every zone, and a
/// beta label of the volume is compared with the label that replaced it where the node has no beta label.
///
/// Kubernetes: `pkg/scheduler/framework/plugins/volumezone/volume_zone.go`, `Filter`.
pub(super) fn admit(volume: &Labels, node: &Node) -> bool {
    let label = |key: &str| node.labels.get(key);
    let is_placed = TOPOLOGY_LABELS.iter().any(|key| label(key).is_some());
    let admits = |key: &&str| {
        let Some(wanted) = volume.get(key).and_then(zones) else { return true };
        let own = label(key).or_else(|| label(stable_label(key)?));
        own.is_some_and(|own| wanted.contains(&own))
    };
    !is_placed || TOPOLOGY_LABELS.iter().all(admits)
}

/// The zones in a label; nothing if one of them is empty: then the label does not count.
///
/// Kubernetes: `k8s.io/cloud-provider/volume/helpers/zones.go`, `LabelZonesToSet`.
fn zones(value: &str) -> Option<Vec<&str>> {
    let zones: Vec<&str> = value.split(DELIMITER).map(str::trim).collect();
    (!zones.contains(&"")).then_some(zones)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONE: &str = "topology.kubernetes.io/zone";
    const REGION: &str = "topology.kubernetes.io/region";
    const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";

    /// Upstream's own table is `volume_zone_test.go`.
    #[test]
    fn a_node_is_admitted_as_the_scheduler_admits_it() {
        for (volume, node, expected) in [
            (&[][..], &[(ZONE, "a")][..], true),
            (&[(ZONE, "a")], &[(ZONE, "a")], true),
            (&[(ZONE, "a")], &[(ZONE, "b")], false),
            (&[(ZONE, "a__b")], &[(ZONE, "b")], true),
            (&[(ZONE, "a__b")], &[(ZONE, "c")], false),
            (&[(ZONE, "a____b")], &[(ZONE, "c")], true),
            (&[(ZONE, "a")], &[("other", "a")], true),
            (&[(ZONE, "a")], &[(REGION, "r")], false),
            (&[(ZONE, "a"), (REGION, "r")], &[(ZONE, "a"), (REGION, "r")], true),
            (&[(ZONE, "a"), (REGION, "r")], &[(ZONE, "a"), (REGION, "s")], false),
            (&[(BETA_ZONE, "a")], &[(ZONE, "a")], true),
            (&[(BETA_ZONE, "a")], &[(ZONE, "b")], false),
            (&[(BETA_ZONE, "a")], &[(BETA_ZONE, "b"), (ZONE, "a")], false),
            (&[(ZONE, "a")], &[(BETA_ZONE, "a")], false),
        ] {
            let labels: Labels = node.iter().copied().collect();
            let node = Node { name: "n".into(), labels };
            let volume: Labels = volume.iter().copied().collect();
            assert_eq!(admit(&volume, &node), expected, "{volume:?} {node:?}");
        }
    }
}

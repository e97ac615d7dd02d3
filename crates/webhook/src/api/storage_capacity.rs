//! `CSIStorageCapacity`: wire form to model.

use serde::de::Error;

use super::bounded::{LabelUse, OptionalText, Section, Text, parse, wire};
use super::topology::{SelectorWire, selector};
use crate::model::{ClassName, Quantity, Selector, StorageCapacity};

wire! {
    struct CapacityObjectWire<'a> {
        storage_class_name: Option<Text<'a>> = "storageClassName",
        node_topology: Option<Section<SelectorWire<'a>>> = "nodeTopology",
        capacity: Option<Quantity> = "capacity",
        maximum_volume_size: Option<Quantity> = "maximumVolumeSize",
    }
}

/// Reads a `CSIStorageCapacity` from its JSON text. A selector that means nothing admits no node.
///
/// Kubernetes: `volumebinding/binder.go`, `nodeHasAccess`.
pub fn storage_capacity(text: &str) -> Result<StorageCapacity, serde_json::Error> {
    let wire: CapacityObjectWire<'_> = parse(text, LabelUse::Collect)?.value;
    let nodes = match wire.node_topology {
        Some(topology) if topology.is_cut => {
            return Err(serde_json::Error::custom("nodeTopology is larger than is read"));
        }
        Some(topology) => selector(topology.value).unwrap_or_else(|_| Selector::unread()),
        None => Selector::unread(),
    };
    Ok(StorageCapacity {
        class: ClassName::new(wire.storage_class_name.or_empty()),
        nodes,
        volume_max: wire.maximum_volume_size.or(wire.capacity),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Labels;

    #[test]
    fn the_largest_volume_and_the_nodes_are_read() {
        let on_a: Labels = [("zone", "a")].into_iter().collect();
        for (fields, limit, admits) in [
            (json!({"capacity": "10Gi"}), Some("10Gi"), false),
            (
                json!({"capacity": "10Gi", "maximumVolumeSize": "1Gi", "nodeTopology": {}}),
                Some("1Gi"),
                true,
            ),
            (json!({"nodeTopology": {"matchLabels": {"zone": "a"}}}), None, true),
            (
                json!({"nodeTopology": {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}}),
                None,
                false,
            ),
            (
                json!({"nodeTopology": {"matchExpressions": [{"key": "zone", "operator": "Near", "values": ["a"]}]}}),
                None,
                false,
            ),
        ] {
            let mut object =
                json!({"metadata": {"namespace": "x", "name": "y"}, "storageClassName": "fast"});
            json_patch::merge(&mut object, &fields);
            let read = storage_capacity(&object.to_string()).unwrap();
            let limit = limit.map(|text| Quantity::parse(text).unwrap());
            assert_eq!((read.class.as_str(), read.volume_max), ("fast", limit), "{fields}");
            assert_eq!(read.nodes.matches(&on_a), admits, "{fields}");
        }
    }
}

//! VolumeAttachment, CSIDriver, CSINode, and the state of a Node: wire form to model.

use serde::de::{Error, SeqAccess};

use super::bounded::{
    LabelUse, List, OptionalText, Parse, ParseBudget, Seed, Text, WireCollection, parse,
    parsed_as_collection, wire,
};
use super::metadata::Metadata;
use crate::model::{
    CsiDriver, CsiNode, Node, NodeObject, NodeReport, NodeState, NodeVolumeStatus, OUT_OF_SERVICE,
    RegisteredDriver, VolumeAttachment, VolumeName,
};

wire! {
    /// A VolumeAttachment as it is sent.
    #[derive(Debug)]
    pub(super) struct AttachmentWire<'a> {
        metadata: Metadata<'a> = "metadata",
        spec: AttachmentSpec<'a> = "spec",
        status: AttachmentStatus<'a> = "status",
    }

    #[derive(Debug)]
    pub(super) struct AttachmentSpec<'a> {
        attacher: Option<Text<'a>> = "attacher",
        node_name: Option<Text<'a>> = "nodeName",
        source: AttachmentSource<'a> = "source",
    }

    #[derive(Debug)]
    pub(super) struct AttachmentSource<'a> {
        persistent_volume_name: Option<Text<'a>> = "persistentVolumeName",
    }

    #[derive(Debug)]
    pub(super) struct AttachmentStatus<'a> {
        attached: bool = "attached",
        attach_error: Option<AttachErrorWire<'a>> = "attachError",
        detach_error: Option<AttachErrorWire<'a>> = "detachError",
    }

    #[derive(Debug)]
    pub(super) struct AttachErrorWire<'a> {
        message: Option<Text<'a>> = "message",
    }

    /// A CSIDriver as it is sent.
    #[derive(Debug)]
    pub(super) struct DriverWire<'a> {
        metadata: Metadata<'a> = "metadata",
        spec: DriverSpec = "spec",
    }

    #[derive(Debug)]
    pub(super) struct DriverSpec {
        attach_required: Option<bool> = "attachRequired",
        storage_capacity: Option<bool> = "storageCapacity",
    }

    struct CsiNodeWire<'a> {
        metadata: Metadata<'a> = "metadata",
        spec: CsiNodeSpec<'a> = "spec",
    }

    struct CsiNodeSpec<'a> {
        drivers: List<RegisteredWire<'a>> = "drivers",
    }

    struct RegisteredWire<'a> {
        name: Option<Text<'a>> = "name",
        allocatable: Option<AllocatableWire> = "allocatable",
    }

    struct AllocatableWire {
        count: Option<i64> = "count",
    }

    /// A Node as it is sent.
    #[derive(Debug)]
    pub(super) struct NodeWire<'a> {
        metadata: Metadata<'a> = "metadata",
        spec: NodeSpec = "spec",
        status: NodeStatus = "status",
    }

    #[derive(Debug)]
    pub(super) struct NodeSpec {
        taints: Taints = "taints",
    }

    #[derive(Debug)]
    pub(super) struct TaintWire<'a> {
        key: Option<Text<'a>> = "key",
    }

    #[derive(Debug)]
    pub(super) struct NodeStatus {
        conditions: Conditions = "conditions",
    }

    #[derive(Debug)]
    pub(super) struct ConditionWire<'a> {
        r#type: Option<Text<'a>> = "type",
        status: Option<Text<'a>> = "status",
        reason: Option<Text<'a>> = "reason",
    }
}

wire! {
    /// A Node with its volumes.
    struct NodeVolumesWire<'a> {
        metadata: ManagedMetadata = "metadata",
        status: NodeVolumeLists<'a> = "status",
    }

    struct ManagedMetadata {
        annotations: Option<ManagedAnnotations> = "annotations",
    }

    struct ManagedAnnotations {
        is_managed: Option<String> = "volumes.kubernetes.io/controller-managed-attach-detach",
    }

    struct NodeVolumeLists<'a> {
        conditions: Conditions = "conditions",
        volumes_in_use: List<Text<'a>> = "volumesInUse",
        volumes_attached: List<AttachedWire<'a>> = "volumesAttached",
    }

    struct AttachedWire<'a> {
        name: Option<Text<'a>> = "name",
    }
}

/// Whether a node is declared out of service, however many other taints it has.
#[derive(Debug, Default)]
pub(super) struct Taints {
    is_out_of_service: bool,
}

impl<'de> WireCollection<'de> for Taints {
    const EXPECTED: &'static str = "a list of taints";

    fn from_seq<A: SeqAccess<'de>>(
        budget: &ParseBudget<'_>,
        mut items: A,
    ) -> Result<Self, A::Error> {
        let mut is_out_of_service = false;
        while let Some(taint) = items.next_element_seed(Seed::<TaintWire<'_>>::new(budget))? {
            is_out_of_service |= taint.key.or_empty() == OUT_OF_SERVICE;
        }
        Ok(Self { is_out_of_service })
    }
}

parsed_as_collection!(Taints);

/// Whether a node is Ready, however many other conditions it has.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    is_ready: bool,
    /// Whether a kubelet has said whether it is. A snapshot tells only what it said.
    is_reported: bool,
}

impl<'de> WireCollection<'de> for Conditions {
    const EXPECTED: &'static str = "a list of conditions";

    fn from_seq<A: SeqAccess<'de>>(
        budget: &ParseBudget<'_>,
        mut items: A,
    ) -> Result<Self, A::Error> {
        let mut found = Self::default();
        while let Some(one) = items.next_element_seed(Seed::<ConditionWire<'_>>::new(budget))? {
            let is_it = one.r#type.or_empty() == "Ready";
            // Kubernetes: `pkg/kubelet/nodestatus/setters.go` gives a reason, and so does
            // `pkg/controller/nodelifecycle/node_lifecycle_controller.go` where no kubelet ever did.
            let reason = one.reason.or_empty();
            found.is_reported |= is_it && !matches!(reason, "" | "NodeStatusNeverUpdated");
            found.is_ready |= is_it && one.status.or_empty() == "True";
        }
        Ok(found)
    }
}

parsed_as_collection!(Conditions);

/// Parses an object; an error if it is larger than is read of one object, as what is absent would not be known.
fn whole<'a, T: Parse<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    let read = parse(text, LabelUse::Skip)?;
    if read.is_cut {
        return Err(serde_json::Error::custom("the object is larger than is read of one object"));
    }
    Ok(read.value)
}

/// Reads a VolumeAttachment from its JSON text.
pub fn attachment(text: &str) -> Result<VolumeAttachment, serde_json::Error> {
    whole(text).map(attachment_of)
}

/// The VolumeAttachment of an object.
pub(super) fn attachment_of(wire: AttachmentWire<'_>) -> VolumeAttachment {
    let AttachmentWire { metadata, spec, status } = wire;
    let message =
        |error: Option<AttachErrorWire<'_>>| error.map(|error| Box::from(error.message.or_empty()));
    VolumeAttachment {
        name: metadata.name.or_empty().into(),
        driver: spec.attacher.or_empty().into(),
        node: spec.node_name.or_empty().into(),
        volume: spec.source.persistent_volume_name.filled().map(VolumeName::new),
        is_attached: status.attached,
        attach_error: message(status.attach_error),
        detach_error: message(status.detach_error),
        deletion: metadata.deletion(),
        finalizers: metadata.finalizers,
    }
}

/// Reads a CSIDriver from its JSON text.
pub fn csi_driver(text: &str) -> Result<CsiDriver, serde_json::Error> {
    whole(text).map(|wire| csi_driver_of(&wire))
}

/// The CSIDriver of an object.
pub(super) fn csi_driver_of(wire: &DriverWire<'_>) -> CsiDriver {
    let is_attach_required = wire.spec.attach_required.unwrap_or(true);
    let has_storage_capacity = wire.spec.storage_capacity == Some(true);
    CsiDriver {
        name: wire.metadata.name.or_empty().into(),
        is_attach_required,
        has_storage_capacity,
    }
}

/// Reads a CSINode from its JSON text.
pub fn csi_node(text: &str) -> Result<CsiNode, serde_json::Error> {
    let CsiNodeWire { metadata, spec } = whole(text)?;
    let registered = spec.drivers.0.iter().map(|wire| RegisteredDriver {
        name: wire.name.or_empty().into(),
        // Kubernetes: `pkg/apis/storage/validation`: a count is not negative.
        volumes_max: wire.allocatable.as_ref().and_then(|it| u32::try_from(it.count?).ok()),
    });
    Ok(CsiNode { name: metadata.name.or_empty().into(), drivers: registered.collect() })
}

/// Reads from the JSON text of a Node whether its machine still runs.
pub fn node_state(text: &str) -> Result<NodeState, serde_json::Error> {
    let NodeWire { metadata, spec, status } = whole(text)?;
    Ok(state_of(metadata.name.or_empty(), &spec, &status))
}

/// Reads from the JSON text of a Node whether its machine still runs, and what its status says of volumes.
pub fn node_report(text: &str) -> Result<NodeReport, serde_json::Error> {
    let NodeVolumesWire { metadata, status } = whole(text)?;
    let names = |names: List<Text<'_>>| names.0.iter().map(|name| Box::from(&*name.0)).collect();
    let attached = status.volumes_attached.0.iter().map(|one| one.name.or_empty().into());
    let is_managed = metadata.annotations.and_then(|annotations| annotations.is_managed);
    let volumes = NodeVolumeStatus {
        attached: attached.collect(),
        in_use: names(status.volumes_in_use),
        is_controller_managed: is_managed.as_deref() == Some("true"),
    };
    let is_reported = status.conditions.is_reported;
    Ok(NodeReport { state: node_state(text)?, volumes: is_reported.then_some(volumes) })
}

fn state_of(name: &str, spec: &NodeSpec, status: &NodeStatus) -> NodeState {
    NodeState {
        name: name.into(),
        is_ready: status.conditions.is_ready,
        is_out_of_service: spec.taints.is_out_of_service,
    }
}

/// The Node of an object, with its labels as far as they were collected.
pub(super) fn node_object_of(wire: NodeWire<'_>) -> NodeObject {
    let NodeWire { metadata, spec, status } = wire;
    let name = metadata.name.or_empty();
    NodeObject {
        state: state_of(name, &spec, &status),
        deletion: metadata.deletion(),
        node: Node { name: name.into(), labels: metadata.labels.0 },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{Deletion, Finalizers};

    #[test]
    fn an_attachment_is_read_with_what_became_of_it() {
        let text = json!({"metadata": {"name": "csi-1", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"attacher": "d", "nodeName": "n1", "source": {"persistentVolumeName": "pv-a"}},
            "status": {"attached": true, "attachError": {"message": "no disk", "time": null},
                "attachmentMetadata": {"a": "b"}, "detachError": {"time": "2026-01-01T00:00:00Z"}}});
        let expected = VolumeAttachment {
            name: "csi-1".into(),
            driver: "d".into(),
            node: "n1".into(),
            volume: Some(VolumeName::new("pv-a")),
            is_attached: true,
            attach_error: Some("no disk".into()),
            detach_error: Some("".into()),
            deletion: Deletion::Terminating,
            finalizers: Finalizers::default(),
        };
        assert_eq!(attachment(&text.to_string()).unwrap(), expected);
        let inline = json!({"metadata": {"name": "x"}, "spec": {"attacher": "d", "nodeName": "n1",
            "source": {"inlineVolumeSpec": {"csi": {}}}}});
        let read = attachment(&inline.to_string()).unwrap();
        assert_eq!((read.volume, read.is_attached, read.attach_error), (None, false, None));
    }

    #[test]
    fn drivers_are_read_as_objects_and_as_registered_on_a_node() {
        for (spec, is_attach_required, has_storage_capacity) in [
            (json!({}), true, false),
            (json!({"attachRequired": null, "storageCapacity": true}), true, true),
            (json!({"attachRequired": false, "storageCapacity": false}), false, false),
        ] {
            let text = json!({"metadata": {"name": "d"}, "spec": spec}).to_string();
            let read = CsiDriver { name: "d".into(), is_attach_required, has_storage_capacity };
            assert_eq!(csi_driver(&text).unwrap(), read);
        }
        let text = json!({"metadata": {"name": "n1"}, "spec": {"drivers": [
            {"name": "a", "nodeID": "n1", "allocatable": {"count": 25}}, {"name": "b", "nodeID": "n1", "topologyKeys": []},
            {"name": "c", "nodeID": "n1", "allocatable": {}}]}});
        let read = csi_node(&text.to_string()).unwrap();
        let limits: Vec<_> = read.drivers.iter().map(|one| (&*one.name, one.volumes_max)).collect();
        assert_eq!(limits, [("a", Some(25)), ("b", None), ("c", None)]);
        let none = json!({"metadata": {"name": "n1"}, "spec": {"drivers": null}}).to_string();
        assert_eq!(csi_node(&none).unwrap().drivers, []);
    }

    #[test]
    fn a_node_is_ready_only_if_its_kubelet_says_so() {
        let read = |ready: serde_json::Value, taints: serde_json::Value| {
            let conditions = json!([{"type": "MemoryPressure", "status": "False"}, ready]);
            let text = json!({"metadata": {"name": "n1"}, "spec": {"taints": taints}, "status": {"conditions": conditions}});
            let state = node_state(&text.to_string()).unwrap();
            (state.is_ready, state.is_out_of_service)
        };
        let ready = |status: &str| json!({"type": "Ready", "status": status});
        assert_eq!(read(ready("True"), json!(null)), (true, false));
        assert_eq!(read(ready("Unknown"), json!([])), (false, false));
        assert_eq!(read(json!({"type": "Other", "status": "True"}), json!([])), (false, false));
        let taint =
            json!([{"key": "a"}, {"key": OUT_OF_SERVICE, "value": "x", "effect": "NoExecute"}]);
        assert_eq!(read(ready("False"), taint), (false, true));
    }

    /// Before a kubelet has reported, that a list is absent proves nothing.
    #[test]
    fn the_volumes_of_a_node_are_known_once_its_kubelet_has_reported() {
        let managed = json!({"volumes.kubernetes.io/controller-managed-attach-detach": "true"});
        let read = |annotations: &serde_json::Value, status: &serde_json::Value| {
            let text =
                json!({"metadata": {"name": "n1", "annotations": annotations}, "status": status});
            node_report(&text.to_string()).unwrap().volumes
        };
        let ready =
            |reason: &str| json!([{"type": "Ready", "status": "Unknown", "reason": reason}]);
        let conditions = ready("NodeStatusUnknown");
        let lists = json!({"conditions": conditions, "volumesInUse": ["a", "b"],
            "volumesAttached": [{"name": "a", "devicePath": ""}]});
        let expected = NodeVolumeStatus {
            in_use: vec!["a".into(), "b".into()],
            attached: vec!["a".into()],
            is_controller_managed: true,
        };
        assert_eq!(read(&managed, &lists), Some(expected));
        let none = json!({"conditions": conditions, "volumesInUse": null});
        assert_eq!(read(&json!(null), &none), Some(NodeVolumeStatus::default()));
        let never = json!({"conditions": ready("NodeStatusNeverUpdated")});
        let of_snapshot = json!({"conditions": ready("")});
        for unreported in [json!({}), json!({"conditions": []}), never, of_snapshot] {
            assert_eq!(read(&managed, &unreported), None, "{unreported}");
        }
    }

    #[test]
    fn what_is_too_large_to_be_read_whole_is_an_error() {
        let drivers: Vec<_> =
            (0..50_000).map(|number| json!({"name": format!("d-{number}")})).collect();
        let text = json!({"metadata": {"name": "n1"}, "spec": {"drivers": drivers}}).to_string();
        assert!(csi_node(&text).is_err());
    }
}

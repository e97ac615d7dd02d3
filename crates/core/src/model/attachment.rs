//! What attaching a volume to a node leaves in the API: attachments, drivers, and the drivers and state of nodes.

use super::finalizers::Finalizers;
use super::metadata::Deletion;
use super::names::{ClassName, VolumeName};
use super::quantity::Quantity;
use super::selector::Selector;
use super::topology::Node;

/// A VolumeAttachment: the request to attach a volume to a node, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeAttachment {
    /// Its name.
    pub name: Box<str>,
    /// `spec.attacher`: the CSI driver.
    pub driver: Box<str>,
    /// `spec.nodeName`.
    pub node: Box<str>,
    /// `spec.source.persistentVolumeName`; absent for a volume that only its pod describes.
    pub volume: Option<VolumeName>,
    /// `status.attached`: the driver has attached it, and has not begun to detach it.
    pub is_attached: bool,
    /// The message of `status.attachError`, of the last attempt that failed.
    pub attach_error: Option<Box<str>>,
    /// The message of `status.detachError`.
    pub detach_error: Option<Box<str>>,
    /// Whether it is being deleted: the volume is to be detached.
    pub deletion: Deletion,
    /// Its finalizers; that of the driver keeps it until the volume is detached.
    pub finalizers: Finalizers,
}

/// A CSIDriver object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiDriver {
    /// Its name, which is the driver's.
    pub name: Box<str>,
    /// `spec.attachRequired`; true where absent.
    pub is_attach_required: bool,
    /// `spec.storageCapacity`: the scheduler looks at its `CSIStorageCapacity` objects; false where absent.
    pub has_storage_capacity: bool,
}

/// A `CSIStorageCapacity` object: how large a volume a class can have on some nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageCapacity {
    /// `storageClassName`.
    pub class: ClassName,
    /// `nodeTopology`: the nodes that reach the storage. Absent, it matches none.
    pub nodes: Selector,
    /// `maximumVolumeSize`, else `capacity`; nothing is free where both are absent.
    ///
    /// Kubernetes: `volumebinding/binder.go`, `volumeLimit`.
    pub volume_max: Option<Quantity>,
}

/// A CSINode object: the drivers whose node plugin runs on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiNode {
    /// Its name, which is the node's.
    pub name: Box<str>,
    /// `spec.drivers`.
    pub drivers: Vec<RegisteredDriver>,
}

/// A driver that the kubelet of a node has registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredDriver {
    /// The driver.
    pub name: Box<str>,
    /// `allocatable.count`: so many of its volumes can be attached to the node at a time; absent for no limit.
    pub volumes_max: Option<u32>,
}

/// A Node, as far as it says whether its machine still runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeState {
    /// Its name.
    pub name: Box<str>,
    /// Whether its kubelet reports that it is ready.
    pub is_ready: bool,
    /// Whether it has the taint `node.kubernetes.io/out-of-service`, by which a person states that its machine does not
    /// run.
    pub is_out_of_service: bool,
}

/// A Node with what its status says of volumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReport {
    /// Whether its machine still runs.
    pub state: NodeState,
    /// Its volumes; absent before a kubelet has reported, as their absence proves nothing then.
    pub volumes: Option<NodeVolumeStatus>,
}

/// The volumes in the status of a Node, by their unique names. A unique name of a CSI volume is
/// `kubernetes.io/csi/DRIVER^HANDLE`.
///
/// Kubernetes: `pkg/volume/util/util.go`, `GetUniqueVolumeName`, and `pkg/volume/csi/csi_plugin.go`, `GetVolumeName`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeVolumeStatus {
    /// `status.volumesInUse`, which the kubelet writes before it mounts a volume and clears after it has unmounted it.
    ///
    /// Kubernetes: `pkg/kubelet/volumemanager/volume_manager.go`, `GetVolumesInUse`.
    pub in_use: Vec<Box<str>>,
    /// The names in `status.volumesAttached`, which the attach/detach controller writes.
    pub attached: Vec<Box<str>>,
    /// Whether the attach/detach controller attaches to the node, and not its kubelet.
    ///
    /// Kubernetes: `pkg/volume/util/types`, annotation `volumes.kubernetes.io/controller-managed-attach-detach`.
    pub is_controller_managed: bool,
}

/// The taint by which a person states that the machine of a node does not run.
///
/// Kubernetes: `staging/src/k8s.io/api/core/v1/well_known_taints.go`; the attach/detach controller asks for the key only.
pub const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// A Node that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeObject {
    /// Its name and its labels.
    pub node: Node,
    /// Whether its machine still runs.
    pub state: NodeState,
    /// Whether it is being deleted.
    pub deletion: Deletion,
}

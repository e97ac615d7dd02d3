//! Which resources the simulated server serves.
//!
//! One row per resource; a new one is one line. What is particular to a kind is its
//! [`Strategy`]; `PlainStrategy` has nothing particular.

use super::kinds::{
    AttachmentStrategy, ClaimStrategy, ClassStrategy, EventStrategy, LeaseStrategy,
    NamespaceStrategy, NodeStrategy, PlainStrategy, PodStrategy, Strategy, VolumeStrategy,
};
use super::resource::{CLASSES, NAMESPACES, ResourceType};

/// A resource that is served.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) resource: ResourceType,
    pub(super) strategy: &'static dyn Strategy,
}

/// Every resource that is served.
pub(super) static TABLE: &[Served] = &[
    row(core("persistentvolumes", "PersistentVolume").with(&["status"]), &VolumeStrategy),
    row(
        core("persistentvolumeclaims", "PersistentVolumeClaim").in_namespaces().with(&["status"]),
        &ClaimStrategy,
    ),
    row(CLASSES, &ClassStrategy),
    row(
        ResourceType::of("storage.k8s.io", "volumeattachments", "VolumeAttachment")
            .with(&["status"]),
        &AttachmentStrategy,
    ),
    row(ResourceType::of("storage.k8s.io", "csidrivers", "CSIDriver"), &PlainStrategy),
    row(
        ResourceType::of(
            "snapshot.storage.k8s.io",
            "volumesnapshotcontents",
            "VolumeSnapshotContent",
        ),
        &PlainStrategy,
    ),
    row(core("pods", "Pod").in_namespaces().with(&["status", "binding"]), &PodStrategy),
    row(NAMESPACES, &NamespaceStrategy),
    row(core("nodes", "Node").with(&["status"]), &NodeStrategy),
    row(ResourceType::of("coordination.k8s.io", "leases", "Lease").in_namespaces(), &LeaseStrategy),
    row(core("events", "Event").in_namespaces(), &EventStrategy),
    row(core("secrets", "Secret").in_namespaces(), &PlainStrategy),
];

const fn row(resource: ResourceType, strategy: &'static dyn Strategy) -> Served {
    Served { resource, strategy }
}

const fn core(plural: &'static str, kind: &'static str) -> ResourceType {
    ResourceType::of("", plural, kind)
}

/// The row of a group and plural name.
pub(super) fn find(group: &str, plural: &str) -> Option<&'static Served> {
    TABLE.iter().find(|row| row.resource.group == group && row.resource.plural == plural)
}

//! Which resources the simulated server serves.
//!
//! One row per resource; a new one is one line. What is particular to a kind is its
//! [`Strategy`]; `PlainStrategy` has nothing particular.

use super::kinds::{
    AttachmentStrategy, ClaimStrategy, ClassStrategy, EventStrategy, LeaseStrategy,
    NamespaceStrategy, NodeStrategy, PlainStrategy, PodStrategy, Strategy, VolumeStrategy,
};

/// Every resource that is served.
pub(super) static TABLE: &[ResourceType] = &[
    ResourceType::of("", "persistentvolumes", "PersistentVolume", &VolumeStrategy)
        .with(&["status"]),
    ResourceType::of("", "persistentvolumeclaims", "PersistentVolumeClaim", &ClaimStrategy)
        .in_namespaces()
        .with(&["status"]),
    ResourceType::of("storage.k8s.io", "storageclasses", "StorageClass", &ClassStrategy),
    ResourceType::of(
        "storage.k8s.io",
        "volumeattachments",
        "VolumeAttachment",
        &AttachmentStrategy,
    )
    .with(&["status"]),
    ResourceType::of("", "pods", "Pod", &PodStrategy).in_namespaces().with(&["status", "binding"]),
    ResourceType::of("", "namespaces", "Namespace", &NamespaceStrategy)
        .with(&["status", "finalize"]),
    ResourceType::of("", "nodes", "Node", &NodeStrategy).with(&["status"]),
    ResourceType::of("coordination.k8s.io", "leases", "Lease", &LeaseStrategy).in_namespaces(),
    ResourceType::of("", "events", "Event", &EventStrategy).in_namespaces(),
    ResourceType::of("", "secrets", "Secret", &PlainStrategy).in_namespaces(),
];

/// One served resource; all are version `v1`.
#[derive(Debug)]
pub(super) struct ResourceType {
    pub(super) group: &'static str,
    pub(super) plural: &'static str,
    pub(super) kind: &'static str,
    pub(super) namespaced: bool,
    pub(super) subresources: &'static [&'static str],
    pub(super) strategy: &'static dyn Strategy,
}

impl ResourceType {
    const fn of(
        group: &'static str,
        plural: &'static str,
        kind: &'static str,
        strategy: &'static dyn Strategy,
    ) -> Self {
        Self { group, plural, kind, namespaced: false, subresources: &[], strategy }
    }

    const fn in_namespaces(self) -> Self {
        Self { namespaced: true, ..self }
    }

    const fn with(self, subresources: &'static [&'static str]) -> Self {
        Self { subresources, ..self }
    }

    /// The row of a group and plural name.
    pub(super) fn find(group: &str, plural: &str) -> Option<&'static Self> {
        TABLE.iter().find(|row| row.group == group && row.plural == plural)
    }

    /// `apiVersion` of its objects.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { "v1".to_owned() } else { format!("{}/v1", self.group) }
    }

    /// `plural.group`, as errors name it.
    pub(super) fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// `Kind.group`, as errors name it.
    pub(super) fn qualified_kind(&self) -> String {
        if self.group.is_empty() {
            self.kind.to_owned()
        } else {
            format!("{}.{}", self.kind, self.group)
        }
    }

    /// Whether a `/status` path exists, so that the main path leaves the status alone.
    pub(super) fn has_status(&self) -> bool {
        self.subresources.contains(&"status")
    }
}

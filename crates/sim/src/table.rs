//! Which resources the simulated server serves.
//!
//! One row per resource; a new one is one line. What is particular to a kind is its
//! [`Strategy`]; `Plain` has nothing particular.

use super::kinds::{
    Attachment, Claim, Class, Event, Lease, Namespace, Node, Plain, Pod, Strategy, Volume,
};

/// Every resource that is served.
pub(super) static TABLE: &[Resource] = &[
    Resource::of("", "persistentvolumes", "PersistentVolume", &Volume).with(&["status"]),
    Resource::of("", "persistentvolumeclaims", "PersistentVolumeClaim", &Claim)
        .in_namespaces()
        .with(&["status"]),
    Resource::of("storage.k8s.io", "storageclasses", "StorageClass", &Class),
    Resource::of("storage.k8s.io", "volumeattachments", "VolumeAttachment", &Attachment)
        .with(&["status"]),
    Resource::of("", "pods", "Pod", &Pod).in_namespaces().with(&["status", "binding"]),
    Resource::of("", "namespaces", "Namespace", &Namespace).with(&["status", "finalize"]),
    Resource::of("", "nodes", "Node", &Node).with(&["status"]),
    Resource::of("coordination.k8s.io", "leases", "Lease", &Lease).in_namespaces(),
    Resource::of("", "events", "Event", &Event).in_namespaces(),
    Resource::of("", "secrets", "Secret", &Plain).in_namespaces(),
];

/// One served resource; all are version `v1`.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) group: &'static str,
    pub(super) plural: &'static str,
    pub(super) kind: &'static str,
    pub(super) namespaced: bool,
    pub(super) subresources: &'static [&'static str],
    pub(super) strategy: &'static dyn Strategy,
}

impl Resource {
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

    /// `plural.group`, as refusals name it.
    pub(super) fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// `Kind.group`, as refusals name it.
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

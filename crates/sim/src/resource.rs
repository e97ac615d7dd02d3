//! What a served resource is called and where its objects live.

/// The resource of classes, by which admission completes claims.
pub(super) const CLASSES: ResourceType =
    ResourceType::of("storage.k8s.io", "storageclasses", "StorageClass");

/// The resource of namespaces, without which nothing is created in them.
pub(super) const NAMESPACES: ResourceType =
    ResourceType::of("", "namespaces", "Namespace").with(&["status", "finalize"]);

/// One served resource; all are version `v1`.
#[derive(Debug)]
pub(super) struct ResourceType {
    pub(super) group: &'static str,
    pub(super) plural: &'static str,
    pub(super) kind: &'static str,
    pub(super) namespaced: bool,
    pub(super) subresources: &'static [&'static str],
}

impl ResourceType {
    pub(super) const fn of(group: &'static str, plural: &'static str, kind: &'static str) -> Self {
        Self { group, plural, kind, namespaced: false, subresources: &[] }
    }

    pub(super) const fn in_namespaces(self) -> Self {
        Self { namespaced: true, ..self }
    }

    pub(super) const fn with(self, subresources: &'static [&'static str]) -> Self {
        Self { subresources, ..self }
    }

    /// `apiVersion` of its objects.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { "v1".to_owned() } else { format!("{}/v1", self.group) }
    }

    /// `plural.group`, as errors name it.
    pub(super) fn qualified(&self) -> String {
        self.in_group(self.plural)
    }

    /// `Kind.group`, as errors name it.
    pub(super) fn qualified_kind(&self) -> String {
        self.in_group(self.kind)
    }

    /// Returns whether a `/status` path exists, so that the main path leaves the status alone.
    pub(super) fn has_status(&self) -> bool {
        self.subresources.contains(&"status")
    }

    fn in_group(&self, name: &str) -> String {
        if self.group.is_empty() { name.to_owned() } else { format!("{name}.{}", self.group) }
    }
}

//! The resources and operations of requests, as the API server spells them.

/// The resources that rules look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// `persistentvolumes`.
    Volumes,
    /// `persistentvolumeclaims`.
    Claims,
    /// `namespaces`.
    Namespaces,
    /// `storageclasses`.
    Classes,
    /// `volumeattachments`.
    Attachments,
    /// `nodes`.
    Nodes,
    /// `csidrivers`.
    Drivers,
    /// `volumesnapshotcontents`.
    SnapshotContents,
}

impl Resource {
    /// The API group; empty for the core group.
    pub fn group(self) -> &'static str {
        match self {
            Self::Volumes | Self::Claims | Self::Namespaces | Self::Nodes => "",
            Self::Classes | Self::Attachments | Self::Drivers => "storage.k8s.io",
            Self::SnapshotContents => "snapshot.storage.k8s.io",
        }
    }

    /// Returns whether it is a volume, which carries exemptions, or a claim, which names one that does.
    pub fn is_of_pair(self) -> bool {
        match self {
            Self::Volumes | Self::Claims => true,
            Self::Namespaces
            | Self::Classes
            | Self::Attachments
            | Self::Nodes
            | Self::Drivers
            | Self::SnapshotContents => false,
        }
    }
}

/// The operations that rules look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// CREATE.
    Create,
    /// UPDATE of the object.
    Update,
    /// UPDATE through `/status`.
    UpdateStatus,
    /// UPDATE through `/finalize`, which only namespaces have.
    Finalize,
    /// DELETE, single or of a collection.
    Delete,
}

/// Returns how the API server spells a resource with its subresource, and an operation on it.
pub fn spelling(resource: Resource, operation: Operation) -> (String, &'static str) {
    let main = match resource {
        Resource::Volumes => "persistentvolumes",
        Resource::Claims => "persistentvolumeclaims",
        Resource::Namespaces => "namespaces",
        Resource::Classes => "storageclasses",
        Resource::Attachments => "volumeattachments",
        Resource::Nodes => "nodes",
        Resource::Drivers => "csidrivers",
        Resource::SnapshotContents => "volumesnapshotcontents",
    };
    match operation {
        Operation::Create => (main.to_owned(), "CREATE"),
        Operation::Update => (main.to_owned(), "UPDATE"),
        Operation::UpdateStatus => (format!("{main}/status"), "UPDATE"),
        Operation::Finalize => (format!("{main}/finalize"), "UPDATE"),
        Operation::Delete => (main.to_owned(), "DELETE"),
    }
}

//! Which object a value is: kind, namespace and name.

use std::fmt;

use super::metadata::{DEFAULT_NAMESPACE, NamedMetadata};
use crate::binding::{Collection, ObjectKey};
use crate::client::resource::ResourceKind;
use crate::rules::Resource;

/// The kinds that verdicts know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKind {
    /// PersistentVolume.
    Volume,
    /// PersistentVolumeClaim.
    Claim,
    /// StorageClass: read by verdicts; its deletion is judged.
    Class,
    /// Pod: read by verdicts, never judged.
    Pod,
    /// Node: read by verdicts; its deletion is judged, and its taints.
    Node,
    /// Namespace: its deletion is judged, and who it is said to belong to.
    Namespace,
    /// VolumeAttachment: its deletion is judged, and its finalizers.
    Attachment,
    /// CSIDriver: its deletion is judged.
    Driver,
    /// VolumeSnapshotContent: its policy is judged.
    SnapshotContent,
    /// StatefulSet: its `volumeClaimTemplates` are compared with claims; never judged by a rule.
    StatefulSet,
}

/// The two kinds that are bound to each other: of the others no field is validated or filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum PairKind {
    /// PersistentVolume.
    Volume,
    /// PersistentVolumeClaim.
    Claim,
}

impl ObjectKind {
    const ALL: [Self; 10] = [
        Self::Volume,
        Self::Claim,
        Self::Class,
        Self::Pod,
        Self::Node,
        Self::Namespace,
        Self::Attachment,
        Self::Driver,
        Self::SnapshotContent,
        Self::StatefulSet,
    ];

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind that a command line names, as kubectl spells it.
    pub fn from_argument(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "pv" | "persistentvolume" | "persistentvolumes" => Some(Self::Volume),
            "pvc" | "persistentvolumeclaim" | "persistentvolumeclaims" => Some(Self::Claim),
            "ns" | "namespace" | "namespaces" => Some(Self::Namespace),
            "sc" | "storageclass" | "storageclasses" => Some(Self::Class),
            "no" | "node" | "nodes" => Some(Self::Node),
            "volumeattachment" | "volumeattachments" => Some(Self::Attachment),
            "csidriver" | "csidrivers" => Some(Self::Driver),
            "vsc" | "volumesnapshotcontent" | "volumesnapshotcontents" => {
                Some(Self::SnapshotContent)
            }
            _ => None,
        }
    }

    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Volume => "PersistentVolume",
            Self::Claim => "PersistentVolumeClaim",
            Self::Class => "StorageClass",
            Self::Pod => "Pod",
            Self::Node => "Node",
            Self::Namespace => "Namespace",
            Self::Attachment => "VolumeAttachment",
            Self::Driver => "CSIDriver",
            Self::SnapshotContent => "VolumeSnapshotContent",
            Self::StatefulSet => "StatefulSet",
        }
    }

    /// Which of the two kinds it is that are bound to each other, if it is one.
    pub(in crate::cli) fn of_pair(self) -> Option<PairKind> {
        match self {
            Self::Volume => Some(PairKind::Volume),
            Self::Claim => Some(PairKind::Claim),
            Self::Class
            | Self::Pod
            | Self::Node
            | Self::Namespace
            | Self::Attachment
            | Self::Driver
            | Self::SnapshotContent
            | Self::StatefulSet => None,
        }
    }

    /// The collection of its objects.
    pub(in crate::cli) fn collection(self) -> Collection {
        match self {
            Self::Volume => Collection::Volumes,
            Self::Claim => Collection::Claims,
            Self::Class => Collection::Classes,
            Self::Pod => Collection::Pods,
            Self::Node => Collection::Nodes,
            Self::Namespace => Collection::Namespaces,
            Self::Attachment => Collection::Attachments,
            Self::Driver => Collection::Drivers,
            Self::SnapshotContent => Collection::SnapshotContents,
            Self::StatefulSet => Collection::StatefulSets,
        }
    }

    /// The resource of its objects, if rules look at it.
    pub(in crate::cli) fn resource(self) -> Option<Resource> {
        match self {
            Self::Volume => Some(Resource::Volumes),
            Self::Claim => Some(Resource::Claims),
            Self::Class => Some(Resource::Classes),
            Self::Node => Some(Resource::Nodes),
            Self::Namespace => Some(Resource::Namespaces),
            Self::Attachment => Some(Resource::Attachments),
            Self::Driver => Some(Resource::Drivers),
            Self::SnapshotContent => Some(Resource::SnapshotContents),
            Self::Pod | Self::StatefulSet => None,
        }
    }

    /// The resource of its objects, if it is watched.
    pub(in crate::cli) fn watched(self) -> Option<ResourceKind> {
        match self {
            Self::Volume => Some(ResourceKind::Volumes),
            Self::Claim => Some(ResourceKind::Claims),
            Self::Class => Some(ResourceKind::Classes),
            Self::Pod => Some(ResourceKind::Pods),
            Self::Namespace => Some(ResourceKind::Namespaces),
            Self::Node
            | Self::Attachment
            | Self::Driver
            | Self::SnapshotContent
            | Self::StatefulSet => None,
        }
    }

    /// Its apiVersion.
    pub fn version(self) -> &'static str {
        match self {
            Self::Volume | Self::Claim | Self::Pod | Self::Node | Self::Namespace => "v1",
            Self::Class | Self::Attachment | Self::Driver => "storage.k8s.io/v1",
            Self::SnapshotContent => "snapshot.storage.k8s.io/v1",
            Self::StatefulSet => "apps/v1",
        }
    }

    /// Returns whether an object with this kind's name and this apiVersion is one: other API groups have kinds of the same
    /// name. An apiVersion without a group is a mistake rather than another group.
    pub(in crate::cli) fn is_of_group(self, api_version: &str) -> bool {
        let Some((group, _)) = api_version.split_once('/') else { return true };
        self.version().split_once('/').is_some_and(|(own, _)| own == group)
    }

    /// The path of the collection, for a kind that is read one by one from a cluster.
    pub(in crate::cli) fn read_at(self) -> Option<&'static str> {
        match self {
            Self::Namespace => Some("/api/v1/namespaces"),
            Self::Node => Some("/api/v1/nodes"),
            Self::Attachment => Some("/apis/storage.k8s.io/v1/volumeattachments"),
            Self::Driver => Some("/apis/storage.k8s.io/v1/csidrivers"),
            Self::SnapshotContent => {
                Some("/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents")
            }
            Self::Volume | Self::Claim | Self::Class | Self::Pod | Self::StatefulSet => None,
        }
    }

    /// Returns whether its objects live in namespaces.
    pub fn is_namespaced(self) -> bool {
        matches!(self, Self::Claim | Self::Pod | Self::StatefulSet)
    }

    fn short(self) -> &'static str {
        match self {
            Self::Volume => "pv",
            Self::Claim => "pvc",
            Self::Class => "sc",
            Self::Pod => "pod",
            Self::Node => "node",
            Self::Namespace => "ns",
            Self::Attachment => "volumeattachment",
            Self::Driver => "csidriver",
            Self::SnapshotContent => "volumesnapshotcontent",
            Self::StatefulSet => "statefulset",
        }
    }
}

/// One object among all of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectId {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its namespace; empty where the kind has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind.is_namespaced() {
            write!(f, "{}/{}/{}", self.kind.short(), self.namespace, self.name)
        } else {
            write!(f, "{}/{}", self.kind.short(), self.name)
        }
    }
}

impl ObjectId {
    /// The object of this kind and with these metadata, in the namespace in which it would be stored.
    pub(in crate::cli) fn of(kind: ObjectKind, metadata: &NamedMetadata) -> Self {
        let namespace = match &*metadata.namespace {
            _ if !kind.is_namespaced() => "",
            "" => DEFAULT_NAMESPACE,
            namespace => namespace,
        };
        Self { kind, namespace: namespace.to_owned(), name: metadata.name.to_string() }
    }

    /// Reads `pvc/[NAMESPACE/]NAME`, or `pv/NAME` and the like for a kind that is in no namespace.
    pub fn parse(text: &str, namespace: &str) -> Option<Self> {
        let (kind, rest) = text.split_once('/')?;
        let kind = ObjectKind::from_argument(kind)?;
        let (namespace, name) = match (kind.is_namespaced(), rest.split_once('/')) {
            (true, Some((namespace, name))) => (namespace, name),
            (true, None) => (namespace, rest),
            (false, Some(_)) => return None,
            (false, None) => ("", rest),
        };
        let is_whole = !name.is_empty() && !name.contains('/');
        let key = Self { kind, namespace: namespace.to_owned(), name: name.to_owned() };
        is_whole.then_some(key)
    }
}

impl From<&ObjectKey> for ObjectId {
    fn from(key: &ObjectKey) -> Self {
        match key {
            ObjectKey::Volume(name) => volume_key(name.as_str()),
            ObjectKey::Claim(key) => claim_key(&key.namespace, &key.name),
        }
    }
}

/// The key of a volume.
pub fn volume_key(name: &str) -> ObjectId {
    ObjectId { kind: ObjectKind::Volume, namespace: String::new(), name: name.to_owned() }
}

/// The key of a claim.
pub fn claim_key(namespace: &str, name: &str) -> ObjectId {
    ObjectId { kind: ObjectKind::Claim, namespace: namespace.to_owned(), name: name.to_owned() }
}

/// The key of a namespace.
pub fn namespace_key(name: &str) -> ObjectId {
    cluster_key(ObjectKind::Namespace, name)
}

/// The key of a StatefulSet.
pub(in crate::cli) fn stateful_set_key(namespace: &str, name: &str) -> ObjectId {
    let (namespace, name) = (namespace.to_owned(), name.to_owned());
    ObjectId { kind: ObjectKind::StatefulSet, namespace, name }
}

/// The key of a class.
pub(in crate::cli) fn class_key(name: &str) -> ObjectId {
    cluster_key(ObjectKind::Class, name)
}

/// The key of an object of a kind that lives in no namespace.
pub(in crate::cli) fn cluster_key(kind: ObjectKind, name: &str) -> ObjectId {
    ObjectId { kind, namespace: String::new(), name: name.to_owned() }
}

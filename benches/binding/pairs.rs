//! The volumes and claims of a race, by number.
//!
//! Not here: creating them (`users`).

use serde_json::{Value, json};

/// The collection of classes.
pub(crate) const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
/// The collection of volumes.
pub(crate) const VOLUMES: &str = "/api/v1/persistentvolumes";
/// The collection of the claims of a race.
pub(crate) const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";

/// How the pairs differ from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Not at all: any volume fits any claim.
    Like,
    /// Each has a size of its own, the same on both sides.
    Sizes,
    /// Each claim names its volume.
    Named,
}

/// Pairs of one shape under names of their own; they match each other and nothing else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairs {
    /// Their class, and the beginning of their names.
    pub(crate) class: &'static str,
    /// How they differ.
    pub(crate) shape: Shape,
}

impl Pairs {
    /// The name of both sides of a pair.
    pub(crate) fn name(self, number: usize) -> String {
        format!("{}-{number:06}", self.class)
    }

    /// The number in a name, if it is one of theirs.
    pub(crate) fn number(self, name: &str) -> Option<usize> {
        name.strip_prefix(self.class)?.strip_prefix('-')?.parse().ok()
    }

    /// The size of both sides.
    pub(crate) fn size(self, number: usize) -> String {
        match self.shape {
            Shape::Like | Shape::Named => "1Gi".to_owned(),
            Shape::Sizes => format!("{}Mi", 1024 + number),
        }
    }

    /// Their class, as one of volumes that an administrator makes usually is.
    pub(crate) fn storage_class(self) -> Value {
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": self.class},
            "provisioner": "kubernetes.io/no-provisioner",
        })
    }

    /// A free volume.
    pub(crate) fn volume(self, number: usize) -> Value {
        let name = self.name(number);
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": self.size(number)}, "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain", "storageClassName": self.class,
                // An address for documentation: no host has it, and nothing ever mounts it.
                "nfs": {"server": "192.0.2.1", "path": format!("/{name}")},
            },
        })
    }

    /// A claim that waits for its volume.
    pub(crate) fn claim(self, number: usize) -> Value {
        let name = self.name(number);
        let volume = match self.shape {
            Shape::Like | Shape::Sizes => Value::Null,
            Shape::Named => json!(name),
        };
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": self.class,
                "resources": {"requests": {"storage": self.size(number)}}, "volumeName": volume,
            },
        })
    }
}

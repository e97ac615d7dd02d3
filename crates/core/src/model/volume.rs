//! A volume (PersistentVolume) as decisions see it, and its reservation for a claim.
//!
//! Only what some decision reads is here; the wire form lives in `api`.

use arcstr::ArcStr;

use super::access_modes::AccessModes;
use super::annotations::{Annotations, LEGACY_CLASS};
use super::class::VolumeClass;
use super::finalizers::Finalizers;
use super::metadata::{CreationTimestamp, Deletion};
use super::names::{ClaimKey, ClassName, ResourceVersion, Uid, VolumeName};
use super::quantity::Quantity;
use super::selector::Labels;
use super::storage::Storage;
use super::text_enum::text_enum;
use super::topology::{Node, NodeAffinity};
use super::zone_labels;

/// A PersistentVolume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its name; empty in a review of an object whose name is still to be generated.
    pub name: VolumeName,
    /// Its uid; absent before the API server has given one.
    pub uid: Option<Uid>,
    /// Its resourceVersion; absent where none was sent.
    pub version: Option<ResourceVersion>,
    /// When it was created; absent before it is stored.
    pub created: Option<CreationTimestamp>,
    /// Whether it is being deleted.
    pub deletion: Deletion,
    /// Its labels, which claims select by.
    pub labels: Labels,
    /// The annotations that decisions read.
    pub annotations: Annotations,
    /// The finalizers that decisions read.
    pub finalizers: Finalizers,
    /// `spec.capacity.storage`; zero where absent, as the binder reads it.
    pub capacity: Quantity,
    /// `spec.accessModes`.
    pub access_modes: AccessModes,
    /// `spec.volumeMode`.
    pub mode: VolumeMode,
    /// `spec.storageClassName`; empty text and absence are the same for a volume.
    pub class_field: Option<ClassName>,
    /// `spec.volumeAttributesClassName`; empty text and absence are the same.
    pub attributes_class: Option<ClassName>,
    /// `spec.claimRef`.
    pub reservation: Reservation,
    /// The kind that `spec.claimRef` names.
    pub reservation_kind: ReservationKind,
    /// `spec.persistentVolumeReclaimPolicy`.
    pub policy: ReclaimPolicy,
    /// `spec.nodeAffinity`.
    pub node_affinity: NodeAffinity,
    /// What kind of storage is behind it.
    pub backend: Backend,
    /// Which piece of storage; absent where it is unknown or not indexed.
    pub storage: Option<Storage>,
    /// `status.phase`.
    pub phase: VolumePhase,
}

impl Volume {
    /// The class that counts: the legacy annotation, even an empty one, before the field.
    ///
    /// Kubernetes: `pkg/volume/util`, `GetPersistentVolumeClass`.
    pub fn class(&self) -> EffectiveClass {
        match self.annotations.get(LEGACY_CLASS) {
            Some("") => EffectiveClass(None),
            Some(name) => EffectiveClass(Some(ClassName::new(name))),
            None => EffectiveClass(self.class_field.clone()),
        }
    }

    /// Returns whether the scheduler lets a pod that uses the volume go to the node, by its node affinity and its zone
    /// labels.
    pub fn admits(&self, node: &Node) -> bool {
        self.node_affinity.admits(node) && zone_labels::admit(&self.labels, node)
    }

    /// Returns driver and `spec.csi.volumeHandle`; nothing for another kind of storage, or where the storage was not read.
    pub fn csi_handle(&self) -> Option<(&str, &str)> {
        let Backend::Csi(driver) = &self.backend else { return None };
        let place = self.storage.as_ref()?.place();
        Some((driver, place.strip_prefix(&**driver)?.strip_prefix(':')?))
    }
}

/// The class of a volume after the legacy annotation was taken into account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveClass(Option<ClassName>);

impl EffectiveClass {
    /// The class to compare a claim's request with.
    pub fn as_class(&self) -> VolumeClass<'_> {
        match &self.0 {
            None => VolumeClass::Classless,
            Some(name) => VolumeClass::Named(name),
        }
    }
}

text_enum! {
    /// What a volume offers to a pod.
    pub enum VolumeMode {
        /// A mounted file system; what an absent field means.
        Filesystem,
        /// A raw device.
        Block;
        /// A mode of a newer API.
        Newer(ArcStr)
    }
}

/// The claim for which a volume is reserved: `spec.claimRef` as namespace, name and uid.
///
/// Kubernetes looks at these three only; the other keys of the reference mean nothing to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reservation {
    /// Not reserved.
    Free,
    /// For the claim of this name, whichever it will be.
    Named(ClaimKey),
    /// For exactly this claim.
    Held(ClaimKey, Uid),
    /// Namespace or name is missing: no claim can ever take it.
    Incomplete(ClaimKey, Option<Uid>),
}

impl Reservation {
    /// Namespace and name that the reference gives, complete or not.
    pub fn key(&self) -> Option<&ClaimKey> {
        match self {
            Self::Free => None,
            Self::Named(key) | Self::Held(key, _) | Self::Incomplete(key, _) => Some(key),
        }
    }

    /// The uid that the reference gives.
    pub fn uid(&self) -> Option<&Uid> {
        match self {
            Self::Free | Self::Named(_) | Self::Incomplete(_, None) => None,
            Self::Held(_, uid) | Self::Incomplete(_, Some(uid)) => Some(uid),
        }
    }
}

/// The kind of object that a reservation names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReservationKind {
    /// A claim; what an empty kind and apiVersion mean.
    Claim,
    /// Something else, as spelled. The binder treats it as a claim all the same.
    Other(ArcStr),
}

text_enum! {
    /// What happens to a volume when its claim is gone.
    pub enum ReclaimPolicy {
        /// Nothing; what an absent field means.
        Retain,
        /// Volume and storage are deleted.
        Delete,
        /// The files are removed and the volume is offered again.
        Recycle;
        /// A policy of a newer API.
        Newer(ArcStr)
    }
}

/// The storage behind a volume, as far as decisions distinguish it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A volume of this CSI driver.
    Csi(ArcStr),
    /// A path on an NFS server. Kubernetes knows it, to recycle and not to delete.
    Nfs,
    /// Any folder of whatever node a pod runs on.
    HostPath,
    /// A disk or folder of one node.
    Local,
    /// Anything else: no driver grows or deletes it by itself.
    Other,
}

text_enum! {
    /// `status.phase` of a volume.
    pub enum VolumePhase {
        /// Just created; what an absent phase means.
        Pending,
        /// Free to be bound.
        Available,
        /// Bound to a claim.
        Bound,
        /// Its claim is gone.
        Released,
        /// Reclaiming it failed.
        Failed;
        /// Any other text: the API server checks no phase.
        Unknown(ArcStr)
    }
}

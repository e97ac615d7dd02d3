//! A claim (PersistentVolumeClaim) as decisions see it.
//!
//! Only what some decision reads is here; the wire form lives in `api`.

use super::access_modes::AccessModes;
use super::annotations::{Annotations, BIND_COMPLETED, LEGACY_CLASS};
use super::class::ClassRequest;
use super::finalizers::Finalizers;
use super::metadata::{CreationTimestamp, Deletion};
use super::names::{ClaimKey, ClassName, ResourceVersion, Uid, VolumeName};
use super::quantity::Quantity;
use super::selector::Selector;
use super::text_enum::text_enum;
use super::volume::VolumeMode;

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Namespace and name; the name is empty while it is still to be generated.
    pub key: ClaimKey,
    /// Its uid; absent before the API server has given one.
    pub uid: Option<Uid>,
    /// Its resourceVersion; absent where none was sent.
    pub version: Option<ResourceVersion>,
    /// When it was created; absent before it is stored.
    pub created: Option<CreationTimestamp>,
    /// Whether it is being deleted.
    pub deletion: Deletion,
    /// The annotations that decisions read.
    pub annotations: Annotations,
    /// The finalizers that decisions read.
    pub finalizers: Finalizers,
    /// Uids of its owners.
    pub owners: Box<[Uid]>,
    /// `spec.resources.requests.storage`; zero where absent, as the binder reads it.
    pub request: Quantity,
    /// `spec.accessModes`.
    pub access_modes: AccessModes,
    /// `spec.volumeMode`.
    pub mode: VolumeMode,
    /// `spec.storageClassName` alone; [`Claim::class`] is what counts.
    pub class_field: ClassRequest,
    /// `spec.volumeAttributesClassName`; empty text and absence are the same.
    pub attributes_class: Option<ClassName>,
    /// `spec.selector`.
    pub selector: Option<Selector>,
    /// What `spec.dataSource` asks for.
    pub content: Content,
    /// `spec.volumeName`.
    pub volume: Option<VolumeName>,
    /// `status.phase`.
    pub phase: ClaimPhase,
    /// What `status` says of the volume.
    pub reported: Reported,
    /// The largest size in `status.allocatedResources.storage`: an expansion in progress.
    pub allocated: Option<Quantity>,
    /// `status.modifyVolumeStatus.targetVolumeAttributesClassName`: what its driver makes of the volume now.
    pub modifying_to: Option<ClassName>,
}

/// What is to be on the volume of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing in particular.
    Empty,
    /// A copy of a snapshot, of another claim, or of what a populator brings.
    Copied,
}

impl Claim {
    /// The class that counts: the legacy annotation, even an empty one, before the field.
    ///
    /// Kubernetes: `pkg/volume/util`, `GetPersistentVolumeClaimClass`.
    pub fn class(&self) -> ClassRequest {
        match self.annotations.get(LEGACY_CLASS) {
            Some(text) => ClassRequest::from_text(Some(text)),
            None => self.class_field.clone(),
        }
    }

    /// Returns how far its binding has come.
    pub fn stage(&self) -> Stage {
        if self.annotations.has(BIND_COMPLETED) { Stage::Completed } else { Stage::Unbound }
    }

    /// Returns the key by which pending claims are ordered: creation time, namespace and name. A claim without a time is
    /// not stored yet.
    pub fn creation_order(&self) -> (bool, Option<CreationTimestamp>, &ClaimKey) {
        (self.created.is_none(), self.created, &self.key)
    }
}

/// What the status of a claim says of its volume; all empty while it has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// `status.accessModes`.
    pub access_modes: AccessModes,
    /// `status.capacity.storage`.
    pub capacity: Option<Quantity>,
    /// `status.currentVolumeAttributesClassName`.
    pub attributes_class: Option<ClassName>,
}

/// How far the binding of a claim has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The binder has not finished with it.
    Unbound,
    /// The annotation `bind-completed` is there.
    Completed,
}

text_enum! {
    /// `status.phase` of a claim.
    pub enum ClaimPhase {
        /// Not bound to a volume yet; what an absent phase means.
        Pending,
        /// Has its volume.
        Bound,
        /// Its volume is gone.
        Lost;
        /// Any other text: the API server checks no phase.
        Unknown(Box<str>)
    }
}

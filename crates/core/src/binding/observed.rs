//! What a watch or a live read shows of one object.

use std::sync::Arc;

use arcstr::ArcStr;

use super::object_key::ObjectKey;
use crate::model::{
    Claim, ClaimKey, Class, ClassName, Namespace, Pod, PodKey, ResourceVersion, Volume, VolumeName,
};

/// One observation: an object as it is now, or that it is gone from the watch.
#[derive(Clone, Debug)]
pub enum Observed {
    /// The volume as it is now.
    Volume(Arc<Volume>),
    /// The watch says that the volume is gone.
    VolumeGone(VolumeName),
    /// The claim as it is now.
    Claim(Arc<Claim>),
    /// The watch says that the claim is gone.
    ClaimGone(ClaimKey),
    /// The class as it is now.
    Class(Arc<Class>),
    /// The watch says that the class is gone.
    ClassGone(ClassName),
    /// The pod as it is now. Only pods that wait are watched (phase Pending, with or without a node).
    Pod(Arc<Pod>),
    /// The watch says that the pod is gone, or does not wait any more.
    PodGone(PodKey),
    /// The namespace as it is now.
    Namespace(Arc<Namespace>),
    /// The watch says that the namespace is gone.
    NamespaceGone(ArcStr),
}

impl Observed {
    /// The volume, if one was seen.
    pub fn volume(&self) -> Option<&Arc<Volume>> {
        match self {
            Self::Volume(volume) => Some(volume),
            Self::VolumeGone(_)
            | Self::Claim(_)
            | Self::ClaimGone(_)
            | Self::Class(_)
            | Self::ClassGone(_)
            | Self::Pod(_)
            | Self::PodGone(_)
            | Self::Namespace(_)
            | Self::NamespaceGone(_) => None,
        }
    }

    /// The claim, if one was seen.
    pub fn claim(&self) -> Option<&Arc<Claim>> {
        match self {
            Self::Claim(claim) => Some(claim),
            Self::Volume(_)
            | Self::VolumeGone(_)
            | Self::ClaimGone(_)
            | Self::Class(_)
            | Self::ClassGone(_)
            | Self::Pod(_)
            | Self::PodGone(_)
            | Self::Namespace(_)
            | Self::NamespaceGone(_) => None,
        }
    }

    /// The key of a volume or claim; none for other kinds, which are never written.
    pub fn key(&self) -> Option<ObjectKey> {
        match self {
            Self::Volume(volume) => Some(ObjectKey::Volume(volume.name.clone())),
            Self::VolumeGone(name) => Some(ObjectKey::Volume(name.clone())),
            Self::Claim(claim) => Some(ObjectKey::Claim(claim.key.clone())),
            Self::ClaimGone(key) => Some(ObjectKey::Claim(key.clone())),
            Self::Class(_)
            | Self::ClassGone(_)
            | Self::Pod(_)
            | Self::PodGone(_)
            | Self::Namespace(_)
            | Self::NamespaceGone(_) => None,
        }
    }

    /// The resourceVersion of a volume or claim that was seen; of nothing else one is kept.
    pub fn version(&self) -> Option<&ResourceVersion> {
        match self {
            Self::Volume(volume) => volume.version.as_ref(),
            Self::Claim(claim) => claim.version.as_ref(),
            Self::VolumeGone(_)
            | Self::ClaimGone(_)
            | Self::Class(_)
            | Self::ClassGone(_)
            | Self::Pod(_)
            | Self::PodGone(_)
            | Self::Namespace(_)
            | Self::NamespaceGone(_) => None,
        }
    }
}

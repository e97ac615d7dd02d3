//! The volume of a local disk, as the decisions about the disk see it.

use super::identity::DiskIdentity;
use super::mark::DiskMark;
use crate::model::{
    ClaimKey, Deletion, NodeAffinity, ReclaimPolicy, Reservation, ResourceVersion, Uid, VolumeName,
    VolumePhase,
};

/// A PersistentVolume with a `local` source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalVolume {
    /// Its name.
    pub name: VolumeName,
    /// Its uid.
    pub uid: Uid,
    /// Its resourceVersion.
    pub version: ResourceVersion,
    /// Whether it is being deleted.
    pub deletion: Deletion,
    /// `status.phase`.
    pub phase: VolumePhase,
    /// `spec.persistentVolumeReclaimPolicy`.
    pub policy: ReclaimPolicy,
    /// The policy that its trash record names, which is set again some time after its claim is gone.
    pub policy_before_trash: Option<ReclaimPolicy>,
    /// `spec.claimRef`.
    pub reservation: Reservation,
    /// `spec.local.path`; empty where it has another source.
    pub path: Box<str>,
    /// `pv.kubernetes.io/provisioned-by`; empty where that is absent.
    pub provisioned_by: Box<str>,
    /// Its StorageClass; empty for none.
    pub class: Box<str>,
    /// Which nodes can reach it.
    pub node_affinity: NodeAffinity,
    /// What the disk was recognized by when that was recorded on the volume.
    pub identity: Option<DiskIdentity>,
    /// The machine-id of its node, as it was recorded; empty where it is not known.
    pub machine: Box<str>,
    /// Whether it was recorded that its disk is not where it was.
    pub is_disk_missing: bool,
    /// Where its disk was found instead.
    pub found_at: Option<DiskLocation>,
    /// The volume in whose place it was made, once their disk was moved.
    pub moved_from: Option<VolumeName>,
    /// The mark that was recorded on the volume: that of its disk may be lost with the node's own disk.
    pub mark: Option<DiskMark>,
}

impl LocalVolume {
    /// Returns whether no claim can get it yet: it was created, and its disk is not offered.
    pub fn is_before_offer(&self) -> bool {
        self.reservation == Reservation::Named(ClaimKey::before_offer(&self.name))
    }
}

/// Where a disk was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskLocation {
    /// The name of the node.
    pub node: Box<str>,
    /// The StorageClass of the discovery folder.
    pub class: Box<str>,
    /// The path of the entry on the node.
    pub path: Box<str>,
}

/// What is known about the volume of an entry's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalVolumeState {
    /// The watch does not show it, which proves nothing: one that another provisioner made has no label of ours.
    Unread,
    /// A live read proved that there is none.
    Absent,
    /// It exists.
    Present(Box<LocalVolume>),
}

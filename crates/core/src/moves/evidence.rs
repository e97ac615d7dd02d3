//! What the next step of a move depends on.

use super::journal::Journal;
use crate::model::{
    Deletion, ReclaimPolicy, Reservation, ResourceVersion, Uid, Volume, VolumeName, VolumePhase,
};

/// The volume of a move, as a live read returned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedVolume {
    /// Its name.
    pub name: VolumeName,
    /// Its uid.
    pub uid: Uid,
    /// Its resourceVersion.
    pub version: ResourceVersion,
    /// Whether it is being deleted.
    pub deletion: Deletion,
    /// `spec.persistentVolumeReclaimPolicy`.
    pub policy: ReclaimPolicy,
    /// `spec.claimRef`.
    pub reservation: Reservation,
    /// `status.phase`.
    pub phase: VolumePhase,
}

impl MovedVolume {
    /// The volume of a move; nothing if it is not stored.
    pub fn of(volume: &Volume) -> Option<Self> {
        Some(Self {
            name: volume.name.clone(),
            uid: volume.uid.clone()?,
            version: volume.version.clone()?,
            deletion: volume.deletion,
            policy: volume.policy.clone(),
            reservation: volume.reservation.clone(),
            phase: volume.phase.clone(),
        })
    }
}

/// What a live read of a claim's name returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimRead {
    /// It was not read.
    Unread,
    /// There is no claim of this name.
    Absent,
    /// There is one.
    Present(LiveClaim),
}

/// A claim of a move, as a live read returned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveClaim {
    /// Its uid.
    pub uid: Uid,
    /// Its resourceVersion.
    pub version: ResourceVersion,
    /// `spec.volumeName`.
    pub volume: Option<VolumeName>,
    /// Whether it is being deleted.
    pub deletion: Deletion,
    /// Whether the binder has finished with it and its phase is Bound.
    pub is_bound: bool,
    /// The journal by which it stays, if a move was undone before the claim was deleted.
    pub fence: Option<ResourceVersion>,
}

impl LiveClaim {
    /// Returns whether `spec.volumeName` is this volume.
    pub fn names(&self, volume: &VolumeName) -> bool {
        self.volume.as_ref() == Some(volume)
    }
}

/// The pods that name a claim, as a live list of its namespace returned them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimUsers {
    /// They were not listed.
    Unread,
    /// The names of the pods; empty if none uses the claim.
    Pods(Vec<Box<str>>),
}

/// A StatefulSet that creates a claim again once it is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recreator {
    /// Its name.
    pub name: Box<str>,
    /// The largest number of replicas with which it does not.
    pub replicas: u32,
}

/// The other volume of a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwapPartner {
    /// The move is no swap.
    None,
    /// It was not read.
    Unread,
    /// It has no journal that leads to the origin of this move.
    NotReady,
    /// It has. The uid is that of its former claim.
    Ready(Uid),
}

/// All that the next step of a move depends on.
#[derive(Clone, Copy, Debug)]
pub struct MoveEvidence<'a> {
    /// The volume.
    pub volume: &'a MovedVolume,
    /// The claim of the name in `spec.claimRef`.
    pub holder: &'a ClaimRead,
    /// The pods that name it.
    pub users: &'a ClaimUsers,
    /// The claim of the name to which the move leads.
    pub target: &'a ClaimRead,
    /// The claim of the name to which an undone move led.
    pub abandoned: &'a ClaimRead,
    /// The pods that name that one.
    pub abandoned_users: &'a ClaimUsers,
    /// The other volume of a swap.
    pub partner: &'a SwapPartner,
    /// What is recorded on the volume.
    pub recorded: Option<&'a Journal>,
    /// Whether the journal of this move was seen on the volume before.
    pub is_begun: bool,
}

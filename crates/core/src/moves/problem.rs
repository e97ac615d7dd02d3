//! What a person has to solve before a move goes on, in words.

use std::fmt;

use super::evidence::{LiveClaim, Recreator};
use super::waiting::pods_text;
use crate::model::{ClaimKey, ReclaimPolicy, VolumeName, VolumePhase};

/// Why a move does not begin, or does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveProblem {
    /// The volume is being deleted, which cannot be undone.
    VolumeTerminating(VolumeName),
    /// The volume that would be created again is of a disk of one node.
    LocalDisk(VolumeName),
    /// The API server would not create the volume again, for this reason.
    VolumeDenied(VolumeName, Box<str>),
    /// The storage of the volume that would be created again has another volume.
    StorageTaken(VolumeName, VolumeName),
    /// A volume of this name exists and is of other storage.
    VolumeNameTaken(VolumeName),
    /// The volume is in another move, to this claim.
    OtherMove(ClaimKey),
    /// The volume has changed since the move was planned.
    Changed(VolumeName),
    /// The volume was given to this claim since, which is none of the move.
    GivenAway(VolumeName, ClaimKey),
    /// The journal was removed before the move had ended.
    JournalGone(VolumeName),
    /// The claim of the volume is gone, and its reclaim policy is not Retain.
    BeingDeleted(VolumeName, ReclaimPolicy),
    /// A claim of this name exists and has another volume.
    NameTaken(ClaimKey),
    /// A claim of this name exists and has no volume.
    NamePending(ClaimKey),
    /// The claim of the volume is used by these pods.
    InUse(VolumeName, ClaimKey, Vec<Box<str>>),
    /// The claim of the volume would be created again by this StatefulSet.
    Recreated(VolumeName, ClaimKey, Recreator),
    /// The claim has no volume.
    NotBound(ClaimKey),
    /// The volume is in a phase in which it cannot be moved.
    Phase(VolumeName, VolumePhase),
    /// The volume has no claim and never had one.
    NoClaim(VolumeName),
    /// The volume of a local disk is not offered yet.
    NotOffered(VolumeName),
    /// The namespace does not exist.
    NoNamespace(Box<str>),
    /// The namespace is being deleted.
    NamespaceTerminating(Box<str>),
    /// The marks of the volume do not admit the claims of this namespace.
    NotAdmitted(VolumeName, Box<str>),
    /// The account may not make this request.
    NotPermitted(Box<str>),
    /// The API server would not create the claim, for this reason.
    CreateDenied(ClaimKey, Box<str>),
}

impl MoveProblem {
    /// The problem of a name that is that of this claim, which does not name the volume.
    pub(super) fn name_taken(key: &ClaimKey, claim: &LiveClaim) -> Self {
        let problem = if claim.volume.is_some() { Self::NameTaken } else { Self::NamePending };
        problem(key.clone())
    }
}

impl fmt::Display for MoveProblem {
    #[expect(clippy::too_many_lines, reason = "one sentence for each problem, and nothing else")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VolumeTerminating(volume) => write!(
                f,
                "PV {:?} is being deleted, which cannot be undone; its data would be deleted with its PVC if its reclaim policy \
                 is Delete; create it again under another name first: bindery rescue pv/{volume}",
                volume.as_str()
            ),
            Self::LocalDisk(volume) => write!(
                f,
                "PV {:?} is being deleted and is of a disk of one node, for which its provisioner would create a second PV; \
                 run `bindery retain pv/{volume}`, and copy the data while its PVC exists",
                volume.as_str()
            ),
            Self::VolumeDenied(volume, reason) => write!(
                f,
                "PV {:?} could not be created: {reason}; solve this first",
                volume.as_str()
            ),
            Self::StorageTaken(volume, other) => write!(
                f,
                "PV {:?} would use the storage of PV {:?}; two PVCs would write the same files; if that PV is not needed, run \
                 `bindery retain pv/{other}`, delete it, then run the command again",
                volume.as_str(),
                other.as_str()
            ),
            Self::VolumeNameTaken(volume) => write!(
                f,
                "PV {:?} exists and is of other storage; the PV that is being deleted would be created again under this name; \
                 delete that one if it is not needed",
                volume.as_str()
            ),
            Self::OtherMove(claim) => write!(
                f,
                "the PV is being moved to PVC \"{claim}\"; a second move would leave one of the PVCs Pending; run `bindery \
                 undo` first, or wait for the end of that move"
            ),
            Self::NameTaken(claim) => write!(
                f,
                "PVC \"{claim}\" exists and has another volume; a PVC has one volume for life; choose another name with --to, \
                 or rename that PVC first"
            ),
            Self::NamePending(claim) => write!(
                f,
                "PVC \"{claim}\" exists and has no volume, as one that a workload has created again; it would get another PV; \
                 scale its workload to 0, delete that PVC, then run the command again"
            ),
            Self::InUse(volume, claim, pods) => write!(
                f,
                "PVC \"{claim}\" is used by pods: {}; their volume would be unmounted; run `bindery retain pv/{volume}` first, as \
                 some workloads delete their PVCs, then scale the workload to 0",
                pods_text(pods)
            ),
            Self::Recreated(volume, claim, Recreator { name, replicas }) => write!(
                f,
                "StatefulSet {name:?} would create PVC \"{claim}\" again, and its pod would start with an empty PV; run \
                 `bindery retain pv/{volume}` first, as a StatefulSet may delete its PVCs, then scale it to {replicas}"
            ),
            Self::Changed(volume) => write!(
                f,
                "PV {:?} has changed since the move was planned; its PVC, or a reclaim policy that was just set, would be lost; \
                 run the command again",
                volume.as_str()
            ),
            Self::GivenAway(volume, claim) => write!(
                f,
                "PV {:?} was given to PVC \"{claim}\" after the move had begun, and the data of that PVC would be moved; to end the \
                 move where the PV is, remove its record: kubectl annotate pv {volume} bindery.dev/move- ; the reclaim policy stays \
                 Retain",
                volume.as_str()
            ),
            Self::JournalGone(volume) => write!(
                f,
                "the annotation bindery.dev/move was removed from PV {:?} before the move had ended, and the former reclaim \
                 policy is not known; the reclaim policy is Retain; see which PVC has it with: bindery explain pv/{}",
                volume.as_str(),
                volume.as_str()
            ),
            Self::BeingDeleted(volume, policy) => write!(
                f,
                "the PVC of PV {:?} is gone and its reclaim policy is {policy}; its data may be deleted at this moment; set \
                 persistentVolumeReclaimPolicy to Retain, check that the storage exists, then run the command again",
                volume.as_str()
            ),
            Self::NotBound(claim) => {
                write!(f, "PVC \"{claim}\" is not bound to the PV; there is nothing to move")
            }
            Self::Phase(volume, phase) => write!(
                f,
                "PV {:?} has phase {phase}; only a PV that is Bound, or Released with reclaim policy Retain, can be moved",
                volume.as_str()
            ),
            Self::NoClaim(volume) => write!(
                f,
                "PV {:?} is reserved for no PVC; any PVC may take it; create a PVC with spec.volumeName instead",
                volume.as_str()
            ),
            Self::NotOffered(volume) => write!(
                f,
                "PV {:?} is not offered yet: what is on its local disk is not known; wait until its claimRef is removed",
                volume.as_str()
            ),
            Self::NoNamespace(name) => {
                write!(f, "Namespace {name:?} does not exist; create it first")
            }
            Self::NamespaceTerminating(name) => write!(
                f,
                "Namespace {name:?} is being deleted, and a PVC in it would be deleted with it; choose another one with --to"
            ),
            Self::NotAdmitted(volume, namespace) => write!(
                f,
                "PV {:?} belongs to another tenant than Namespace {namespace:?}, which would read its files; if that is \
                 intended, add the namespace to the annotation bindery.dev/allowed-namespaces of the PV first",
                volume.as_str()
            ),
            Self::NotPermitted(request) => write!(
                f,
                "this account may not {request}; the move would stop halfway; use an account with that permission"
            ),
            Self::CreateDenied(claim, reason) => write!(
                f,
                "PVC \"{claim}\" could not be created: {reason}; the PV would be left without a PVC; solve this first"
            ),
        }
    }
}

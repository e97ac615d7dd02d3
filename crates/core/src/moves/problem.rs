//! What a person has to solve before a move goes on, in words.

use std::fmt;

use super::evidence::Recreator;
use super::waiting::pods_text;
use crate::model::{ClaimKey, VolumeName, VolumePhase};

/// Why a move does not begin, or does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveProblem {
    /// The volume is being deleted, which cannot be undone.
    VolumeTerminating,
    /// The volume is in another move, to this claim.
    OtherMove(ClaimKey),
    /// A claim of this name exists and has another volume.
    NameTaken(ClaimKey),
    /// The claim is used by these pods.
    InUse(ClaimKey, Vec<Box<str>>),
    /// The claim would be created again by this StatefulSet.
    Recreated(ClaimKey, Recreator),
    /// The claim has no volume.
    NotBound(ClaimKey),
    /// The volume is in a phase in which it cannot be moved.
    Phase(VolumeName, VolumePhase),
    /// The volume has no claim and never had one.
    NoClaim(VolumeName),
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

impl fmt::Display for MoveProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VolumeTerminating => f.write_str(
                "the PV is being deleted, which cannot be undone; its data would be deleted with its PVC if its reclaim policy \
                 is Delete; set persistentVolumeReclaimPolicy to Retain first",
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
            Self::InUse(claim, pods) => write!(
                f,
                "PVC \"{claim}\" is used by pods: {}; their volume would be unmounted; scale their workload to 0 first",
                pods_text(pods)
            ),
            Self::Recreated(claim, Recreator { name, replicas }) => write!(
                f,
                "StatefulSet {name:?} would create PVC \"{claim}\" again, and its pod would start with an empty PV; scale it to \
                 {replicas} first"
            ),
            Self::NotBound(claim) => {
                write!(f, "PVC \"{claim}\" has no PV; there is nothing to move")
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

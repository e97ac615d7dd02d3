//! What a move waits for, in words.

use std::fmt;

use crate::model::{ClaimKey, VolumeName};

/// Why a move makes no step until something changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveWaiting {
    /// These pods name the claim that is to be deleted.
    ClaimInUse(ClaimKey, Vec<Box<str>>),
    /// A claim is being deleted, and these pods name it.
    ClaimTerminating(ClaimKey, Vec<Box<str>>),
    /// The binder has not bound the claim yet.
    Binder(ClaimKey),
    /// A volume is being deleted, and another one takes its place.
    VolumeTerminating(VolumeName),
    /// The other volume of a swap is behind.
    PartnerNotReady(VolumeName),
}

/// Pods that a sentence names. A person stops their owner, not each of them.
const NAMED_PODS_MAX: usize = 5;

/// The names of pods, as a sentence lists them.
pub(super) fn pods_text(pods: &[Box<str>]) -> String {
    let named: Vec<String> =
        pods.iter().take(NAMED_PODS_MAX).map(|pod| format!("{pod:?}")).collect();
    match pods.len().checked_sub(NAMED_PODS_MAX) {
        None | Some(0) => named.join(", "),
        Some(more) => format!("{} and {more} more", named.join(", ")),
    }
}

impl fmt::Display for MoveWaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClaimInUse(claim, pods) => write!(
                f,
                "PVC \"{claim}\" is used by pods: {}; it is deleted once they are gone; scale their workload to 0",
                pods_text(pods)
            ),
            Self::ClaimTerminating(claim, pods) if pods.is_empty() => {
                write!(f, "PVC \"{claim}\" is being deleted; waiting for its finalizers")
            }
            Self::ClaimTerminating(claim, pods) => write!(
                f,
                "PVC \"{claim}\" is being deleted and is used by pods: {}; scale their workload to 0",
                pods_text(pods)
            ),
            Self::Binder(claim) => write!(f, "waiting for the binder to bind PVC \"{claim}\""),
            Self::VolumeTerminating(volume) => write!(
                f,
                "PV {:?} is being deleted; waiting for its finalizers: its disk may still be attached to a node",
                volume.as_str()
            ),
            Self::PartnerNotReady(volume) => {
                write!(f, "waiting for the move of PV {:?}", volume.as_str())
            }
        }
    }
}

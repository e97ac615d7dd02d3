//! The trash record of a volume.

use jiff::{SignedDuration, Timestamp};

use crate::model::{ClaimKey, ReclaimPolicy, Uid};

/// What the trash puts back, and when. Recorded on the volume by the write that sets Retain, and removed by the one that sets
/// the former policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrashRecord {
    /// The reclaim policy before.
    pub policy: ReclaimPolicy,
    /// How long it stays at least: what was set when it was held.
    pub keep: SignedDuration,
    /// Who gets it back.
    pub return_to: ReturnTo,
    /// The release by its claim; nothing while a claim has the volume.
    pub release: Option<Release>,
}

/// Who gets a volume of the trash back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReturnTo {
    /// The claim that a rescue creates.
    #[default]
    Rescue,
    /// Any claim of the same namespace and name.
    SameName,
}

/// The release of a volume by a claim that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The name of that claim.
    pub key: ClaimKey,
    /// Its uid.
    pub claim: Uid,
    /// When its absence was seen first.
    pub at: Timestamp,
    /// When the former reclaim policy is set again.
    pub until: Timestamp,
    /// Whether any claim of that name may have the volume.
    pub is_offered: bool,
}

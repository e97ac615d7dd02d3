//! What the next step of a volume of the trash depends on.

use jiff::{SignedDuration, Timestamp};

use super::record::{ReturnTo, TrashRecord};
use crate::moves::{ClaimRead, MovedVolume};

/// How long a volume is to stay after its claim was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Not at all: it follows its reclaim policy. What is in the trash already stays for its time.
    None,
    /// For this time, which is positive.
    For(SignedDuration, ReturnTo),
    /// What is set for it cannot be read.
    Unreadable,
}

impl Retention {
    /// Who gets the volume back.
    pub fn return_to(self) -> ReturnTo {
        match self {
            Self::For(_, return_to) => return_to,
            Self::None | Self::Unreadable => ReturnTo::Rescue,
        }
    }
}

/// Whether the volume has a copy of its claim as that is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimCopy {
    /// It is not known.
    Unread,
    /// It has.
    Current,
    /// It has none, or an older one.
    Outdated,
}

/// What the time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// It was not asked for.
    Unread,
    /// It lies between what the clocks of this process and of the API server show. If one of them is wrong, nothing ends too
    /// early.
    Between {
        /// What the slower clock shows.
        earliest: Timestamp,
        /// What the faster clock shows.
        latest: Timestamp,
    },
}

/// All that the next step depends on.
#[derive(Clone, Copy, Debug)]
pub struct TrashEvidence<'a> {
    /// The volume.
    pub volume: &'a MovedVolume,
    /// Whether a move has a journal on it.
    pub is_moving: bool,
    /// What is recorded on it.
    pub record: Option<&'a TrashRecord>,
    /// How long it is to stay.
    pub retention: Retention,
    /// Whether a person ends its time early.
    pub is_emptied: bool,
    /// The claim of the name in `spec.claimRef`.
    pub claim: &'a ClaimRead,
    /// Whether its copy is current.
    pub copy: ClaimCopy,
    /// What the time is.
    pub clock: Clock,
    /// Since when this process has looked after volumes without a pause.
    pub watched_since: Timestamp,
}

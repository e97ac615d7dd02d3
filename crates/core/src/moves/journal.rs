//! The journal of a move.

use crate::model::{ClaimKey, ReclaimPolicy, ResourceVersion, Uid, VolumeName};

/// What a move puts back, and where it leads. Recorded on the volume by the first write and removed by the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// The reclaim policy before the move.
    pub policy: ReclaimPolicy,
    /// The claim that had the volume before the move.
    pub origin: ClaimKey,
    /// Its uid; absent if the volume was reserved by name alone.
    pub origin_uid: Option<Uid>,
    /// Where the move leads.
    pub goal: Goal,
    /// Whether it goes back to where the volume was.
    pub direction: Direction,
    /// The resourceVersion of the volume on which the move was decided: no other journal of the volume has it.
    pub begun_on: ResourceVersion,
}

/// Whether a move leads to a new place or back to a former one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To a new place: the move can be undone afterwards.
    Forward,
    /// Back. The claim to which the volume was going is deleted if it names the volume.
    Back {
        /// That claim; absent if the volume had arrived.
        abandoned: Option<ClaimKey>,
    },
}

/// Where a move leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The claim of this name gets the volume.
    Claim(ClaimKey),
    /// The claim of this name gets the volume, and its own volume goes to the claim of this move.
    Swap(ClaimKey, VolumeName),
}

impl Goal {
    /// Returns the claim that gets the volume.
    pub fn claim(&self) -> &ClaimKey {
        match self {
            Self::Claim(claim) | Self::Swap(claim, _) => claim,
        }
    }
}

impl Journal {
    /// Returns the journal that leads back to the origin, decided on this version of the volume.
    pub fn undone(&self, begun_on: &ResourceVersion) -> Self {
        match self.direction {
            Direction::Back { .. } => self.clone(),
            Direction::Forward => Self {
                goal: Goal::Claim(self.origin.clone()),
                direction: Direction::Back { abandoned: Some(self.goal.claim().clone()) },
                begun_on: begun_on.clone(),
                ..self.clone()
            },
        }
    }

    /// Returns whether `later` leads back from this move.
    pub fn is_undone_by(&self, later: &Self) -> bool {
        self.undone(&later.begun_on) == *later
    }

    /// Returns whether the move takes the volume from this claim, or gives it to it.
    pub fn concerns(&self, key: &ClaimKey) -> bool {
        *key == self.origin || key == self.goal.claim() || self.abandoned() == Some(key)
    }

    /// Returns the claim to which the volume was going before the move was undone.
    pub fn abandoned(&self) -> Option<&ClaimKey> {
        match &self.direction {
            Direction::Forward => None,
            Direction::Back { abandoned } => {
                abandoned.as_ref().filter(|key| *key != self.goal.claim())
            }
        }
    }
}

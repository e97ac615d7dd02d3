//! A move that is to be performed.

use crate::api::tombstone::TombstoneRecord;
use crate::api::trash::policy_before_trash;
use crate::cli::exit::{Exit, Failure};
use crate::model::{ClaimKey, Deletion, Reservation, VolumeName};
use crate::move_runner::{MoveError, StoredVolume, vanished_former};
use crate::moves::{Direction, Goal, Journal, MoveProblem, MovedVolume, replacement_name};

/// A volume, and the journal with which its move begins or goes on.
#[derive(Clone, Debug)]
pub(super) struct PlannedMove {
    pub stored: StoredVolume,
    pub journal: Journal,
    /// What comes first.
    pub preparation: Preparation,
}

/// What has to be done before a volume can be moved.
#[derive(Clone, Debug)]
pub(super) enum Preparation {
    /// Nothing.
    None,
    /// It is being deleted: another one is created in its place.
    Replace,
    /// It is gone: it is created again from what is left of it.
    Recreate(Box<TombstoneRecord>),
}

impl PlannedMove {
    fn of(stored: StoredVolume, journal: Journal) -> Self {
        Self { stored, journal, preparation: Preparation::None }
    }

    /// The volume that the claim gets in the end.
    pub(super) fn volume(&self) -> VolumeName {
        let MovedVolume { name, uid, .. } = &self.stored.moved;
        match self.preparation {
            Preparation::Replace => replacement_name(name, uid),
            Preparation::None | Preparation::Recreate(_) => name.clone(),
        }
    }

    /// Whether the volume is being deleted, and created again under another name first.
    pub(super) fn is_replaced(&self) -> bool {
        matches!(self.preparation, Preparation::Replace)
    }

    /// The rescue of a volume that is gone, from what is left of it.
    pub(super) fn recreation(
        left: TombstoneRecord,
        is_claim_there: bool,
        to: Option<&ClaimKey>,
    ) -> Result<Self, Failure> {
        let goal = Goal::Claim(to.cloned().unwrap_or_else(|| left.key()));
        let stored = StoredVolume::left(&left, is_claim_there)?;
        let journal =
            Journal { policy: left.policy(), ..begun(&stored, goal, Direction::Forward)? };
        Ok(Self { stored, journal, preparation: Preparation::Recreate(Box::new(left)) })
    }

    /// A rescue: if the volume is being deleted, it is created again.
    pub(super) fn rescue(stored: StoredVolume, goal: Goal) -> Result<Self, Failure> {
        // The process that created a volume in the place of another one was stopped before it recorded the move.
        let stored = vanished_former(&stored).unwrap_or(stored);
        if stored.moved.deletion == Deletion::NotAsked {
            return Self::to(stored, goal);
        }
        let before = policy_before_trash(&stored.volume);
        let mut planned = match &stored.recorded {
            // A move had begun before the deletion: it goes on, wherever it leads.
            Some(Journal { goal: Goal::Claim(_), .. }) => Self::resumed(stored)?,
            // One volume of a swap goes back alone.
            Some(journal @ Journal { goal: Goal::Swap(..), .. }) => {
                let journal = journal.undone(&stored.moved.version);
                Self::of(stored, journal)
            }
            None => Self::to(stored, goal)?,
        };
        // The trash record goes with the volume.
        if let (None, Some(before)) = (&planned.stored.recorded, before) {
            planned.journal.policy = before;
        }
        planned.preparation = Preparation::Replace;
        Ok(planned)
    }

    /// A move to `goal`, or the one that is recorded if it leads there.
    pub(super) fn to(stored: StoredVolume, goal: Goal) -> Result<Self, Failure> {
        Self::along(stored, goal, Direction::Forward)
    }

    /// The same, in this direction.
    pub(super) fn along(
        stored: StoredVolume,
        goal: Goal,
        direction: Direction,
    ) -> Result<Self, Failure> {
        let stored = stored.readable()?;
        let journal = match &stored.recorded {
            Some(recorded) if recorded.goal.claim() == goal.claim() => recorded.clone(),
            Some(recorded) => {
                let problem = MoveProblem::OtherMove(recorded.goal.claim().clone());
                return Err(impossible(format!("PV {:?}: {problem}", stored.moved.name.as_str())));
            }
            None => begun(&stored, goal, direction)?,
        };
        Ok(Self::of(stored, journal))
    }

    /// The move that is recorded.
    pub(super) fn resumed(stored: StoredVolume) -> Result<Self, Failure> {
        let name = stored.moved.name.clone();
        let journal = stored.recorded.clone();
        let journal =
            journal.ok_or_else(|| impossible(MoveProblem::JournalGone(name).to_string()))?;
        Ok(Self::of(stored, journal))
    }

    /// The move back to where the volume was before.
    pub(super) fn back(stored: StoredVolume, former: Option<ClaimKey>) -> Result<Self, Failure> {
        let stored = stored.readable()?;
        let journal = match (&stored.recorded, former) {
            (
                Some(Journal { goal: Goal::Swap(other, _), direction: Direction::Forward, .. }),
                _,
            ) => {
                return Err(impossible(format!(
                    "PV {:?} is being swapped with that of PVC \"{other}\"; one of the two cannot go back alone; run the same \
                     swap again to end it, then undo it",
                    stored.moved.name.as_str()
                )));
            }
            (Some(recorded), _) => recorded.undone(&stored.moved.version),
            (None, Some(former)) => begun(&stored, Goal::Claim(former), ARRIVED)?,
            (None, None) => {
                return Err(impossible(format!(
                    "PV {:?} was not moved; there is nothing to undo",
                    stored.moved.name.as_str()
                )));
            }
        };
        Ok(Self::of(stored, journal))
    }

    /// The two moves back of a swap that has ended.
    pub(super) fn swap_back(one: StoredVolume, other: StoredVolume) -> Result<Vec<Self>, Failure> {
        let goal = |to: &StoredVolume| {
            let key = to.moved.reservation.key().cloned();
            let name = to.moved.name.clone();
            key.map(|key| Goal::Swap(key, name.clone()))
                .ok_or_else(|| impossible(MoveProblem::NoClaim(name).to_string()))
        };
        let journals = (begun(&one, goal(&other)?, ARRIVED)?, begun(&other, goal(&one)?, ARRIVED)?);
        Ok(vec![Self::of(one, journals.0), Self::of(other, journals.1)])
    }

    /// The move back of a swap whose other move was not begun: nothing was deleted.
    pub(super) fn back_alone(stored: StoredVolume, journal: &Journal) -> Self {
        let journal = journal.undone(&stored.moved.version);
        Self::of(stored, journal)
    }

    /// Whether this move is recorded already.
    pub(super) fn is_begun(&self) -> bool {
        self.stored.recorded.as_ref() == Some(&self.journal)
    }
}

/// Back from where the volume has arrived.
const ARRIVED: Direction = Direction::Back { abandoned: None };

/// The journal of a move that begins.
fn begun(stored: &StoredVolume, goal: Goal, direction: Direction) -> Result<Journal, Failure> {
    let (origin, uid) = match &stored.moved.reservation {
        Reservation::Held(key, uid) => (key.clone(), Some(uid.clone())),
        Reservation::Named(key) => (key.clone(), None),
        Reservation::Free | Reservation::Incomplete(..) => {
            return Err(impossible(MoveProblem::NoClaim(stored.moved.name.clone()).to_string()));
        }
    };
    let (policy, begun_on) = (stored.moved.policy.clone(), stored.moved.version.clone());
    Ok(Journal { policy, origin, origin_uid: uid, goal, direction, begun_on })
}

/// What is asked for cannot be done.
pub(super) fn impossible(message: impl Into<String>) -> Failure {
    Failure { exit: Exit::Denied, message: message.into() }
}

impl From<MoveError> for Failure {
    fn from(error: MoveError) -> Self {
        match error {
            MoveError::Request { .. } => {
                Self::unreachable(format!("{error}; run the same command again"))
            }
            MoveError::Rejected { .. }
            | MoveError::Unreadable { .. }
            | MoveError::Journal { .. }
            | MoveError::VolumeGone(_) => impossible(error.to_string()),
        }
    }
}

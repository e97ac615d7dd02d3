//! A move that is to be performed.

use crate::cli::exit::{Exit, Failure};
use crate::model::{ClaimKey, Reservation};
use crate::move_runner::{MoveError, StoredVolume};
use crate::moves::{Direction, Goal, Journal, MoveProblem};

/// A volume, and the journal with which its move begins or goes on.
#[derive(Clone, Debug)]
pub(super) struct PlannedMove {
    pub stored: StoredVolume,
    pub journal: Journal,
}

impl PlannedMove {
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
        Ok(Self { stored, journal })
    }

    /// The move that is recorded.
    pub(super) fn resumed(stored: StoredVolume) -> Result<Self, Failure> {
        let name = stored.moved.name.clone();
        let journal = stored.recorded.clone();
        let journal =
            journal.ok_or_else(|| impossible(MoveProblem::JournalGone(name).to_string()))?;
        Ok(Self { stored, journal })
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
        Ok(Self { stored, journal })
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
        Ok(vec![
            Self { stored: one, journal: journals.0 },
            Self { stored: other, journal: journals.1 },
        ])
    }

    /// The move back of a swap whose other move was not begun: nothing was deleted.
    pub(super) fn back_alone(stored: StoredVolume, journal: &Journal) -> Self {
        let journal = journal.undone(&stored.moved.version);
        Self { stored, journal }
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

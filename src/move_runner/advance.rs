//! One step of a move: reads until the step is known, then at most one write.

use serde_json::Value;

use super::error::MoveError;
use super::requests::{MoveRequests, StoredClaim, StoredVolume, Written};
use super::write_request::WriteRequest;
use crate::api::moves::{claim_copy, recorded_copy};
use crate::model::{ClaimKey, Reservation, VolumeName};
use crate::moves::{
    ClaimRead, ClaimUsers, Goal, Journal, MoveEvidence, MoveProblem, MoveRead, MoveStep,
    MoveWaiting, MoveWrite, SwapPartner, decide_move,
};

/// How far a move has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advance {
    /// This write was made.
    Made(MoveWrite),
    /// An object has changed between the read and the write: the step is decided again.
    Changed,
    /// It waits for this.
    Waiting(MoveWaiting),
    /// A person has to solve this.
    Stopped(MoveProblem),
    /// The move has ended.
    Ended,
}

/// Makes the next step of the move of a volume that `journal` describes. `is_begun` says whether the journal was seen on the
/// volume before.
///
/// # Errors
///
/// A request failed. Whether its write was made shows in the next call.
pub async fn advance(
    requests: &MoveRequests,
    name: &VolumeName,
    journal: &Journal,
    is_begun: bool,
) -> Result<Advance, MoveError> {
    let stored = requests.volume(name).await?.ok_or_else(|| MoveError::VolumeGone(name.clone()))?;
    let mut seen = Seen::new(requests, stored, journal.clone(), is_begun);
    match seen.next().await? {
        NextStep::Rest(advance) => Ok(advance),
        NextStep::Write(write) => seen.make(write).await,
    }
}

/// What comes next, after all reads.
pub(super) enum NextStep {
    /// This write.
    Write(MoveWrite),
    /// No write.
    Rest(Advance),
}

/// What was read for one step.
pub(super) struct Seen<'a> {
    requests: &'a MoveRequests,
    pub(super) stored: StoredVolume,
    pub(super) journal: Journal,
    holder: ClaimRead,
    users: ClaimUsers,
    target: ClaimRead,
    abandoned: ClaimRead,
    abandoned_users: ClaimUsers,
    partner: SwapPartner,
    is_begun: bool,
}

impl<'a> Seen<'a> {
    pub(super) fn new(
        requests: &'a MoveRequests,
        stored: StoredVolume,
        journal: Journal,
        is_begun: bool,
    ) -> Self {
        let partner = match &journal.goal {
            Goal::Claim(_) => SwapPartner::None,
            Goal::Swap(..) => SwapPartner::Unread,
        };
        Self {
            requests,
            stored,
            journal,
            holder: ClaimRead::Unread,
            users: ClaimUsers::Unread,
            target: ClaimRead::Unread,
            abandoned: ClaimRead::Unread,
            abandoned_users: ClaimUsers::Unread,
            partner,
            is_begun,
        }
    }

    /// Reads until the next step is known.
    pub(super) async fn next(&mut self) -> Result<NextStep, MoveError> {
        loop {
            match decide_move(&self.evidence(), &self.journal) {
                MoveStep::Wait(waiting) => return Ok(NextStep::Rest(Advance::Waiting(waiting))),
                MoveStep::Stop(problem) => return Ok(NextStep::Rest(Advance::Stopped(problem))),
                MoveStep::End => return Ok(NextStep::Rest(Advance::Ended)),
                MoveStep::Read(read) => self.read(read).await?,
                MoveStep::Write(write) => return Ok(NextStep::Write(write)),
            }
        }
    }

    /// Makes a write.
    pub(super) async fn make(&self, write: MoveWrite) -> Result<Advance, MoveError> {
        Ok(match self.write(&write).await? {
            Written::Made => Advance::Made(write),
            Written::Stale => Advance::Changed,
        })
    }

    fn evidence(&self) -> MoveEvidence<'_> {
        MoveEvidence {
            volume: &self.stored.moved,
            holder: &self.holder,
            users: &self.users,
            target: &self.target,
            abandoned: &self.abandoned,
            abandoned_users: &self.abandoned_users,
            partner: &self.partner,
            recorded: self.stored.recorded.as_ref(),
            is_begun: self.is_begun,
        }
    }

    async fn read(&mut self, read: MoveRead) -> Result<(), MoveError> {
        match read {
            MoveRead::Holder => self.holder = self.claim(self.holder_key()).await?,
            MoveRead::HolderUsers => self.users = self.users_of(self.holder_key()).await?,
            MoveRead::Target => self.target = self.claim(Some(self.journal.goal.claim())).await?,
            MoveRead::Abandoned => {
                self.abandoned = self.claim(self.journal.abandoned()).await?;
            }
            MoveRead::AbandonedUsers => {
                self.abandoned_users = self.users_of(self.journal.abandoned()).await?;
            }
            MoveRead::Partner => self.partner = self.read_partner().await?,
        }
        Ok(())
    }

    fn holder_key(&self) -> Option<&ClaimKey> {
        match &self.stored.moved.reservation {
            Reservation::Held(key, _) => Some(key),
            Reservation::Free | Reservation::Named(_) | Reservation::Incomplete(..) => None,
        }
    }

    async fn claim(&self, key: Option<&ClaimKey>) -> Result<ClaimRead, MoveError> {
        let Some(key) = key else { return Ok(ClaimRead::Absent) };
        Ok(StoredClaim::state(self.requests.claim(key).await?.as_ref()))
    }

    async fn users_of(&self, key: Option<&ClaimKey>) -> Result<ClaimUsers, MoveError> {
        match key {
            Some(key) => self.requests.users(key).await,
            None => Ok(ClaimUsers::Pods(Vec::new())),
        }
    }

    async fn read_partner(&self) -> Result<SwapPartner, MoveError> {
        let Goal::Swap(_, name) = &self.journal.goal else { return Ok(SwapPartner::None) };
        let partner = self.requests.volume(name).await?.and_then(|partner| partner.recorded);
        Ok(match partner {
            Some(Journal { goal: Goal::Swap(to, with), origin_uid: Some(uid), .. })
                if to == self.journal.origin && with == self.stored.moved.name =>
            {
                SwapPartner::Ready(uid)
            }
            Some(_) | None => SwapPartner::NotReady,
        })
    }

    async fn write(&self, write: &MoveWrite) -> Result<Written, MoveError> {
        let copy = match write {
            MoveWrite::Record => new_copy(self.requests, &self.stored).await?,
            MoveWrite::DeleteClaim(..)
            | MoveWrite::CreateClaim(_)
            | MoveWrite::Reserve(..)
            | MoveWrite::Fence(..)
            | MoveWrite::Finish => None,
        };
        let request = WriteRequest::of_move(write, &self.stored, &self.journal, copy.as_ref());
        request.send(self.requests).await
    }
}

/// Returns the copy of the claim that has the volume; nothing if the move has recorded one, or the claim is gone.
pub(super) async fn new_copy(
    requests: &MoveRequests,
    stored: &StoredVolume,
) -> Result<Option<Value>, MoveError> {
    let Reservation::Held(key, _) = &stored.moved.reservation else { return Ok(None) };
    if has_copy(stored) {
        return Ok(None);
    }
    Ok(copy_of(stored, requests.claim(key).await?.as_ref()))
}

fn has_copy(stored: &StoredVolume) -> bool {
    stored.recorded.is_some() && recorded_copy(&stored.object).is_some()
}

/// Returns the copy that the first write of a move records of `holder`, the claim of the name in `spec.claimRef`; nothing
/// under the same conditions.
pub fn copy_of(stored: &StoredVolume, holder: Option<&StoredClaim>) -> Option<Value> {
    let uid = stored.moved.reservation.uid().filter(|_| !has_copy(stored))?;
    let holder = holder.filter(|holder| holder.claim.uid.as_ref() == Some(uid))?;
    Some(claim_copy(&holder.object))
}

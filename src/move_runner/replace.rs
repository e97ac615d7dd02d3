//! One step of making a volume again that is being deleted.

use serde_json::json;

use super::advance::new_copy;
use super::error::MoveError;
use super::requests::{MoveRequests, StoredClaim, StoredVolume, Written};
use super::write_request::WriteRequest;
use crate::api::moves::{is_replacement, replaced};
use crate::model::{Reservation, VolumeName};
use crate::moves::{
    ClaimRead, ClaimUsers, Journal, MoveProblem, MoveWaiting, ReplacementEvidence, ReplacementRead,
    ReplacementStep, ReplacementWrite, decide_replacement, replacement_name,
};

/// How far a replacement has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplacementAdvance {
    /// This write was made.
    Made(ReplacementWrite),
    /// An object has changed between the read and the write: the step is decided again.
    Changed,
    /// It waits for this.
    Waiting(MoveWaiting),
    /// A person has to solve this.
    Stopped(MoveProblem),
    /// The former volume is gone: the move of the replacement goes on.
    Ended,
}

/// Returns whether `stored` was made in the place of the volume of this name.
pub fn is_replacement_of(stored: &StoredVolume, former: &VolumeName) -> bool {
    is_replacement(&stored.object, former, None)
}

/// Returns the volume in whose place `stored` was made, as it was when its journal was recorded, if the journal is not on
/// `stored` yet.
pub fn vanished_former(stored: &StoredVolume) -> Option<StoredVolume> {
    let (name, uid) = replaced(&stored.object).filter(|_| stored.recorded.is_none())?;
    let mut object = stored.object.clone();
    object["metadata"]["name"] = json!(name.as_str());
    object["metadata"]["uid"] = json!(uid.to_string());
    // When it was deleted is not known, and nothing asks for it.
    object["metadata"]["deletionTimestamp"] = object["metadata"]["creationTimestamp"].clone();
    let former = StoredVolume::read(&object.to_string()).ok()?;
    former.recorded.is_some().then_some(former)
}

/// Makes the next step of replacing `former`, as it was read first, for the move that `journal` describes.
///
/// # Errors
///
/// A request failed. Whether its write was made shows in the next call.
pub async fn advance_replacement(
    requests: &MoveRequests,
    former: &StoredVolume,
    journal: &Journal,
) -> Result<ReplacementAdvance, MoveError> {
    let seen = Seen::read(requests, former).await?;
    let recorded = seen.former.as_ref().map(|former| (&former.moved, former.recorded.as_ref()));
    let evidence = ReplacementEvidence {
        former: recorded,
        name: &seen.name,
        replacement: &seen.replacement,
        holder: &seen.holder,
        users: &seen.users,
    };
    let write = match decide_replacement(&evidence, journal) {
        ReplacementStep::Wait(waiting) => return Ok(ReplacementAdvance::Waiting(waiting)),
        ReplacementStep::Stop(problem) => return Ok(ReplacementAdvance::Stopped(problem)),
        ReplacementStep::Move => return Ok(ReplacementAdvance::Ended),
        ReplacementStep::Write(write) => write,
    };
    Ok(match seen.write(requests, journal, &write).await? {
        Written::Made => ReplacementAdvance::Made(write),
        Written::Stale => ReplacementAdvance::Changed,
    })
}

/// What was read for one step.
struct Seen {
    name: VolumeName,
    /// The volume that is being deleted; absent once it is gone.
    former: Option<StoredVolume>,
    replacement: ReplacementRead,
    stored: Option<StoredVolume>,
    holder: ClaimRead,
    users: ClaimUsers,
}

impl Seen {
    async fn read(requests: &MoveRequests, first: &StoredVolume) -> Result<Self, MoveError> {
        let (former_name, uid) = (&first.moved.name, &first.moved.uid);
        let name = replacement_name(former_name, uid);
        let former = requests.volume(former_name).await?;
        // Another one of its name is made by somebody else.
        let former = former.filter(|former| former.moved.uid == *uid);
        let stored = requests.volume(&name).await?;
        let replacement = match &stored {
            None => ReplacementRead::Absent,
            Some(stored) if is_replacement(&stored.object, former_name, Some(uid)) => {
                let (deletion, is_recorded) = (stored.moved.deletion, stored.recorded.is_some());
                ReplacementRead::Present { deletion, is_recorded }
            }
            Some(_) => ReplacementRead::Foreign,
        };
        let (holder, users) = match &first.moved.reservation {
            Reservation::Held(key, _) => {
                let holder = StoredClaim::state(requests.claim(key).await?.as_ref());
                (holder, requests.users(key).await?)
            }
            Reservation::Free | Reservation::Named(_) | Reservation::Incomplete(..) => {
                (ClaimRead::Absent, ClaimUsers::Unread)
            }
        };
        Ok(Self { name, former, replacement, stored, holder, users })
    }

    async fn write(
        &self,
        requests: &MoveRequests,
        journal: &Journal,
        write: &ReplacementWrite,
    ) -> Result<Written, MoveError> {
        let former = self.former.as_ref();
        let copy = match (write, former) {
            (ReplacementWrite::Retain, Some(former)) => new_copy(requests, former).await?,
            (
                ReplacementWrite::Retain
                | ReplacementWrite::Create
                | ReplacementWrite::Record
                | ReplacementWrite::DeleteClaim(..),
                _,
            ) => None,
        };
        let replacement = (&self.name, self.stored.as_ref());
        let request =
            WriteRequest::of_replacement(write, former, replacement, journal, copy.as_ref());
        match request {
            Some(request) => request.send(requests).await,
            None => Ok(Written::Stale),
        }
    }
}

//! One step of a volume: reads until the step is known, then at most one write.

use jiff::Timestamp;
use serde_json::Value;

use super::watched::recorded;
use crate::api::moves::{claim_copy, is_moving, recorded_copy};
use crate::api::trash::{is_emptied, own_keep, trash_patch};
use crate::model::{Reservation, VolumeName};
use crate::move_runner::{MoveError, MoveRequests, StoredClaim, StoredVolume, Written};
use crate::moves::ClaimRead;
use crate::trash::{
    ClaimCopy, Clock, Retention, TrashEvidence, TrashPolicy, TrashRecord, TrashState, TrashStep,
    TrashWrite, decide_trash,
};

/// How a step ended.
#[derive(Clone, Debug)]
pub enum TrashEnd {
    /// There is nothing to do.
    Settled(TrashState),
    /// This write was made to this volume.
    Made(TrashWrite, Box<StoredVolume>),
    /// The volume has changed between the read and the write: the step is decided again.
    Changed,
    /// There is no such volume.
    Gone,
}

/// Why a step failed. Nothing is lost: the next call goes on.
#[derive(Debug, thiserror::Error)]
pub enum TrashError {
    /// A request failed.
    #[error(transparent)]
    Move(#[from] MoveError),
    /// The trash record cannot be read.
    #[error(
        "the annotation bindery.dev/trash of PV \"{volume}\" cannot be read: {error}; its reclaim policy stays Retain until \
         the annotation is corrected or removed"
    )]
    Record {
        /// The volume.
        volume: VolumeName,
        /// Why it cannot be read.
        error: serde_json::Error,
    },
    /// The answer of the API server does not say the time.
    #[error(
        "the API server does not say the time, in the header Date; a PV stays in the trash until it does: a proxy may remove \
         it"
    )]
    NoServerTime,
}

/// Makes the next step of a volume. `watched_since` is since when this process has looked after volumes.
///
/// # Errors
///
/// A request failed. Whether its write was made shows in the next call.
pub async fn trash_step(
    requests: &MoveRequests,
    name: &VolumeName,
    policy: &TrashPolicy,
    watched_since: Timestamp,
) -> Result<TrashEnd, TrashError> {
    let Some(stored) = requests.volume(name).await? else { return Ok(TrashEnd::Gone) };
    let mut seen = Seen::new(requests, stored, policy, watched_since)?;
    loop {
        match decide_trash(&seen.evidence()) {
            TrashStep::Settled(state) => return Ok(TrashEnd::Settled(state)),
            TrashStep::ReadClaim => seen.read_claim().await?,
            TrashStep::ReadClock => seen.clock = seen.read_clock().await?,
            TrashStep::Write(write) => {
                return Ok(match seen.write(&write).await? {
                    Written::Made => TrashEnd::Made(write, Box::new(seen.stored)),
                    Written::Stale => TrashEnd::Changed,
                });
            }
        }
    }
}

/// What was read for one step.
struct Seen<'a> {
    requests: &'a MoveRequests,
    stored: StoredVolume,
    record: Option<TrashRecord>,
    retention: Retention,
    claim: ClaimRead,
    /// The copy of the claim that has the volume.
    copy: Option<Value>,
    clock: Clock,
    watched_since: Timestamp,
}

impl<'a> Seen<'a> {
    fn new(
        requests: &'a MoveRequests,
        stored: StoredVolume,
        policy: &TrashPolicy,
        watched_since: Timestamp,
    ) -> Result<Self, TrashError> {
        let annotations = &stored.object["metadata"]["annotations"];
        let moved = &stored.moved;
        let record = recorded(annotations, &moved.uid)
            .map_err(|error| TrashError::Record { volume: moved.name.clone(), error })?;
        let namespace = moved.reservation.key().map_or("", |key| &*key.namespace);
        let retention =
            policy.retention(stored.volume.class().as_class(), namespace, own_keep(annotations));
        let (claim, copy, clock) = (ClaimRead::Unread, None, Clock::Unread);
        Ok(Self { requests, stored, record, retention, claim, copy, clock, watched_since })
    }

    fn evidence(&self) -> TrashEvidence<'_> {
        let copy = match &self.copy {
            None => ClaimCopy::Unread,
            Some(_) if self.copy == recorded_copy(&self.stored.object) => ClaimCopy::Current,
            Some(_) => ClaimCopy::Outdated,
        };
        let annotations = &self.stored.object["metadata"]["annotations"];
        TrashEvidence {
            volume: &self.stored.moved,
            is_moving: is_moving(annotations, &self.stored.moved.uid),
            record: self.record.as_ref(),
            retention: self.retention,
            is_emptied: is_emptied(annotations, self.record.as_ref()),
            claim: &self.claim,
            copy,
            clock: self.clock,
            watched_since: self.watched_since,
        }
    }

    async fn read_claim(&mut self) -> Result<(), TrashError> {
        let Reservation::Held(key, uid) = &self.stored.moved.reservation else {
            self.claim = ClaimRead::Absent;
            return Ok(());
        };
        let claim = self.requests.claim(key).await?;
        let own = claim.as_ref().filter(|claim| claim.claim.uid.as_ref() == Some(uid));
        self.copy = own.map(|claim| claim_copy(&claim.object));
        self.claim = StoredClaim::state(claim.as_ref());
        Ok(())
    }

    async fn read_clock(&self) -> Result<Clock, TrashError> {
        let server = self.requests.server_time(&self.stored.moved.name).await?;
        let server = server.ok_or(TrashError::NoServerTime)?;
        let own = Timestamp::now();
        Ok(Clock::Between { earliest: own.min(server), latest: own.max(server) })
    }

    async fn write(&mut self, write: &TrashWrite) -> Result<Written, TrashError> {
        match write {
            // While the claim is there, what it says now.
            TrashWrite::Hold(_) | TrashWrite::Copy(_) if self.copy.is_none() => {
                self.read_claim().await?;
            }
            TrashWrite::Hold(_)
            | TrashWrite::Copy(_)
            | TrashWrite::Record(_)
            | TrashWrite::OfferToName(..)
            | TrashWrite::ReserveForGone(..)
            | TrashWrite::Restore(_) => {}
        }
        let volume = &self.stored.moved;
        let patch = trash_patch(volume, write, self.copy.as_ref());
        Ok(self.requests.patch_volume(&volume.name, &patch).await?)
    }
}

//! Decides the next step of a volume of the trash.

use jiff::{SignedDuration, Timestamp};

use super::evidence::{ClaimCopy, Clock, Retention, TrashEvidence};
use super::record::{Release, ReturnTo, TrashRecord};
use crate::model::{ClaimKey, Deletion, ReclaimPolicy, Reservation, Uid, VolumePhase};
use crate::moves::{ClaimRead, LiveClaim};

/// How long a process looks after volumes before one goes. An hour: a person who restores etcd needs that to see which volumes
/// are in use; disks that are paid for an hour longer after each change of the leader cost little.
const SETTLING_TIME_MAX: SignedDuration = SignedDuration::from_hours(1);

/// The next step of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrashStep {
    /// There is nothing to do until something changes, or until the time in the state.
    Settled(TrashState),
    /// The claim of the name in `spec.claimRef` has to be read.
    ReadClaim,
    /// The time has to be asked for.
    ReadClock,
    /// This write.
    Write(TrashWrite),
}

/// Why there is nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrashState {
    /// It follows its reclaim policy.
    NotHeld,
    /// Its claim has it, and it is held for the time after.
    Held,
    /// It stays until then.
    Staying(Timestamp),
    /// A move has a journal on it.
    Moving,
    /// It is being deleted: no write keeps it.
    Terminating,
    /// The binder has something to do first.
    AwaitsBinder,
    /// A claim of another uid names it: nothing is deleted that a claim waits for.
    NamedByClaim,
    /// A person has reserved it for a name: nothing is deleted that a person gives to a claim.
    ReservedByHand,
    /// `spec.claimRef` names no claim, so nothing says whose data it has.
    Unreserved,
    /// How long it is to stay cannot be read.
    RetentionUnreadable,
}

/// A write to the volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrashWrite {
    /// Sets Retain and records the policy before, with a copy of the claim if there is one.
    Hold(TrashRecord),
    /// Records the claim as it is now, under the same record.
    Copy(TrashRecord),
    /// Records a release, another time of its end, or that a claim has the volume again.
    Record(TrashRecord),
    /// Points `spec.claimRef` to the name alone, so that any claim of that name gets the volume, and records that.
    OfferToName(TrashRecord, ClaimKey),
    /// Points `spec.claimRef` to the claim that is gone, so that no other claim gets the volume, and records that.
    ReserveForGone(TrashRecord, ClaimKey, Uid),
    /// Sets the policy of before, and removes the record.
    Restore(ReclaimPolicy),
}

/// Decides the next step.
pub fn decide_trash(evidence: &TrashEvidence<'_>) -> TrashStep {
    let volume = evidence.volume;
    if volume.deletion == Deletion::Terminating {
        return TrashStep::Settled(TrashState::Terminating);
    }
    if evidence.is_moving {
        return TrashStep::Settled(TrashState::Moving);
    }
    if evidence.retention == Retention::Unreadable {
        return TrashStep::Settled(TrashState::RetentionUnreadable);
    }
    match evidence.record {
        None => unheld(evidence),
        Some(record) => held(evidence, record),
    }
}

/// A volume without a record is held once it is bound. One that is Released may be in deletion already.
fn unheld(evidence: &TrashEvidence<'_>) -> TrashStep {
    let volume = evidence.volume;
    let is_bound =
        volume.phase == VolumePhase::Bound && matches!(volume.reservation, Reservation::Held(..));
    match evidence.retention {
        Retention::For(keep, return_to) if is_bound && destroys(&volume.policy) => {
            let policy = volume.policy.clone();
            let record = TrashRecord { policy, keep, return_to, release: None };
            TrashStep::Write(TrashWrite::Hold(record))
        }
        Retention::For(..) | Retention::None | Retention::Unreadable => {
            TrashStep::Settled(TrashState::NotHeld)
        }
    }
}

/// Whether storage of this policy does not outlive its claim.
fn destroys(policy: &ReclaimPolicy) -> bool {
    match policy {
        ReclaimPolicy::Delete | ReclaimPolicy::Recycle => true,
        ReclaimPolicy::Retain | ReclaimPolicy::Newer(_) => false,
    }
}

fn held(evidence: &TrashEvidence<'_>, record: &TrashRecord) -> TrashStep {
    let volume = evidence.volume;
    // A person has set another policy after the release: what it says may be under way.
    if volume.policy != ReclaimPolicy::Retain && volume.phase != VolumePhase::Bound {
        return TrashStep::Settled(TrashState::NotHeld);
    }
    match &volume.reservation {
        Reservation::Free | Reservation::Incomplete(..) => {
            TrashStep::Settled(TrashState::Unreserved)
        }
        Reservation::Named(key) => match &record.release {
            Some(release) if release.is_offered && release.key == *key => {
                offered(evidence, record, release)
            }
            // Without a release: its claim was deleted and it was reserved before this process saw it.
            Some(_) | None => TrashStep::Settled(TrashState::ReservedByHand),
        },
        Reservation::Held(key, uid) => match volume.phase {
            VolumePhase::Bound => bound(evidence, record, uid),
            VolumePhase::Released => released(evidence, record, key, uid),
            VolumePhase::Pending
            | VolumePhase::Available
            | VolumePhase::Failed
            | VolumePhase::Unknown(_) => TrashStep::Settled(TrashState::AwaitsBinder),
        },
    }
}

/// A claim has the volume.
fn bound(evidence: &TrashEvidence<'_>, record: &TrashRecord, uid: &Uid) -> TrashStep {
    if evidence.volume.policy != ReclaimPolicy::Retain {
        // A person has set another policy. It is what is set again at the end.
        let policy = evidence.volume.policy.clone();
        return TrashStep::Write(match evidence.retention {
            Retention::For(keep, return_to) if destroys(&policy) => {
                TrashWrite::Hold(TrashRecord { policy, keep, return_to, release: None })
            }
            Retention::For(..) | Retention::None | Retention::Unreadable => {
                TrashWrite::Restore(policy)
            }
        });
    }
    let claim = match evidence.claim {
        ClaimRead::Unread if is_current(evidence, record) => {
            return TrashStep::Settled(TrashState::Held);
        }
        ClaimRead::Unread => return TrashStep::ReadClaim,
        ClaimRead::Present(claim) if claim.uid == *uid => claim,
        ClaimRead::Absent | ClaimRead::Present(_) => {
            return TrashStep::Settled(TrashState::AwaitsBinder);
        }
    };
    if !claim.names(&evidence.volume.name) {
        return TrashStep::Settled(TrashState::AwaitsBinder);
    }
    match evidence.retention {
        Retention::None | Retention::Unreadable => {
            TrashStep::Write(TrashWrite::Restore(record.policy.clone()))
        }
        Retention::For(keep, return_to)
            if record.release.is_some() || (record.keep, record.return_to) != (keep, return_to) =>
        {
            let policy = record.policy.clone();
            let record = TrashRecord { policy, keep, return_to, release: None };
            TrashStep::Write(TrashWrite::Record(record))
        }
        Retention::For(..) if evidence.copy != ClaimCopy::Current => {
            TrashStep::Write(TrashWrite::Copy(record.clone()))
        }
        Retention::For(..) => TrashStep::Settled(TrashState::Held),
    }
}

/// Whether a bound volume needs no step, as far as is known without its claim.
fn is_current(evidence: &TrashEvidence<'_>, record: &TrashRecord) -> bool {
    evidence.retention == Retention::For(record.keep, record.return_to)
        && record.release.is_none()
        && evidence.copy == ClaimCopy::Current
}

/// The claim is gone, and the volume is reserved for it.
fn released(
    evidence: &TrashEvidence<'_>,
    record: &TrashRecord,
    key: &ClaimKey,
    uid: &Uid,
) -> TrashStep {
    let is_named = match evidence.claim {
        ClaimRead::Unread => return TrashStep::ReadClaim,
        // The binder has seen its deletion, or has not seen it yet: a later read shows which.
        ClaimRead::Present(LiveClaim { uid: present, .. }) if present == uid => {
            return TrashStep::Settled(TrashState::AwaitsBinder);
        }
        ClaimRead::Present(other) => other.names(&evidence.volume.name),
        ClaimRead::Absent => false,
    };
    let Clock::Between { earliest, latest } = evidence.clock else { return TrashStep::ReadClock };
    // The volume may have had another claim since.
    let known = record.release.as_ref().filter(|release| release.claim == *uid);
    let at = known.map_or(latest, |release| release.at);
    let until = end(evidence, record, at, known);
    let release = Release {
        key: key.clone(),
        claim: uid.clone(),
        at,
        until,
        is_offered: known.is_some_and(|release| release.is_offered),
    };
    let return_to = evidence.retention.return_to();
    let is_outdated = record.return_to != return_to;
    let release = TrashRecord { release: Some(release), return_to, ..record.clone() };
    if is_outdated || known.is_none_or(|known| known.until != until) {
        // By a write of its own: nothing ends at a time that no earlier version of the volume shows.
        return TrashStep::Write(TrashWrite::Record(release));
    }
    if earliest < until {
        return match evidence.retention {
            Retention::For(_, ReturnTo::SameName) => {
                TrashStep::Write(TrashWrite::OfferToName(offer(release, true), key.clone()))
            }
            Retention::For(_, ReturnTo::Rescue) | Retention::None | Retention::Unreadable => {
                TrashStep::Settled(TrashState::Staying(until))
            }
        };
    }
    if is_named {
        return TrashStep::Settled(TrashState::NamedByClaim);
    }
    let settled = settled(evidence, record);
    if earliest < settled && !evidence.is_emptied {
        return TrashStep::Settled(TrashState::Staying(settled));
    }
    TrashStep::Write(TrashWrite::Restore(record.policy.clone()))
}

/// The claim is gone, and any claim of its name may have the volume.
fn offered(evidence: &TrashEvidence<'_>, record: &TrashRecord, release: &Release) -> TrashStep {
    if evidence.volume.phase == VolumePhase::Bound {
        return TrashStep::Settled(TrashState::AwaitsBinder);
    }
    let Clock::Between { earliest, .. } = evidence.clock else { return TrashStep::ReadClock };
    let until = end(evidence, record, release.at, Some(release));
    if release.until != until {
        let release = Some(Release { until, ..release.clone() });
        return TrashStep::Write(TrashWrite::Record(TrashRecord { release, ..record.clone() }));
    }
    match evidence.retention {
        Retention::For(_, ReturnTo::SameName) if earliest < until => {
            TrashStep::Settled(TrashState::Staying(until))
        }
        Retention::For(..) | Retention::None | Retention::Unreadable => {
            let (key, uid) = (release.key.clone(), release.claim.clone());
            TrashStep::Write(TrashWrite::ReserveForGone(offer(record.clone(), false), key, uid))
        }
    }
}

/// The record that says whether the volume is offered.
fn offer(mut record: TrashRecord, is_offered: bool) -> TrashRecord {
    if let Some(release) = &mut record.release {
        release.is_offered = is_offered;
    }
    record
}

/// Before this time, nothing goes that a person does not want to go. After a restore of etcd, a volume that was rescued since
/// the backup looks as if its time were over: nothing in the API tells them apart.
fn settled(evidence: &TrashEvidence<'_>, record: &TrashRecord) -> Timestamp {
    let pause = record.keep.min(SETTLING_TIME_MAX);
    evidence.watched_since.checked_add(pause).unwrap_or(Timestamp::MAX)
}

/// When a volume goes that was released at this time. Other settings make that later and never earlier: a file that is
/// missing for a moment would empty the trash. A person makes it earlier.
fn end(
    evidence: &TrashEvidence<'_>,
    record: &TrashRecord,
    at: Timestamp,
    known: Option<&Release>,
) -> Timestamp {
    if evidence.is_emptied {
        return at;
    }
    let keep = match evidence.retention {
        Retention::For(keep, _) => keep.max(record.keep),
        Retention::None | Retention::Unreadable => record.keep,
    };
    // The last time that there is, if it would be beyond it.
    let until = at.checked_add(keep).unwrap_or(Timestamp::MAX);
    known.map_or(until, |known| until.max(known.until))
}

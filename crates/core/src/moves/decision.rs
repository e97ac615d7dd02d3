//! The next step of a move.
//!
//! The claim that has the volume is deleted before the next one is created. The volume stays reserved for the uid of the
//! deleted claim meanwhile, which no claim gets again; so the same steps restore a claim that was deleted long ago.

use super::evidence::{ClaimRead, ClaimUsers, LiveClaim, MoveEvidence, SwapPartner};
use super::journal::{Direction, Goal, Journal};
use super::problem::MoveProblem;
use super::waiting::MoveWaiting;
use crate::model::{
    ClaimKey, Deletion, ReclaimPolicy, Reservation, ResourceVersion, Uid, VolumePhase,
};

/// The next step of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveStep {
    /// Nothing, until an object that was read changes.
    Wait(MoveWaiting),
    /// Nothing, until a person has solved this.
    Stop(MoveProblem),
    /// Nothing: the move has ended.
    End,
    /// A live read, then the question again.
    Read(MoveRead),
    /// This write, then the question again.
    Write(MoveWrite),
}

/// A write of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveWrite {
    /// Sets the reclaim policy to Retain and records the journal, in one write.
    Record,
    /// Deletes a claim, if it still has this uid and version.
    DeleteClaim(ClaimKey, Uid, ResourceVersion),
    /// Creates the claim to which the move leads. It names the volume.
    CreateClaim(ClaimKey),
    /// Points `spec.claimRef` to this claim.
    Reserve(ClaimKey, Uid),
    /// Writes to a claim by which journal it stays, if it still has this uid and version. A deletion of the claim that was
    /// decided before is then rejected, whenever it arrives.
    Fence(ClaimKey, Uid, ResourceVersion),
    /// Sets the former reclaim policy and removes the journal, in one write.
    Finish,
}

/// What a step needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveRead {
    /// The claim that `spec.claimRef` names.
    Holder,
    /// The pods that use it.
    HolderUsers,
    /// The claim to which the move leads.
    Target,
    /// The claim to which the move led before it was undone.
    Abandoned,
    /// The pods that use that one.
    AbandonedUsers,
    /// The other volume of a swap.
    Partner,
}

/// Returns the next step of the move that `journal` describes.
///
/// `journal` is the one on the volume if the move is resumed, else the one to begin with. Every write is conditional on the
/// version of the object that was read.
pub fn decide_move(seen: &MoveEvidence<'_>, journal: &Journal) -> MoveStep {
    let volume = seen.volume;
    if volume.deletion == Deletion::Terminating {
        return MoveStep::Stop(MoveProblem::VolumeTerminating(volume.name.clone()));
    }
    match seen.recorded {
        Some(recorded) if recorded == journal && volume.policy == ReclaimPolicy::Retain => {}
        Some(recorded) if recorded == journal || recorded.is_undone_by(journal) => {
            return MoveStep::Write(MoveWrite::Record);
        }
        Some(recorded) => {
            return MoveStep::Stop(MoveProblem::OtherMove(recorded.goal.claim().clone()));
        }
        None => return unrecorded(seen, journal),
    }
    // A person has given it to another claim, which may be gone again: its data is not that of the move.
    if let Some(key) = volume.reservation.key().filter(|key| !journal.concerns(key)) {
        return MoveStep::Stop(MoveProblem::GivenAway(volume.name.clone(), key.clone()));
    }
    let Reservation::Held(key, uid) = &volume.reservation else {
        return without_holder(seen, journal);
    };
    match seen.holder {
        ClaimRead::Unread => MoveStep::Read(MoveRead::Holder),
        ClaimRead::Present(claim) if claim.uid == *uid => match &claim.volume {
            // It is being bound: what the binder writes next shows whether it gets this volume.
            None => MoveStep::Wait(MoveWaiting::Binder(key.clone())),
            Some(named) if *named != volume.name => without_holder(seen, journal),
            Some(_) if key == journal.goal.claim() => arrived(seen, journal, claim),
            Some(_) => remove_holder(seen, journal, key, claim),
        },
        ClaimRead::Absent | ClaimRead::Present(_) => without_holder(seen, journal),
    }
}

/// There is no journal on the volume: the move has ended, or is to begin.
fn unrecorded(seen: &MoveEvidence<'_>, journal: &Journal) -> MoveStep {
    let volume = seen.volume;
    let holder = volume.reservation.uid();
    let is_at_goal = volume.reservation.key() == Some(journal.goal.claim());
    if is_at_goal && holder.is_some() && holder != journal.origin_uid.as_ref() {
        return MoveStep::End;
    }
    let is_as_planned = volume.reservation.key() == Some(&journal.origin)
        && holder == journal.origin_uid.as_ref()
        && volume.policy == journal.policy;
    match (seen.is_begun, is_as_planned) {
        (false, true) => MoveStep::Write(MoveWrite::Record),
        (false, false) => MoveStep::Stop(MoveProblem::Changed(volume.name.clone())),
        // Back at its origin, whose claim was not deleted.
        (true, true) if is_at_goal => MoveStep::End,
        (true, _) => MoveStep::Stop(MoveProblem::JournalGone(volume.name.clone())),
    }
}

/// The volume is reserved for the claim to which the move leads.
fn arrived(seen: &MoveEvidence<'_>, journal: &Journal, claim: &LiveClaim) -> MoveStep {
    let key = journal.goal.claim();
    // With the former policy, its data would be deleted with it.
    if claim.deletion == Deletion::Terminating {
        return MoveStep::Wait(MoveWaiting::ClaimTerminating(key.clone(), Vec::new()));
    }
    if !claim.is_bound || seen.volume.phase != VolumePhase::Bound {
        return MoveStep::Wait(MoveWaiting::Binder(key.clone()));
    }
    if needs_fence(journal, claim) {
        let (uid, version) = (claim.uid.clone(), claim.version.clone());
        return MoveStep::Write(MoveWrite::Fence(key.clone(), uid, version));
    }
    finish(seen, journal, &claim.uid)
}

/// Returns whether a deletion of this claim may still be on its way: another process may have decided on it before the move
/// was undone.
fn needs_fence(journal: &Journal, claim: &LiveClaim) -> bool {
    match journal.direction {
        Direction::Forward => false,
        Direction::Back { .. } => {
            let is_origin = journal.origin_uid.as_ref() == Some(&claim.uid);
            is_origin && claim.fence.as_ref() != Some(&journal.begun_on)
        }
    }
}

/// The claim that has the volume is to be deleted.
fn remove_holder(
    seen: &MoveEvidence<'_>,
    journal: &Journal,
    key: &ClaimKey,
    claim: &LiveClaim,
) -> MoveStep {
    // Another process, or a person, has given the volume to a claim that this move knows nothing of.
    let is_origin = journal.origin_uid.as_ref() == Some(&claim.uid);
    if !is_origin && journal.abandoned() != Some(key) {
        return MoveStep::Stop(MoveProblem::Changed(seen.volume.name.clone()));
    }
    let ClaimUsers::Pods(pods) = seen.users else {
        return MoveStep::Read(MoveRead::HolderUsers);
    };
    let delete = delete_unused(key, claim, pods);
    // Each claim of a swap takes the name of the other: both moves are recorded before the first claim is deleted.
    match (&journal.goal, seen.partner, &delete) {
        (Goal::Swap(..), SwapPartner::None | SwapPartner::Unread, MoveStep::Write(_)) => {
            MoveStep::Read(MoveRead::Partner)
        }
        (Goal::Swap(_, partner), SwapPartner::NotReady, MoveStep::Write(_)) => {
            MoveStep::Wait(MoveWaiting::PartnerNotReady(partner.clone()))
        }
        (Goal::Claim(_) | Goal::Swap(..), _, _) => delete,
    }
}

/// Deletes a claim once no pod names it.
fn delete_unused(key: &ClaimKey, claim: &LiveClaim, pods: &[Box<str>]) -> MoveStep {
    match claim.deletion {
        Deletion::Terminating => {
            MoveStep::Wait(MoveWaiting::ClaimTerminating(key.clone(), pods.to_vec()))
        }
        Deletion::NotAsked if pods.is_empty() => MoveStep::Write(MoveWrite::DeleteClaim(
            key.clone(),
            claim.uid.clone(),
            claim.version.clone(),
        )),
        Deletion::NotAsked => MoveStep::Wait(MoveWaiting::ClaimInUse(key.clone(), pods.to_vec())),
    }
}

/// No claim has the volume.
fn without_holder(seen: &MoveEvidence<'_>, journal: &Journal) -> MoveStep {
    let key = journal.goal.claim();
    match seen.target {
        ClaimRead::Unread => MoveStep::Read(MoveRead::Target),
        ClaimRead::Absent => MoveStep::Write(MoveWrite::CreateClaim(key.clone())),
        ClaimRead::Present(claim) if claim.deletion == Deletion::Terminating => {
            MoveStep::Wait(MoveWaiting::ClaimTerminating(key.clone(), Vec::new()))
        }
        ClaimRead::Present(claim) if claim.names(&seen.volume.name) => {
            MoveStep::Write(MoveWrite::Reserve(key.clone(), claim.uid.clone()))
        }
        // Its owner has created it: the binder gives it the volume that is reserved for its name.
        ClaimRead::Present(claim)
            if claim.volume.is_none()
                && seen.volume.reservation == Reservation::Named(key.clone()) =>
        {
            MoveStep::Wait(MoveWaiting::Binder(key.clone()))
        }
        ClaimRead::Present(claim) => name_taken(seen, journal, claim),
    }
}

/// The name to which the move leads is that of a claim that does not name the volume.
fn name_taken(seen: &MoveEvidence<'_>, journal: &Journal, claim: &LiveClaim) -> MoveStep {
    let taken = MoveStep::Stop(MoveProblem::name_taken(journal.goal.claim(), claim));
    let Goal::Swap(_, partner) = &journal.goal else { return taken };
    match seen.partner {
        SwapPartner::None | SwapPartner::Unread => MoveStep::Read(MoveRead::Partner),
        SwapPartner::Ready(former) if *former == claim.uid => {
            MoveStep::Wait(MoveWaiting::PartnerNotReady(partner.clone()))
        }
        SwapPartner::Ready(_) | SwapPartner::NotReady => taken,
    }
}

/// The claim with the uid `holder` has the volume, and the move has arrived.
fn finish(seen: &MoveEvidence<'_>, journal: &Journal, holder: &Uid) -> MoveStep {
    let Some(key) = journal.abandoned() else { return MoveStep::Write(MoveWrite::Finish) };
    match seen.abandoned {
        ClaimRead::Unread => MoveStep::Read(MoveRead::Abandoned),
        ClaimRead::Present(claim) if claim.names(&seen.volume.name) && claim.uid != *holder => {
            match seen.abandoned_users {
                ClaimUsers::Unread => MoveStep::Read(MoveRead::AbandonedUsers),
                ClaimUsers::Pods(pods) => delete_unused(key, claim, pods),
            }
        }
        ClaimRead::Absent | ClaimRead::Present(_) => MoveStep::Write(MoveWrite::Finish),
    }
}

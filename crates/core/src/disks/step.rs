//! The next step for one disk.
//!
//! No step depends on what a former one did: each is chosen from what is seen now, so that a process that is killed at any
//! time resumes from there. Not here: performing the step.

use super::cleaning_job::{CleaningJob, DiskCleaner, JobState};
use super::entry::{Disk, DiskContent, DiskEntry, Unusable};
use super::identity::{DiskComparison, DiskIdentity};
use super::mark::DiskMark;
use super::names::Creator;
use super::observation::{
    ClaimState, DiskObservation, FormerVolume, OnContent, OnManualDelete, OtherVolume,
};
use super::volume::{LocalVolume, LocalVolumeState};
use super::waiting::DiskWaiting;
use crate::model::{
    Deletion, ReclaimPolicy, Reservation, ResourceVersion, Uid, VolumeName, VolumePhase,
};

/// The next step for a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskStep {
    /// Nothing, until one of the things that were observed changes.
    Wait(DiskWaiting),
    /// Read the volume of the entry's name from the API server.
    ReadVolume,
    /// Read from the API server whether a volume of another name was made for the disk.
    ReadOtherVolume,
    /// Read the claim of the volume from the API server.
    ReadClaim,
    /// Read from the API server whether this volume, in whose place another one was made, is gone, or one of another disk
    /// has its name.
    ReadFormer(VolumeName),
    /// Read what is on the disk: the listing of a file system, samples of a block device.
    ReadContent,
    /// Read all of the block device, to prove that it is empty.
    ReadDevice,
    /// Record on the volume what its disk is recognized by.
    Identify(DiskIdentity),
    /// Record on the volume that its disk is not where it was, so that it may be looked for elsewhere.
    RecordMissing(ResourceVersion),
    /// Remove that record: the disk is back.
    RecordPresent(ResourceVersion),
    /// Record this mark; [`DiskMark::Cleaning`] on the volume first, which fails unless it is still the one that was
    /// observed.
    Mark(DiskMark),
    /// Create the volume, reserved for [`ClaimKey::before_offer`](crate::model::ClaimKey::before_offer): however late the API server carries
    /// that out, no claim gets what is on the disk by then.
    Create,
    /// Record [`DiskMark::Offering`], then let claims get the volume of this uid: take its reservation away if it is still there.
    Offer(Uid),
    /// Remove all that is on the disk, prove that it is gone, and record [`DiskMark::Clean`]. Where the volume exists, a
    /// write to it comes first, which fails unless it is still the one that was observed.
    Clean,
    /// Read the Job that cleans the disk from the API server, and whether one of its processes has the disk or has proven
    /// that it cleaned it. The permit is renewed.
    ReadJob,
    /// Permit a Job to clean the disk, and create it. Where the volume exists, a write to it comes first, as for
    /// [`DiskStep::Clean`].
    CreateJob,
    /// Delete the Job of this uid, with its pods.
    DeleteJob(Uid),
    /// Prove that the disk is empty, and record [`DiskMark::Clean`], while nothing else has the disk.
    FinishCleaning,
    /// Revoke the permit of a Job. The disk waits for this then, and as long as a process of the Job has the disk.
    RevokePermit(DiskWaiting),
    /// Delete the volume of this uid, if it still has this version.
    DeleteVolume(Uid, ResourceVersion),
}

/// Returns the next step.
pub fn next_step(seen: &DiskObservation<'_>) -> DiskStep {
    let permit = match seen.scans[0] {
        Some(DiskEntry::Disk(disk)) => disk.permit.as_ref(),
        Some(DiskEntry::Unusable(_)) | None => None,
    };
    let step = decided(seen);
    // A Job that starts later must not clean what is no longer to be cleaned.
    if let (DiskStep::Wait(waiting), Some(_)) = (&step, permit)
        && !waiting.is_of_cleaning()
    {
        return DiskStep::RevokePermit(waiting.clone());
    }
    step
}

fn decided(seen: &DiskObservation<'_>) -> DiskStep {
    let [now, before] = seen.scans;
    let disk = match now {
        None if before.is_some() => return DiskStep::Wait(DiskWaiting::SecondScan),
        None => return withdrawn(seen, DiskWaiting::Gone),
        Some(DiskEntry::Unusable(why)) => {
            let waiting = DiskWaiting::Unusable(why.clone());
            return if before == now { withdrawn(seen, waiting) } else { DiskStep::Wait(waiting) };
        }
        Some(DiskEntry::Disk(disk)) => disk,
    };
    if !is_stable(before, disk) {
        return DiskStep::Wait(DiskWaiting::SecondScan);
    }
    match seen.volume {
        LocalVolumeState::Unread => DiskStep::ReadVolume,
        LocalVolumeState::Present(volume) => with_volume(seen, disk, volume),
        LocalVolumeState::Absent if !disk.identity.is_known() => {
            DiskStep::Wait(DiskWaiting::Unidentified)
        }
        LocalVolumeState::Absent => match offerable(seen, disk, None) {
            Offerable::Yes => DiskStep::Create,
            Offerable::Unknown(step) | Offerable::No(step) => step,
        },
    }
}

/// Returns whether two scans found the same disk: in between, one may be mounted over what the first one found.
fn is_stable(before: Option<&DiskEntry>, disk: &Disk) -> bool {
    let Some(DiskEntry::Disk(before)) = before else { return false };
    (before.form, before.device, &before.identity) == (disk.form, disk.device, &disk.identity)
}

/// The disk of the volume is not there. A free volume would be bound all the same, and its pod would get what is there
/// instead: it is deleted. One that a claim has waits for its disk.
fn withdrawn(seen: &DiskObservation<'_>, waiting: DiskWaiting) -> DiskStep {
    let LocalVolumeState::Present(volume) = seen.volume else { return DiskStep::Wait(waiting) };
    let (uid, version) = (volume.uid.clone(), volume.version.clone());
    match seen.provisioner.creator(&volume.provisioned_by) {
        Creator::Other => return DiskStep::Wait(waiting),
        Creator::Own | Creator::EarlierNode if *volume.path != *seen.path => {
            return DiskStep::Wait(waiting);
        }
        Creator::Own if is_free(volume) => return DiskStep::DeleteVolume(uid, version),
        Creator::EarlierNode if is_free(volume) && volume.is_before_offer() => {
            return DiskStep::DeleteVolume(uid, version);
        }
        Creator::Own | Creator::EarlierNode => {}
    }
    let is_recordable = volume.identity.is_some() && volume.deletion == Deletion::NotAsked;
    if is_recordable && !volume.is_disk_missing && is_elsewhere(&waiting) {
        return DiskStep::RecordMissing(version);
    }
    DiskStep::Wait(waiting)
}

/// Returns whether the disk of a volume is not where that has it. One that cannot be read, or is seen twice, may be.
fn is_elsewhere(waiting: &DiskWaiting) -> bool {
    match waiting {
        DiskWaiting::Gone
        | DiskWaiting::OtherDisk(_)
        | DiskWaiting::Unusable(Unusable::NotMounted) => true,
        DiskWaiting::Unusable(_)
        | DiskWaiting::Offered
        | DiskWaiting::SecondScan
        | DiskWaiting::NotEmpty
        | DiskWaiting::OfferInterrupted
        | DiskWaiting::Unidentified
        | DiskWaiting::OtherVolume(_)
        | DiskWaiting::NameTaken
        | DiskWaiting::EarlierNode
        | DiskWaiting::DeletedByHand(_)
        | DiskWaiting::ReservedWhileCleaned
        | DiskWaiting::CleanedByJob
        | DiskWaiting::JobNotRunning(_)
        | DiskWaiting::JobEnded(..)
        | DiskWaiting::InUse
        | DiskWaiting::ClaimExists
        | DiskWaiting::Retained(_)
        | DiskWaiting::Phase(_)
        | DiskWaiting::Terminating => false,
    }
}

/// Returns whether no claim has the volume, or is to get it.
fn is_free(volume: &LocalVolume) -> bool {
    volume.phase == VolumePhase::Available
        && (volume.reservation == Reservation::Free || volume.is_before_offer())
        && volume.deletion == Deletion::NotAsked
}

fn with_volume(seen: &DiskObservation<'_>, disk: &Disk, volume: &LocalVolume) -> DiskStep {
    let creator = seen.provisioner.creator(&volume.provisioned_by);
    if volume.path.as_ref() != seen.path || creator == Creator::Other {
        return DiskStep::Wait(DiskWaiting::NameTaken);
    }
    if volume.deletion == Deletion::Terminating {
        return DiskStep::Wait(DiskWaiting::Terminating);
    }
    match &volume.identity {
        // Nothing says that this node has the disk of the one before it.
        None if creator == Creator::EarlierNode => return DiskStep::Wait(DiskWaiting::EarlierNode),
        None if disk.identity.is_known() => return DiskStep::Identify(disk.identity.clone()),
        None => return DiskStep::Wait(DiskWaiting::Unidentified),
        Some(recorded) => match disk.identity.compared_with(recorded) {
            DiskComparison::Same => {}
            DiskComparison::Other(feature) => {
                return withdrawn(seen, DiskWaiting::OtherDisk(feature));
            }
            DiskComparison::Unknown => return DiskStep::Wait(DiskWaiting::Unidentified),
        },
    }
    if volume.is_disk_missing || volume.found_at.is_some() {
        return DiskStep::RecordPresent(volume.version.clone());
    }
    if volume.is_before_offer() {
        return before_offer(seen, disk, volume);
    }
    let mark = disk.mark.as_ref().or(volume.mark.as_ref());
    if let Some(other) = mark.and_then(DiskMark::volume).filter(|name| *name != seen.name) {
        return of_other_volume(seen, volume, other);
    }
    match &volume.phase {
        VolumePhase::Pending | VolumePhase::Available | VolumePhase::Bound => {
            serving(seen, mark, volume)
        }
        VolumePhase::Released => released(seen, disk, mark, volume),
        VolumePhase::Failed | VolumePhase::Unknown(_) => {
            DiskStep::Wait(DiskWaiting::Phase(volume.phase.clone()))
        }
    }
}

/// The mark names another volume: the disk had that one at another place before.
fn of_other_volume(
    seen: &DiskObservation<'_>,
    volume: &LocalVolume,
    other: &VolumeName,
) -> DiskStep {
    let is_moved = volume.moved_from.as_ref() == Some(other);
    match seen.former {
        FormerVolume::Unread if is_moved => DiskStep::ReadFormer(other.clone()),
        FormerVolume::Gone if is_moved => DiskStep::Mark(DiskMark::Offered(seen.name.clone())),
        // Two volumes would have one disk.
        FormerVolume::Unread | FormerVolume::Gone | FormerVolume::Exists => {
            DiskStep::Wait(DiskWaiting::OtherVolume(other.clone()))
        }
    }
}

/// Returns whether the disk of a volume was moved here: it is the disk, and it is known not to be where the volume has it.
/// `is_node_lost`: the node of the volume is gone, or stated to be off.
pub fn is_moved_disk(disk: &Disk, volume: &LocalVolume, is_node_lost: bool) -> bool {
    let recorded = volume.identity.as_ref();
    let comparison = recorded.map(|recorded| disk.identity.compared_with(recorded));
    comparison == Some(DiskComparison::Same) && (volume.is_disk_missing || is_node_lost)
}

/// The volume is free, reserved or bound: its disk holds, or may soon hold, what pods write.
fn serving(seen: &DiskObservation<'_>, mark: Option<&DiskMark>, volume: &LocalVolume) -> DiskStep {
    match mark {
        Some(DiskMark::Offered(_)) => DiskStep::Wait(DiskWaiting::Offered),
        None | Some(DiskMark::Offering(..) | DiskMark::Clean) => {
            DiskStep::Mark(DiskMark::Offered(seen.name.clone()))
        }
        // It was given free while its disk was being cleaned: the next claim would get what is left.
        Some(DiskMark::Cleaning(_)) if is_free(volume) => {
            DiskStep::DeleteVolume(volume.uid.clone(), volume.version.clone())
        }
        Some(DiskMark::Cleaning(_)) => DiskStep::Wait(DiskWaiting::ReservedWhileCleaned),
    }
}

/// The claim of the volume is said to be gone.
fn released(
    seen: &DiskObservation<'_>,
    disk: &Disk,
    mark: Option<&DiskMark>,
    volume: &LocalVolume,
) -> DiskStep {
    match &volume.policy {
        ReclaimPolicy::Delete => {}
        ReclaimPolicy::Retain | ReclaimPolicy::Recycle | ReclaimPolicy::Newer(_) => {
            return DiskStep::Wait(DiskWaiting::Retained(volume.policy.clone()));
        }
    }
    if volume.reservation == Reservation::Free {
        return DiskStep::Wait(DiskWaiting::Phase(volume.phase.clone()));
    }
    if let Some(step) = unless_unused(seen, disk, mark) {
        return step;
    }
    match (mark, disk.content) {
        (Some(DiskMark::Cleaning(_)), _) => cleaned(seen, disk),
        (Some(DiskMark::Clean), DiskContent::Unread) => DiskStep::ReadContent,
        (Some(DiskMark::Clean), DiskContent::Empty | DiskContent::ZerosInSamples) => {
            DiskStep::DeleteVolume(volume.uid.clone(), volume.version.clone())
        }
        (Some(DiskMark::Clean), DiskContent::Something)
        | (None | Some(DiskMark::Offering(..) | DiskMark::Offered(_)), _) => {
            DiskStep::Mark(DiskMark::Cleaning(seen.name.clone()))
        }
    }
}

/// Returns what is to be done before a disk may be cleaned; nothing once its claim is gone and no pod uses it.
fn unless_unused(
    seen: &DiskObservation<'_>,
    disk: &Disk,
    mark: Option<&DiskMark>,
) -> Option<DiskStep> {
    match seen.claim {
        ClaimState::Unread => Some(DiskStep::ReadClaim),
        ClaimState::Exists => Some(DiskStep::Wait(DiskWaiting::ClaimExists)),
        ClaimState::Gone if is_used_by_other(seen, disk, mark) => {
            Some(DiskStep::Wait(DiskWaiting::InUse))
        }
        ClaimState::Gone => None,
    }
}

/// Returns whether something has the disk that does not clean it. Whether it is the Job that does, its own steps see.
fn is_used_by_other(seen: &DiskObservation<'_>, disk: &Disk, mark: Option<&DiskMark>) -> bool {
    // One that has a permit may still run after Jobs are used no more.
    let may_be_job = seen.cleaner == DiskCleaner::Job || disk.permit.is_some();
    let is_cleaned_by_job = may_be_job && matches!(mark, Some(DiskMark::Cleaning(_)));
    disk.is_in_use && !is_cleaned_by_job
}

/// The disk is to be cleaned.
fn cleaned(seen: &DiskObservation<'_>, disk: &Disk) -> DiskStep {
    match seen.cleaner {
        DiskCleaner::Job => next_job_step(seen, disk),
        // Jobs were used before: one may still start.
        DiskCleaner::Process if disk.permit.is_some() => {
            DiskStep::RevokePermit(DiskWaiting::CleanedByJob)
        }
        DiskCleaner::Process => DiskStep::Clean,
    }
}

/// Returns the next step for a disk that is to be cleaned by a Job.
fn next_job_step(seen: &DiskObservation<'_>, disk: &Disk) -> DiskStep {
    let CleaningJob::Read { state, is_locked, is_proven, late } = seen.job else {
        return DiskStep::ReadJob;
    };
    if *is_locked {
        return DiskStep::Wait(DiskWaiting::CleanedByJob);
    }
    if disk.is_in_use {
        return DiskStep::Wait(match state {
            // The process of a Job that has just ended had it when the disk was inspected.
            JobState::Terminating | JobState::Active(_) => DiskWaiting::CleanedByJob,
            JobState::Absent | JobState::Other(_) | JobState::Ended { .. } => DiskWaiting::InUse,
        });
    }
    if *is_proven {
        return DiskStep::FinishCleaning;
    }
    match state {
        JobState::Absent => DiskStep::CreateJob,
        JobState::Other(uid) | JobState::Ended { uid, is_retry_due: true, .. } => {
            DiskStep::DeleteJob(uid.clone())
        }
        JobState::Terminating | JobState::Active(_) => DiskStep::Wait(
            late.clone().map_or(DiskWaiting::CleanedByJob, DiskWaiting::JobNotRunning),
        ),
        JobState::Ended { job, outcome, is_retry_due: false, .. } => {
            DiskStep::Wait(DiskWaiting::JobEnded(job.clone(), outcome.clone()))
        }
    }
}

/// Whether a disk may be offered that no claim can get.
enum Offerable {
    Yes,
    /// This step comes first.
    Unknown(DiskStep),
    /// This is to be done about it instead.
    No(DiskStep),
}

/// No volume of the entry's name has the disk, or this one, which no claim can get yet.
fn offerable(seen: &DiskObservation<'_>, disk: &Disk, volume: Option<&LocalVolume>) -> Offerable {
    let mark = match &disk.mark {
        // Its offer has failed so far: nothing was written through it.
        Some(DiskMark::Offering(_, Some(uid))) if volume.is_some_and(|it| it.uid == *uid) => &None,
        mark => mark,
    };
    let other = match seen.other {
        OtherVolume::Unread => return Offerable::Unknown(DiskStep::ReadOtherVolume),
        OtherVolume::Present(other) => Some(other),
        OtherVolume::Absent => disk.mark.as_ref().and_then(DiskMark::volume),
    };
    if let Some(other) = other.filter(|name| *name != seen.name) {
        return Offerable::No(DiskStep::Wait(DiskWaiting::OtherVolume(other.clone())));
    }
    if is_used_by_other(seen, disk, disk.mark.as_ref()) {
        let step = DiskStep::Wait(DiskWaiting::InUse);
        // A disk that was never offered is opened for a moment; one that was may be a pod's.
        let was_offered = mark.as_ref().is_some_and(|mark| mark.volume().is_some());
        return if was_offered { Offerable::No(step) } else { Offerable::Unknown(step) };
    }
    let offers_content = seen.policy.on_content == OnContent::Offer;
    match (mark, disk.content) {
        // The volume may have been given to a claim before it was deleted by hand.
        (Some(DiskMark::Cleaning(_)), _) => Offerable::No(
            unless_unused(seen, disk, disk.mark.as_ref()).unwrap_or_else(|| cleaned(seen, disk)),
        ),
        (_, DiskContent::Unread) => Offerable::Unknown(DiskStep::ReadContent),
        (_, DiskContent::Empty) | (None | Some(DiskMark::Clean), DiskContent::ZerosInSamples) => {
            Offerable::Yes
        }
        // It may have been used, and its volume deleted by hand: a tenant may have written what the samples have missed.
        (Some(DiskMark::Offering(..) | DiskMark::Offered(_)), DiskContent::ZerosInSamples) => {
            Offerable::Unknown(DiskStep::ReadDevice)
        }
        (Some(DiskMark::Offered(_)), DiskContent::Something) => {
            Offerable::No(deleted_by_hand(seen, disk))
        }
        (None, DiskContent::Something) if offers_content => Offerable::Yes,
        // It may have been there before, or a tenant has written it.
        (Some(DiskMark::Offering(..)), DiskContent::Something) => {
            Offerable::No(DiskStep::Wait(DiskWaiting::OfferInterrupted))
        }
        (None | Some(DiskMark::Clean), DiskContent::Something) => {
            Offerable::No(DiskStep::Wait(DiskWaiting::NotEmpty))
        }
    }
}

/// No claim can get the volume yet. What is read while it exists, no pod changes until it is offered.
fn before_offer(seen: &DiskObservation<'_>, disk: &Disk, volume: &LocalVolume) -> DiskStep {
    match offerable(seen, disk, Some(volume)) {
        Offerable::Yes => DiskStep::Offer(volume.uid.clone()),
        Offerable::Unknown(step) => step,
        // A creation that came late has made it: a person who restores the former one needs its name.
        Offerable::No(_) => DiskStep::DeleteVolume(volume.uid.clone(), volume.version.clone()),
    }
}

fn deleted_by_hand(seen: &DiskObservation<'_>, disk: &Disk) -> DiskStep {
    match seen.policy.on_manual_delete {
        OnManualDelete::Hold => DiskStep::Wait(DiskWaiting::DeletedByHand(disk.form)),
        OnManualDelete::Clean => unless_unused(seen, disk, disk.mark.as_ref())
            .unwrap_or_else(|| DiskStep::Mark(DiskMark::Cleaning(seen.name.clone()))),
    }
}

//! Decisions about a disk that a Job cleans.

use super::world::{PATH, disk, held, name, provisioner, volume};
use crate::disks::{
    ClaimState, CleaningJob, Disk, DiskCleaner, DiskContent, DiskEntry, DiskForm, DiskMark,
    DiskObservation, DiskPolicy, DiskStep, DiskWaiting, FormerVolume, JobOutcome, JobState,
    LocalVolume, LocalVolumeState, OtherVolume, next_step,
};
use crate::model::{ReclaimPolicy, Uid, VolumePhase};

fn decided(cleaner: DiskCleaner, disk: Disk, volume: LocalVolume, job: &CleaningJob) -> DiskStep {
    let entry = DiskEntry::Disk(disk);
    next_step(&DiskObservation {
        name: &name(),
        path: PATH,
        scans: [Some(&entry); 2],
        volume: &LocalVolumeState::Present(Box::new(volume)),
        claim: ClaimState::Gone,
        former: FormerVolume::Unread,
        provisioner: &provisioner(),
        policy: DiskPolicy::default(),
        cleaner,
        job,
        other: &OtherVolume::Absent,
    })
}

fn released() -> LocalVolume {
    volume(VolumePhase::Released, held(1))
}

fn permitted() -> Disk {
    Disk {
        mark: Some(DiskMark::Cleaning(name())),
        permit: Some("c1".into()),
        ..disk(DiskForm::BlockDevice, DiskContent::Unread)
    }
}

fn uid() -> Uid {
    Uid::new("j1")
}

fn ended(outcome: JobOutcome, is_retry_due: bool) -> JobState {
    JobState::Ended { uid: uid(), job: "disks/cleanup-x".into(), outcome, is_retry_due }
}

#[test]
fn a_disk_is_clean_only_by_the_proof_on_it() {
    let (complete, failed) = (JobOutcome::Complete, JobOutcome::Failed("backoff".into()));
    let by_job = DiskStep::Wait(DiskWaiting::CleanedByJob);
    let reported = |outcome: &JobOutcome| {
        DiskStep::Wait(DiskWaiting::JobEnded("disks/cleanup-x".into(), outcome.clone()))
    };
    for (state, is_locked, is_proven, step) in [
        (JobState::Absent, false, false, DiskStep::CreateJob),
        (JobState::Other(uid()), false, false, DiskStep::DeleteJob(uid())),
        (JobState::Active(uid()), false, false, by_job.clone()),
        (JobState::Terminating, false, false, by_job.clone()),
        // A pod of a Job that was deleted by hand, or whose status is a lie.
        (JobState::Absent, true, false, by_job.clone()),
        (JobState::Absent, true, true, by_job.clone()),
        (ended(complete.clone(), true), true, false, by_job.clone()),
        (ended(complete.clone(), false), false, false, reported(&complete)),
        (ended(complete.clone(), true), false, false, DiskStep::DeleteJob(uid())),
        (ended(failed.clone(), false), false, false, reported(&failed)),
        (ended(failed, true), false, false, DiskStep::DeleteJob(uid())),
        (ended(complete, true), false, true, DiskStep::FinishCleaning),
        (JobState::Absent, false, true, DiskStep::FinishCleaning),
        (JobState::Active(uid()), false, true, DiskStep::FinishCleaning),
    ] {
        let job = CleaningJob::Read { state, is_locked, is_proven, late: None };
        assert_eq!(decided(DiskCleaner::Job, permitted(), released(), &job), step, "{job:?}");
    }
    let step = decided(DiskCleaner::Job, permitted(), released(), &CleaningJob::Unread);
    assert_eq!(step, DiskStep::ReadJob);
}

#[test]
fn no_job_is_created_for_a_disk_that_a_pod_uses() {
    let used = Disk { is_in_use: true, ..permitted() };
    for (state, is_proven, waiting) in [
        (JobState::Absent, false, DiskWaiting::InUse),
        (JobState::Other(uid()), false, DiskWaiting::InUse),
        (ended(JobOutcome::Complete, true), true, DiskWaiting::InUse),
        (JobState::Active(uid()), true, DiskWaiting::CleanedByJob),
    ] {
        let job = CleaningJob::Read { state, is_locked: false, is_proven, late: None };
        let step = decided(DiskCleaner::Job, used.clone(), released(), &job);
        assert_eq!(step, DiskStep::Wait(waiting), "{job:?}");
    }
    // Its cleaning was not announced: no Job has it.
    let used = Disk { mark: Some(DiskMark::Offered(name())), permit: None, ..used };
    let step = decided(DiskCleaner::Job, used, released(), &CleaningJob::Unread);
    assert_eq!(step, DiskStep::Wait(DiskWaiting::InUse));
}

#[test]
fn a_permit_is_revoked_once_the_disk_is_not_to_be_cleaned() {
    let unread = CleaningJob::Unread;
    for (volume, waiting) in [
        (volume(VolumePhase::Bound, held(2)), DiskWaiting::ReservedWhileCleaned),
        (
            LocalVolume { policy: ReclaimPolicy::Retain, ..released() },
            DiskWaiting::Retained(ReclaimPolicy::Retain),
        ),
    ] {
        let step = decided(DiskCleaner::Job, permitted(), volume.clone(), &unread);
        assert_eq!(step, DiskStep::RevokePermit(waiting.clone()));
        let revoked = Disk { permit: None, ..permitted() };
        assert_eq!(decided(DiskCleaner::Job, revoked, volume, &unread), DiskStep::Wait(waiting));
    }
    // useJobForCleaning is false now.
    let step = decided(DiskCleaner::Process, permitted(), released(), &unread);
    assert_eq!(step, DiskStep::RevokePermit(DiskWaiting::CleanedByJob));
}

#[test]
fn a_job_that_does_not_run_is_reported() {
    let late = |state, is_locked| {
        let late = Some("disks/cleanup-x".into());
        let job = CleaningJob::Read { state, is_locked, is_proven: false, late };
        decided(DiskCleaner::Job, permitted(), released(), &job)
    };
    let reported = DiskStep::Wait(DiskWaiting::JobNotRunning("disks/cleanup-x".into()));
    assert_eq!(late(JobState::Active(uid()), false), reported);
    assert_eq!(late(JobState::Terminating, false), reported);
    assert_eq!(late(JobState::Active(uid()), true), DiskStep::Wait(DiskWaiting::CleanedByJob));
}

#[test]
fn a_job_that_runs_when_jobs_are_used_no_more_is_no_pod() {
    let used = Disk { is_in_use: true, ..permitted() };
    let step = decided(DiskCleaner::Process, used, released(), &CleaningJob::Unread);
    assert_eq!(step, DiskStep::RevokePermit(DiskWaiting::CleanedByJob));
}

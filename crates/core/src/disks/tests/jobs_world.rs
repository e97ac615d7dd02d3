//! Jobs that clean the disk: pods that start at any time, also twice and after their Job was deleted, and a status that says
//! anything.

use super::world::{World, name};
use crate::disks::{CleaningJob, DiskMark, JobOutcome, JobState};
use crate::model::Uid;

/// What the API server and the kubelet have.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs {
    /// The cleaning of the Job, and what it reports.
    job: Option<(u32, Option<JobOutcome>)>,
    /// The cleanings of all pods that were ever created. Each may start again.
    pods: Vec<u32>,
    /// The cleaning of the process that has the lock of the disk.
    pub(super) running: Option<u32>,
    /// Whether the permit has expired.
    pub(super) is_expired: bool,
}

/// What a Job or a pod of one does, or someone does to it.
#[derive(Clone, Copy, Debug)]
pub(super) enum JobDeed {
    PodStarts(usize),
    PodEnds,
    PodIsKilled,
    PermitExpires,
    ReportSuccess,
    ReportFailure,
    DeleteJobByHand,
}

impl World {
    pub(super) fn perform_of_job(&mut self, deed: JobDeed) {
        match deed {
            JobDeed::PodStarts(number) => self.start_pod(number),
            JobDeed::PodEnds => {
                if let (Some(cleaning), Some(medium)) = (self.jobs.running.take(), &mut self.slot) {
                    (medium.written_by, medium.proof) = (None, Some(cleaning));
                    self.report(JobOutcome::Complete);
                }
            }
            JobDeed::PodIsKilled => self.jobs.running = None,
            JobDeed::PermitExpires => self.jobs.is_expired = true,
            JobDeed::ReportSuccess => self.report(JobOutcome::Complete),
            JobDeed::ReportFailure => self.report(JobOutcome::Failed("x".into())),
            JobDeed::DeleteJobByHand => self.jobs.job = None,
        }
    }

    fn report(&mut self, outcome: JobOutcome) {
        if let Some((_, reported)) = &mut self.jobs.job {
            *reported = Some(outcome);
        }
    }

    fn start_pod(&mut self, number: usize) {
        let count = self.jobs.pods.len().max(1);
        let Some(cleaning) = self.jobs.pods.get(number % count).copied() else { return };
        let Some(medium) = &self.slot else { return };
        let is_to_be_cleaned = medium.mark == Some(DiskMark::Cleaning(name()));
        let is_permitted = medium.permit == Some(cleaning) && !self.jobs.is_expired;
        let is_taken = self.jobs.running.is_some() || self.is_mounted;
        if is_to_be_cleaned && is_permitted && !is_taken {
            let is_live = medium.written_by.is_some() && medium.written_by == self.claim;
            assert!(!is_live, "a Job cleans under a claim: {self:?}");
            self.jobs.running = Some(cleaning);
        }
    }

    /// What the process reads.
    pub(super) fn job(&self) -> CleaningJob {
        let medium = self.slot.as_ref();
        let permit = medium.and_then(|medium| medium.permit).filter(|_| !self.jobs.is_expired);
        let state = match &self.jobs.job {
            None => JobState::Absent,
            Some((cleaning, _)) if Some(*cleaning) != permit => JobState::Other(Uid::new("j")),
            Some((_, None)) => JobState::Active(Uid::new("j")),
            Some((_, Some(outcome))) => JobState::Ended {
                uid: Uid::new("j"),
                job: "ns/j".into(),
                outcome: outcome.clone(),
                is_retry_due: true,
            },
        };
        let proof = medium.and_then(|medium| medium.proof);
        let is_proven = permit.is_some() && proof == permit;
        CleaningJob::Read { state, is_locked: self.jobs.running.is_some(), is_proven, late: None }
    }

    /// Nothing is changed that a permit protects while a process has the disk.
    pub(super) fn is_locked(&self) -> bool {
        let has_permit = self.slot.as_ref().is_some_and(|medium| medium.permit.is_some());
        has_permit && self.jobs.running.is_some()
    }

    pub(super) fn create_job(&mut self) {
        let next = u32::try_from(self.jobs.pods.len()).unwrap_or(u32::MAX);
        let Some(medium) = &mut self.slot else { return };
        let known = medium.permit.filter(|_| !self.jobs.is_expired);
        let cleaning = known.unwrap_or(next);
        (medium.permit, medium.mark) = (Some(cleaning), Some(DiskMark::Cleaning(name())));
        self.jobs.is_expired = false;
        self.jobs.job = Some((cleaning, None));
        self.jobs.pods.push(cleaning);
    }

    pub(super) fn delete_job(&mut self) {
        self.jobs.job = None;
    }

    /// Records that the disk is clean, if a process has proven it. `is_killed`: before it is recorded.
    pub(super) fn finish_cleaning(&mut self, is_killed: bool) {
        let is_taken = self.jobs.running.is_some() || self.is_mounted;
        let is_expired = self.jobs.is_expired;
        let Some(medium) = &mut self.slot else { return };
        if is_taken || is_expired || medium.permit.is_none() || medium.proof != medium.permit {
            return;
        }
        medium.proof = None;
        if !is_killed {
            assert!(medium.written_by.is_none(), "recorded as clean: {medium:?}");
            (medium.permit, medium.mark) = (None, Some(DiskMark::Clean));
        }
    }
}

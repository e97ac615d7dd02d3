//! Has a Job clean the disk, and takes in what it has done.
//!
//! Each look is a task of its own: a cleaning of hours does not take a place of the other disks.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::PoisonError;

use jiff::{SignedDuration, Timestamp};

use super::{Task, TaskEnd, TaskError, blocking};
use crate::binding::EventType;
use crate::disks::{
    CleaningJob, Disk, DiskCleaner, DiskEntry, DiskForm, DiskMark, DiskWaiting, JobState,
    LocalVolumeState,
};
use crate::local::clean::block::{open_alone, prove};
use crate::local::clean::{CleanError, proof};
use crate::local::disk_lock::DiskLock;
use crate::local::found::Found;
use crate::local::jobs::{JobSettings, NewJob};
use crate::local::metrics::capacity_group;
use crate::local::shared::Shared;
use crate::local::source::DiskSource;
use crate::model::{Uid, VolumeName};

/// How long after its creation a process of a Job has the disk. Five minutes: an image is pulled by then.
const JOB_EXPECTED: SignedDuration = SignedDuration::from_mins(5);

/// What came of the last look at the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FinishOutcome {
    Clean,
    /// A process has it, for a moment or longer.
    Taken,
    /// The proof is gone, or is not valid any more.
    Unproven,
}

impl Task {
    /// Who cleans the disk.
    pub(super) fn cleaner(&self) -> DiskCleaner {
        match &self.scans[0] {
            Some(Found { entry: DiskEntry::Disk(disk), .. })
                if disk.form == DiskForm::BlockDevice && self.shared.jobs.is_some() =>
            {
                DiskCleaner::Job
            }
            Some(_) | None => DiskCleaner::Process,
        }
    }

    /// Takes in whether a Job has a permit now: a former task may have given one since the scan.
    pub(super) fn refresh_permit(&mut self) {
        if let Some(Found { entry: DiskEntry::Disk(disk), .. }) = &mut self.scans[0]
            && disk.form == DiskForm::BlockDevice
        {
            disk.permit = self.shared.marks().permit(&disk.identity);
        }
    }

    fn jobs(&self) -> Result<&JobSettings, TaskError> {
        self.shared.jobs.as_ref().ok_or(TaskError::Lost)
    }

    pub(super) async fn read_job(&mut self) -> Result<Option<TaskEnd>, TaskError> {
        // The permit is renewed with it: what the watch shows may be older than a claim that has the volume.
        if !self.is_volume_current().await? {
            return Ok(Some(TaskEnd::Stale));
        }
        let (path, disk) = self.disk()?;
        let permit = self.shared.marks().valid_permit(&disk.identity);
        let mut job = self.shared.requests.job(self.jobs()?, &self.name, permit.as_deref()).await?;
        if let JobState::Ended { is_retry_due, .. } = &mut job.state {
            // Its end is reported before it is deleted, however short the delay is.
            *is_retry_due &= matches!(self.waited, Some(DiskWaiting::JobEnded(..)));
        }
        // The Job first: the process of one that has ended has the lock no more.
        let (shared, name) = (self.shared.clone(), self.name.clone());
        let seen = blocking(&path, move |path| observe(&shared, path, &disk, &name)).await?;
        let (is_locked, is_proven) = seen;
        self.job_created = job.created;
        let is_late =
            job.created.is_some_and(|at| Timestamp::now().duration_since(at) >= JOB_EXPECTED);
        let late =
            is_late.then(|| self.jobs().map(|settings| settings.reference(&self.name).into()));
        let late = late.transpose()?;
        self.job = CleaningJob::Read { state: job.state, is_locked, is_proven, late };
        Ok(None)
    }

    /// Whether the API server has the volume as it was observed.
    async fn is_volume_current(&self) -> Result<bool, TaskError> {
        let now = self.shared.requests.volume_named(&self.name).await?;
        Ok(match (&self.volume, now) {
            (LocalVolumeState::Present(seen), Some(now)) => {
                (&seen.uid, &seen.version) == (&now.uid, &now.version)
            }
            (LocalVolumeState::Absent, None) => true,
            (LocalVolumeState::Present(_), None)
            | (LocalVolumeState::Absent, Some(_))
            | (LocalVolumeState::Unread, _) => false,
        })
    }

    pub(super) async fn create_job(&self) -> Result<TaskEnd, TaskError> {
        if !self.announce_cleaning().await? {
            return Ok(TaskEnd::Stale);
        }
        let (path, disk) = self.disk()?;
        let (shared, name) = (self.shared.clone(), self.name.clone());
        let permitted = blocking(&path, move |_| {
            let mut ledger = shared.ledger.lock().unwrap_or_else(PoisonError::into_inner);
            ledger.permit(&disk.identity, &name)
        });
        let cleaning = permitted.await?;
        let settings = self.jobs()?;
        let uid = match &self.volume {
            LocalVolumeState::Present(volume) => Some(&volume.uid),
            LocalVolumeState::Absent | LocalVolumeState::Unread => None,
        };
        let job = NewJob {
            settings,
            node: &self.shared.node,
            class: &self.class,
            volume: &self.name,
            uid,
            path: &path,
            cleaning: &cleaning,
            now: Timestamp::now(),
        };
        if self.shared.requests.create_job(&job).await? {
            let text = format!("Job {:?} cleans the disk", settings.reference(&self.name));
            self.record_event(EventType::Normal, "VolumeDelete", &text).await;
        }
        Ok(TaskEnd::Waiting(DiskWaiting::CleanedByJob))
    }

    pub(super) async fn delete_job(&mut self, uid: &Uid) -> Result<(), TaskError> {
        if let CleaningJob::Read { state: JobState::Ended { .. }, .. } = &self.job {
            let labels = [self.class.mode.label(), "job"];
            self.shared.metrics.delete_failed.with_label_values(&labels).inc();
        }
        self.shared.requests.delete_job(self.jobs()?, &self.name, uid).await?;
        self.job = CleaningJob::Unread;
        Ok(())
    }

    pub(super) async fn finish_cleaning(&mut self) -> Result<Option<TaskEnd>, TaskError> {
        let (path, disk) = self.disk()?;
        let (shared, capacity) = (self.shared.clone(), disk.capacity);
        let finished = blocking(&path, move |path| Ok(finish(&shared, path, &disk)));
        match finished.await?? {
            FinishOutcome::Taken => Ok(Some(TaskEnd::Waiting(DiskWaiting::CleanedByJob))),
            FinishOutcome::Unproven => {
                self.job = CleaningJob::Unread;
                Ok(None)
            }
            FinishOutcome::Clean => {
                self.count_cleaning(capacity);
                self.remove_job().await;
                Ok(Some(TaskEnd::Changed(Some(DiskMark::Clean))))
            }
        }
    }

    fn count_cleaning(&self, capacity: u64) {
        let (metrics, mode) = (&self.shared.metrics, self.class.mode.label());
        metrics.deleted.with_label_values(&[mode, "job"]).inc();
        let command = self.class.cleaner.first().map_or("", String::as_str);
        let labels = [mode, "job", &capacity_group(capacity), command];
        // A Job that was deleted by hand says no time.
        if let Some(created) = self.job_created {
            let seconds = Timestamp::now().duration_since(created).as_secs_f64();
            metrics.delete_duration.with_label_values(&labels).observe(seconds);
        }
        tracing::info!(volume = %self.name, path = self.path(), "a disk is clean, by a Job");
    }

    /// Deletes the Job that was read, with its pods.
    async fn remove_job(&self) {
        let CleaningJob::Read {
            state: JobState::Active(uid) | JobState::Other(uid) | JobState::Ended { uid, .. },
            ..
        } = &self.job
        else {
            return;
        };
        let Ok(settings) = self.jobs() else { return };
        if let Err(error) = self.shared.requests.delete_job(settings, &self.name, uid).await {
            tracing::warn!(volume = %self.name, %error, "the Job was not deleted");
        }
    }

    /// Deletes the Job whose process has a disk that is not to be cleaned any more: the process ends with its pod.
    async fn end_job(&mut self) {
        let Some(settings) = &self.shared.jobs else { return };
        match self.shared.requests.job(settings, &self.name, None).await {
            Ok(job) => {
                self.job = CleaningJob::Read {
                    state: job.state,
                    is_locked: true,
                    is_proven: false,
                    late: None,
                };
                self.remove_job().await;
            }
            Err(error) => {
                tracing::warn!(volume = %self.name, %error, "the Job of a disk that is not to be cleaned was not deleted");
            }
        }
    }

    /// Revokes the permit of a Job, unless a process of it has the disk.
    pub(super) async fn revoke_permit(
        &mut self,
        waiting: DiskWaiting,
    ) -> Result<Option<TaskEnd>, TaskError> {
        let (path, disk) = self.disk()?;
        let (shared, identity) = (self.shared.clone(), disk.identity);
        let revoked = blocking(&path, move |_| {
            let mut ledger = shared.ledger.lock().unwrap_or_else(PoisonError::into_inner);
            let marks = ledger.marks();
            match (marks.permit(&identity), marks.mark(&identity)) {
                (Some(_), Some(mark)) => match ledger.record(&identity, &mark) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(false),
                    recorded => recorded.map(|()| true),
                },
                (None, _) | (_, None) => Ok(true),
            }
        });
        if !revoked.await? {
            self.end_job().await;
            return Ok(Some(TaskEnd::Waiting(waiting)));
        }
        if let Some(Found { entry: DiskEntry::Disk(disk), .. }) = &mut self.scans[0] {
            disk.permit = None;
        }
        Ok(None)
    }
}

/// Returns whether a process of a Job has the disk, and whether its cleaning is proven; and renews the permit.
fn observe(
    shared: &Shared,
    path: &Path,
    disk: &Disk,
    volume: &VolumeName,
) -> io::Result<(bool, bool)> {
    let mut ledger = shared.ledger.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(cleaning) = ledger.marks().permit(&disk.identity) else { return Ok((false, false)) };
    let is_valid = ledger.renew(&disk.identity, volume)?;
    let Some(_lock) = DiskLock::take(ledger.folder(), &cleaning)? else { return Ok((true, false)) };
    drop(ledger);
    Ok((false, is_valid && proof::has(&File::open(path)?, &cleaning)?))
}

/// Records that a disk is clean whose cleaning is proven, while nothing else has it.
fn finish(shared: &Shared, path: &Path, disk: &Disk) -> Result<FinishOutcome, TaskError> {
    let of_disk = |error| TaskError::Disk { path: path.display().to_string(), error };
    let (cleaning, folder) = {
        let ledger = shared.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        (ledger.marks().valid_permit(&disk.identity), ledger.folder().to_owned())
    };
    let Some(cleaning) = cleaning else { return Ok(FinishOutcome::Unproven) };
    let Some(lock) = DiskLock::take(&folder, &cleaning).map_err(of_disk)? else {
        return Ok(FinishOutcome::Taken);
    };
    let device = match open_alone(path, disk.device, &DiskSource::Devices) {
        Err(CleanError::Io { error, .. }) if error.kind() == io::ErrorKind::ResourceBusy => {
            return Ok(FinishOutcome::Taken);
        }
        opened => opened?,
    };
    if !proof::has(&device, &cleaning).map_err(of_disk)? {
        return Ok(FinishOutcome::Unproven);
    }
    proof::remove(&device, &cleaning).map_err(of_disk)?;
    prove(path)?;
    let mut ledger = shared.ledger.lock().unwrap_or_else(PoisonError::into_inner);
    ledger.record_locked(lock, &disk.identity, &DiskMark::Clean).map_err(of_disk)?;
    // It was this process' alone until here.
    drop(device);
    Ok(FinishOutcome::Clean)
}

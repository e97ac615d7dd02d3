//! Performs the steps for one disk, until it waits for something.
//!
//! What the steps are is decided in `disks`. A task never outlives a change that it made to the disk or the volume: what
//! follows is decided by a new task from new scans.

mod clean;
mod clean_by_job;
mod step;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use jiff::Timestamp;
use serde_json::Value;
use tokio::task::spawn_blocking;

use self::step::{DependsOn, depends_on_now, label};
use super::api::{ConditionalWrite, VolumeRequestError};
use super::class::ClassSettings;
use super::clean::CleanError;
use super::configuration::DiscoveryClass;
use super::content;
use super::device::Devices;
use super::events::{DiskEvent, record};
use super::found::{EntryKey, Found, PathTarget};
use super::ledger::mark_file_system;
use super::moved::{read_former, record_found, report_missing};
use super::shared::Shared;
use crate::api::local_volume::{
    DiskPlace, NewLocalVolume, identify_patch, mark_patch, missing_patch, offer_patch,
    present_patch,
};
use crate::binding::EventType;
use crate::disks::{
    ClaimState, CleaningJob, Disk, DiskContent, DiskEntry, DiskForm, DiskIdentity, DiskLocation,
    DiskMark, DiskObservation, DiskStep, DiskWaiting, FormerVolume, LocalVolumeState, OtherVolume,
    next_step,
};
use crate::model::{Uid, VolumeName};

/// A disk, and what is to be done about it.
pub(super) struct Task {
    pub(super) shared: Arc<Shared>,
    pub(super) key: EntryKey,
    pub(super) class: DiscoveryClass,
    /// What the StorageClass object says; nothing if no volume can be offered.
    pub(super) settings: Option<ClassSettings>,
    pub(super) name: VolumeName,
    /// The entry in the last two scans, the later one first.
    pub(super) scans: [Option<Found>; 2],
    pub(super) volume: LocalVolumeState,
    pub(super) claim: ClaimState,
    pub(super) former: FormerVolume,
    pub(super) other: OtherVolume,
    pub(super) job: CleaningJob,
    /// When the Job was created, if it exists.
    pub(super) job_created: Option<Timestamp>,
    /// What the disk waited for before, which was reported.
    pub(super) waited: Option<DiskWaiting>,
}

/// How a task ended.
#[derive(Debug)]
pub(super) enum TaskEnd {
    /// The disk waits for this.
    Waiting(DiskWaiting),
    /// Something was changed: what follows is to be decided anew, with this mark of the disk if it has another one now.
    Changed(Option<DiskMark>),
    /// The volume is no longer what it was observed as: it has to be read again.
    Stale,
    /// No volume can be offered, as its StorageClass does not exist or cannot be used.
    NoClass,
    /// A step failed; it is tried again later.
    Failed(TaskError),
}

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum TaskError {
    #[error(transparent)]
    Request(#[from] VolumeRequestError),
    #[error("{path}: {error}")]
    Disk { path: String, error: io::Error },
    #[error("the disk was not cleaned: {0}")]
    Clean(#[from] CleanError),
    #[error("a step ended without a result")]
    Lost,
}

/// A step that only reads goes on with the next one: at most the volume, one of another name, its claim, samples and the whole
/// device; or the volume, its claim, and twice a Job, of which the first one is deleted.
const READS_COUNT_MAX: usize = 8;

impl Task {
    /// Performs steps.
    pub(super) async fn run(mut self) -> TaskEnd {
        self.refresh_permit();
        for _ in 0..READS_COUNT_MAX {
            let mut step = self.next();
            let depends = depends_on_now(&step);
            if depends == DependsOn::Use
                || (depends == DependsOn::Place && !self.is_in_place().await)
            {
                // The scans may be older than a mount of the claim's last pod, or than the end of the mount that was read. Now
                // that the claim is gone, no pod mounts it.
                if let Err(error) = self.inspect_again().await {
                    return TaskEnd::Failed(error);
                }
                step = self.next();
            }
            let label = label(&step);
            match self.perform(step).await {
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(error) => {
                    self.shared.metrics.failures.with_label_values(&[label]).inc();
                    return TaskEnd::Failed(error);
                }
            }
        }
        TaskEnd::Changed(None)
    }

    /// Returns whether what was scanned is still at the path.
    async fn is_in_place(&self) -> bool {
        let Some(Found { path, target: Some(scanned), .. }) = &self.scans[0] else { return false };
        let now = blocking(path, |path| Ok(PathTarget::of(&fs::metadata(path)?)));
        now.await.is_ok_and(|now| now == *scanned)
    }

    /// Inspects the disk as it is now.
    async fn inspect_again(&mut self) -> Result<(), TaskError> {
        let (shared, class) = (Arc::clone(&self.shared), self.class.clone());
        let file = self.key.file.clone();
        let path = self.class.mount_dir.join(&file);
        let found = blocking(&path, move |_| {
            let devices = Devices::new(&shared.node.machine);
            shared.scanner(&devices, &shared.marks()).inspect_entry(&class, &file)
        });
        let mut found = found.await?;
        if let (
            Some(Found { entry: DiskEntry::Disk(now), .. }),
            Some(Found { entry: DiskEntry::Disk(before), .. }),
        ) = (&mut found, &self.scans[0])
            && (now.device, &now.identity) == (before.device, &before.identity)
        {
            // It was read on this disk.
            now.content = before.content;
        }
        self.scans[0] = found;
        Ok(())
    }

    fn next(&self) -> DiskStep {
        let [now, before] = &self.scans;
        let path = self.path();
        next_step(&DiskObservation {
            name: &self.name,
            path: &path,
            scans: [
                now.as_ref().map(|found| &found.entry),
                before.as_ref().map(|found| &found.entry),
            ],
            volume: &self.volume,
            claim: self.claim,
            former: self.former,
            other: &self.other,
            provisioner: &self.shared.node.provisioner,
            policy: self.class.policy,
            cleaner: self.cleaner(),
            job: &self.job,
        })
    }

    /// The path of the entry on the node.
    fn path(&self) -> String {
        self.class.host_dir.join(&self.key.file).to_string_lossy().into_owned()
    }

    /// Records on the volume what its disk is recognized by.
    async fn identify(&self, identity: &DiskIdentity) -> Result<TaskEnd, TaskError> {
        let LocalVolumeState::Present(volume) = &self.volume else { return Ok(TaskEnd::Stale) };
        let device = self.scans[0].as_ref().map(|found| found.device.as_str()).unwrap_or_default();
        self.patched(&identify_patch(identity, self.place(device), &volume.version)).await
    }

    fn location(&self) -> DiskLocation {
        DiskLocation {
            node: self.shared.node.name.as_str().into(),
            class: self.key.class.as_str().into(),
            path: self.path().into(),
        }
    }

    /// The path of the entry in this process, and the disk.
    fn disk(&self) -> Result<(PathBuf, Disk), TaskError> {
        match &self.scans[0] {
            Some(Found { entry: DiskEntry::Disk(disk), path, .. }) => {
                Ok((path.clone(), disk.clone()))
            }
            Some(_) | None => Err(TaskError::Lost),
        }
    }

    fn set_content(&mut self, content: DiskContent) {
        if let Some(Found { entry: DiskEntry::Disk(disk), .. }) = &mut self.scans[0] {
            disk.content = content;
        }
    }

    /// Performs one step. Nothing: it has read what the next one needs.
    async fn perform(&mut self, step: DiskStep) -> Result<Option<TaskEnd>, TaskError> {
        match step {
            DiskStep::Wait(waiting) => {
                if let DiskWaiting::OtherVolume(other) = &waiting {
                    let (_, disk) = self.disk()?;
                    record_found(&self.shared, &disk, self.location(), other).await;
                }
                return Ok(Some(TaskEnd::Waiting(waiting)));
            }
            DiskStep::ReadVolume => {
                let volume = self.shared.requests.volume_named(&self.name).await?.map(Box::new);
                self.volume = volume.map_or(LocalVolumeState::Absent, LocalVolumeState::Present);
            }
            DiskStep::ReadOtherVolume => {
                let (_, disk) = self.disk()?;
                let other = self.shared.search.volume_of(&disk, &self.name).await?;
                self.other = other.map_or(OtherVolume::Absent, OtherVolume::Present);
            }
            DiskStep::ReadClaim => {
                self.claim = self.read_claim().await?;
            }
            DiskStep::ReadFormer(name) => {
                let (_, disk) = self.disk()?;
                self.former = read_former(&self.shared.requests, &disk, &name).await?;
            }
            DiskStep::RecordMissing(version) => {
                report_missing(&self.shared, &self.name, self.path()).await;
                return self.patched(&missing_patch(&version)).await.map(Some);
            }
            DiskStep::RecordPresent(version) => {
                return self.patched(&present_patch(&version)).await.map(Some);
            }
            DiskStep::ReadContent => {
                let (path, disk) = self.disk()?;
                let content = blocking(&path, move |path| match disk.form {
                    DiskForm::FileSystem => content::of_file_system(path),
                    DiskForm::BlockDevice => content::sampled(path),
                });
                let content = content.await?;
                self.set_content(content);
            }
            DiskStep::ReadDevice => {
                let (path, _) = self.disk()?;
                tracing::info!(volume = %self.name, path = self.path(), "reading a block device to its end");
                let content = blocking(&path, content::whole).await?;
                self.set_content(content);
            }
            DiskStep::Identify(identity) => return self.identify(&identity).await.map(Some),
            DiskStep::Mark(mark) => return self.mark(mark).await,
            DiskStep::Create => return self.create().await.map(Some),
            DiskStep::Offer(uid) => return self.offer(&uid).await.map(Some),
            DiskStep::Clean => return self.clean().await.map(Some),
            DiskStep::ReadJob => return self.read_job().await,
            DiskStep::CreateJob => return self.create_job().await.map(Some),
            DiskStep::DeleteJob(uid) => self.delete_job(&uid).await?,
            DiskStep::FinishCleaning => return self.finish_cleaning().await,
            DiskStep::RevokePermit(waiting) => return self.revoke_permit(waiting).await,
            DiskStep::DeleteVolume(uid, version) => {
                if !self.shared.requests.delete(&self.name, &uid, &version).await? {
                    return Ok(Some(TaskEnd::Stale));
                }
                self.shared.volumes.remove(&self.name);
                return Ok(Some(TaskEnd::Changed(None)));
            }
        }
        Ok(None)
    }

    /// Reads the claim of the volume, or whether one names it.
    async fn read_claim(&self) -> Result<ClaimState, VolumeRequestError> {
        match &self.volume {
            LocalVolumeState::Present(volume) => {
                self.shared.requests.claim(&volume.reservation).await
            }
            LocalVolumeState::Absent | LocalVolumeState::Unread => {
                self.shared.requests.claim_naming(&self.name).await
            }
        }
    }

    fn place<'a>(&'a self, device: &'a str) -> DiskPlace<'a> {
        DiskPlace { node: &self.shared.node.name, machine: &self.shared.node.machine, device }
    }

    /// Changes the volume. Whether it was still the one that was observed; if not, it has to be read again.
    async fn patch(&self, patch: &Value) -> Result<bool, TaskError> {
        match self.shared.requests.patch(&self.name, patch).await? {
            ConditionalWrite::Made(volume) => {
                self.shared.volumes.store(*volume);
                Ok(true)
            }
            ConditionalWrite::Stale => Ok(false),
        }
    }

    /// Changes the volume, and ends with that.
    async fn patched(&self, patch: &Value) -> Result<TaskEnd, TaskError> {
        let is_made = self.patch(patch).await?;
        Ok(if is_made { TaskEnd::Changed(None) } else { TaskEnd::Stale })
    }

    /// Records on the volume that its disk is being cleaned, if it is still the one that was observed. Whether the cleaning
    /// may begin.
    async fn announce_cleaning(&self) -> Result<bool, TaskError> {
        let LocalVolumeState::Present(volume) = &self.volume else {
            // There is nothing to write to: the last moment to see that someone has created it.
            return Ok(!self.shared.requests.exists(&self.name).await?);
        };
        let mark = DiskMark::Cleaning(self.name.clone());
        self.patch(&mark_patch(&mark, &volume.version)).await
    }

    async fn mark(&mut self, mark: DiskMark) -> Result<Option<TaskEnd>, TaskError> {
        let is_cleaning = matches!(mark, DiskMark::Cleaning(_));
        if is_cleaning && !self.announce_cleaning().await? {
            return Ok(Some(TaskEnd::Stale));
        }
        self.record(mark.clone()).await?;
        if let Some(Found { entry: DiskEntry::Disk(disk), .. }) = &mut self.scans[0] {
            (disk.mark, disk.permit) = (Some(mark.clone()), None);
        }
        // The volume has changed with it.
        Ok(is_cleaning.then(|| TaskEnd::Changed(Some(mark))))
    }

    /// Records a mark on the file system if it has room for it, else in the ledger.
    async fn record(&self, mark: DiskMark) -> Result<(), TaskError> {
        let (path, disk) = self.disk()?;
        let shared = Arc::clone(&self.shared);
        blocking(&path, move |path| {
            let is_on_disk = disk.form == DiskForm::FileSystem && mark_file_system(path, &mark)?;
            let mut ledger = shared.ledger.lock().unwrap_or_else(PoisonError::into_inner);
            if is_on_disk { Ok(()) } else { ledger.record(&disk.identity, &mark) }
        })
        .await
    }

    pub(super) async fn record_event(
        &self,
        event_type: EventType,
        reason: &'static str,
        text: &str,
    ) {
        let (volume, about) = (Some(self.name.clone()), self.path());
        tracing::info!(volume = %self.name, path = about, reason, "{text}");
        let event = DiskEvent { volume, about, event_type, reason, text: text.to_owned() };
        record(Arc::clone(&self.shared), event).await;
    }

    /// Lets claims get the volume of this uid.
    async fn offer(&self, uid: &Uid) -> Result<TaskEnd, TaskError> {
        if self.settings.is_none() {
            return Ok(TaskEnd::NoClass);
        }
        let mark = DiskMark::Offering(self.name.clone(), Some(uid.clone()));
        self.record(mark.clone()).await?;
        let patch = offer_patch(&self.name, uid);
        match self.shared.requests.patch(&self.name, &patch).await {
            Ok(ConditionalWrite::Made(volume)) => self.shared.volumes.store(*volume),
            Ok(ConditionalWrite::Stale) => return Ok(TaskEnd::Stale),
            Err(error) => {
                // It may no longer be what it was observed as: a test that fails has the status of any rejection.
                self.shared.volumes.forget(&self.name);
                return Err(error.into());
            }
        }
        tracing::info!(volume = %self.name, path = self.path(), "offered a disk");
        Ok(TaskEnd::Changed(Some(mark)))
    }

    /// Creates the volume, which no claim can get yet.
    async fn create(&self) -> Result<TaskEnd, TaskError> {
        let Some(settings) = &self.settings else { return Ok(TaskEnd::NoClass) };
        let (_, disk) = self.disk()?;
        let begun = Instant::now();
        let device = self.scans[0].as_ref().map(|found| found.device.as_str()).unwrap_or_default();
        let node = &self.shared.node;
        let manifest = NewLocalVolume {
            name: &self.name,
            identity: &disk.identity,
            place: self.place(device),
            provisioned_by: &node.provisioner.annotation(),
            labels: &node.labels,
            owner: node.owner.clone(),
            class: &self.key.class,
            policy: &settings.policy,
            mount_options: &settings.mount_options,
            access_mode: &self.class.access_mode,
            mode: self.class.mode.label(),
            path: &self.path(),
            fs_type: &self.class.fs_type,
            capacity: disk.capacity,
            hostname: &node.hostname,
        }
        .manifest();
        match self.shared.requests.create(&manifest).await? {
            ConditionalWrite::Made(volume) => self.shared.volumes.store(*volume),
            ConditionalWrite::Stale => return Ok(TaskEnd::Stale),
        }
        let mode = self.class.mode.label();
        let metrics = &self.shared.metrics;
        metrics.discovered.with_label_values(&[mode]).inc();
        let duration = metrics.discovery_duration.with_label_values(&[mode]);
        duration.observe(begun.elapsed().as_secs_f64());
        tracing::info!(volume = %self.name, path = self.path(), device, "created a PersistentVolume for a disk");
        Ok(TaskEnd::Changed(None))
    }
}

/// Runs what may wait for a disk on a thread of its own.
async fn blocking<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> Result<T, TaskError> {
    let owned = path.to_owned();
    let done = spawn_blocking(move || work(&owned)).await.map_err(|_| TaskError::Lost)?;
    done.map_err(|error| TaskError::Disk { path: path.display().to_string(), error })
}

//! Cleans a disk in this process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::{Task, TaskEnd, TaskError};
use crate::binding::EventType;
use crate::disks::{DiskForm, DiskMark};
use crate::local::clean::{CleanError, CleaningProgress, block, file_system, run_command};
use crate::local::metrics::capacity_group;

/// How often the metric of a cleaning is brought up to date: more often than it is scraped.
const PROGRESS_PERIOD: Duration = Duration::from_secs(1);

impl Task {
    pub(super) async fn clean(&self) -> Result<TaskEnd, TaskError> {
        if !self.announce_cleaning().await? {
            return Ok(TaskEnd::Stale);
        }
        let (path, disk) = self.disk()?;
        let (command, form, device) = (self.class.cleaner.clone(), disk.form, disk.device);
        let shared = Arc::clone(&self.shared);
        let found = self.scans[0].as_ref();
        let target = found.and_then(|found| found.target).ok_or(TaskError::Lost)?;
        let name = found.map(|found| found.device.clone());
        let overwritten = name.filter(|_| self.class.overwrites_free_space);
        let begun = Instant::now();
        let progress = Arc::new(CleaningProgress::default());
        let counted = Arc::clone(&progress);
        let cleaned = spawn_blocking(move || match form {
            DiskForm::FileSystem => {
                file_system::empty(&path, target, overwritten.as_deref(), &counted)
            }
            DiskForm::BlockDevice if command.is_empty() => {
                block::zero(&path, device, &shared.disks, &shared.kubelet, &counted)
            }
            DiskForm::BlockDevice => run_command(&command, &path),
        });
        // Not before: meanwhile a person could give the volume to a claim, whose pod has the disk before the cleaning has it.
        self.record_event(EventType::Normal, "VolumeDelete", "cleaning the disk").await;
        let metrics = &self.shared.metrics;
        let mode = self.class.mode.label();
        metrics.cleaning.inc();
        let cleaned = self.watch_progress(cleaned, &progress).await;
        metrics.cleaning.dec();
        if let Err(error) = cleaned {
            metrics.delete_failed.with_label_values(&[mode, "process"]).inc();
            self.record_event(EventType::Warning, "VolumeFailedDelete", &error.to_string()).await;
            return Err(error);
        }
        self.record(DiskMark::Clean).await?;
        let command = self.class.cleaner.first().map_or("", String::as_str);
        let labels = [mode, "process", &capacity_group(disk.capacity), command];
        metrics.delete_duration.with_label_values(&labels).observe(begun.elapsed().as_secs_f64());
        metrics.deleted.with_label_values(&[mode, "process"]).inc();
        tracing::info!(volume = %self.name, path = self.path(), bytes = progress.bytes(), "a disk is clean");
        Ok(TaskEnd::Changed(Some(DiskMark::Clean)))
    }

    async fn watch_progress(
        &self,
        mut cleaned: JoinHandle<Result<(), CleanError>>,
        progress: &CleaningProgress,
    ) -> Result<(), TaskError> {
        let bytes = self.shared.metrics.cleaning_bytes.with_label_values(&[self.name.as_str()]);
        loop {
            #[expect(clippy::cast_precision_loss, reason = "a metric")]
            bytes.set(progress.bytes() as f64);
            if let Ok(ended) = timeout(PROGRESS_PERIOD, &mut cleaned).await {
                // It is there, as it was just set.
                drop(self.shared.metrics.cleaning_bytes.remove_label_values(&[self.name.as_str()]));
                return ended.map_err(|_| TaskError::Lost)?.map_err(TaskError::Clean);
            }
        }
    }
}

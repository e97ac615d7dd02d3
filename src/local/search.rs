//! The search for the volumes that were made for a disk, whatever their names: one request for all disks that wait for it.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot::{self, Sender};

use super::api::{VolumeRequestError, VolumeRequests};
use crate::api::local_volume::disk_label;
use crate::disks::{Disk, DiskComparison, LocalVolume};
use crate::model::VolumeName;

/// Searches for volumes by the label of their disk. While one request is under way, those who ask wait for the next one: a
/// thousand new disks are some dozen requests.
pub(super) struct DiskSearch {
    requests: VolumeRequests,
    waiting: Mutex<Vec<Question>>,
    sending: tokio::sync::Mutex<()>,
}

/// The volumes of all disks that were asked for.
type Answer = Result<Arc<[LocalVolume]>, Arc<VolumeRequestError>>;

/// A disk's label, and where the volumes with it are to be sent.
struct Question {
    label: String,
    answer: Sender<Answer>,
}

impl DiskSearch {
    pub(super) fn new(requests: VolumeRequests) -> Self {
        Self { requests, waiting: Mutex::default(), sending: tokio::sync::Mutex::default() }
    }

    /// The volume of another name that was made for this disk, here or on another node; whatever the disk's mark says: a mark in
    /// the ledger of another node is not seen here, and one that is seen may be older than a move to another node and back.
    pub(super) async fn volume_of(
        &self,
        disk: &Disk,
        name: &VolumeName,
    ) -> Result<Option<VolumeName>, VolumeRequestError> {
        let volumes = self.ask(disk_label(&disk.identity)).await?;
        let is_of_disk = |volume: &LocalVolume| {
            let recorded = volume.identity.as_ref();
            let comparison = recorded.map(|recorded| disk.identity.compared_with(recorded));
            volume.name != *name && comparison == Some(DiskComparison::Same)
        };
        Ok(volumes.iter().find(|volume| is_of_disk(volume)).map(|volume| volume.name.clone()))
    }

    /// The volumes with this label, among others.
    async fn ask(&self, label: String) -> Result<Arc<[LocalVolume]>, VolumeRequestError> {
        let (answer, mut answered) = oneshot::channel();
        self.lock().push(Question { label, answer });
        let sending = self.sending.lock().await;
        if let Ok(answer) = answered.try_recv() {
            return answer.map_err(VolumeRequestError::Search);
        }
        let questions = std::mem::take(&mut *self.lock());
        let labels: Vec<&str> = questions.iter().map(|question| question.label.as_str()).collect();
        let volumes = self.requests.volumes_of_disks(&labels).await;
        let is_unreadable = matches!(volumes, Err(VolumeRequestError::Unreadable(_)));
        let answer: Answer = volumes.map(Arc::from).map_err(Arc::new);
        let count = questions.len();
        for Question { label, answer: sender } in questions {
            // An unreadable volume holds up its own disk only.
            let answer = if is_unreadable && count > 1 {
                let volumes = self.requests.volumes_of_disks(&[&label]).await;
                volumes.map(Arc::from).map_err(Arc::new)
            } else {
                answer.clone()
            };
            // Who asked may be gone.
            drop(sender.send(answer));
        }
        drop(sending);
        // Its own question was among these, unless it was taken by one who is gone.
        let answer = answered.try_recv().map_err(|_| VolumeRequestError::Unanswered)?;
        answer.map_err(VolumeRequestError::Search)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Question>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! What the loop and the steps for each volume share.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::metrics::NodeCleanupMetrics;
use crate::client::lease::{LeadershipDeadline, Timing};
use crate::disks::OnNodeLoss;
use crate::local::api::VolumeRequests;
use crate::local::volumes::LocalVolumes;

/// The API server, and what this process may do.
pub(super) struct Cleanup {
    pub(super) requests: VolumeRequests,
    pub(super) volumes: Arc<LocalVolumes>,
    pub(super) metrics: Arc<NodeCleanupMetrics>,
    /// What becomes of the claims of each StorageClass.
    pub(super) classes: BTreeMap<Box<str>, OnNodeLoss>,
    /// Until when this process leads.
    pub(super) until: watch::Receiver<LeadershipDeadline>,
    pub(super) timing: Timing,
}

impl Cleanup {
    /// Returns whether this process leads for long enough to write.
    pub(super) fn leads(&self) -> bool {
        let soon = Instant::now() + self.timing.margin();
        self.until.borrow().is_some_and(|until| until > soon)
    }

    /// Makes a write that ends before another process may lead; nothing if this one does not, or the write took too long:
    /// whether it was made is then not known.
    pub(super) async fn while_leading<T>(&self, write: impl Future<Output = T>) -> Option<T> {
        if !self.leads() {
            return None;
        }
        let until = (*self.until.borrow())?;
        timeout_at(until, write).await.ok()
    }

    pub(super) fn on_node_loss(&self, class: &str) -> OnNodeLoss {
        self.classes.get(class).copied().unwrap_or_default()
    }
}

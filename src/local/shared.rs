//! What all tasks of the provisioner share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::api::VolumeRequests;
use super::device::Devices;
use super::jobs::JobSettings;
use super::ledger::{Ledger, LedgerMarks};
use super::metrics::LocalMetrics;
use super::node::LocalNode;
use super::scan::Scanner;
use super::search::DiskSearch;
use super::source::DiskSource;
use super::unanswered::Inspected;
use super::volumes::LocalVolumes;

/// What all tasks share.
pub(super) struct Shared {
    pub(super) requests: VolumeRequests,
    pub(super) search: DiskSearch,
    pub(super) node: LocalNode,
    pub(super) ledger: Mutex<Ledger>,
    pub(super) volumes: Arc<LocalVolumes>,
    pub(super) metrics: Arc<LocalMetrics>,
    pub(super) events: EventCounts,
    pub(super) inspected: Inspected,
    /// The folder of the kubelet, below which it mounts what pods use.
    pub(super) kubelet: PathBuf,
    /// What is taken for disks.
    pub(super) disks: DiskSource,
    /// How Jobs clean block devices; nothing if this process does.
    pub(super) jobs: Option<JobSettings>,
}

impl Shared {
    /// The marks in the ledger as they are now.
    pub(super) fn marks(&self) -> LedgerMarks {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner).marks()
    }

    /// A scanner that knows these devices and marks.
    pub(super) fn scanner<'a>(
        &'a self,
        devices: &'a Devices,
        ledger: &'a LedgerMarks,
    ) -> Scanner<'a> {
        Scanner {
            devices,
            source: &self.disks,
            ledger,
            inspected: &self.inspected,
            kubelet: &self.kubelet,
        }
    }
}

/// How often each event was recorded, by the disk or StorageClass that it is about and its reason.
#[derive(Debug, Default)]
pub(super) struct EventCounts(Mutex<BTreeMap<(String, &'static str), u32>>);

impl EventCounts {
    /// Counts an event. Returns how often it was recorded, this time included.
    pub(super) fn next(&self, about: &str, reason: &'static str) -> u32 {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry((about.to_owned(), reason)).or_default();
        *count = count.saturating_add(1);
        *count
    }
}

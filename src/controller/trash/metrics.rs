//! Metrics of the trash.

use prometheus::{IntCounterVec, IntGauge, IntGaugeVec};

use crate::telemetry::registry::metric_table;
use crate::trash::TrashWrite;

metric_table! {
    /// The metrics.
    #[derive(Debug)]
    pub(crate) struct TrashMetrics {
        /// PersistentVolumes that are held for the time after their PersistentVolumeClaims.
        pub(super) held: IntGauge = "bindery_trash_held_volumes",
        /// PersistentVolumes in the trash: their PersistentVolumeClaims were deleted.
        pub(super) volumes: IntGaugeVec = "bindery_trash_volumes" ["storage_class", "namespace"],
        /// Capacity of the PersistentVolumes in the trash, in bytes.
        pub(super) bytes: IntGaugeVec = "bindery_trash_bytes" ["storage_class", "namespace"],
        /// PersistentVolumes that wait for a person, by reason.
        pub(super) blocked: IntGaugeVec = "bindery_trash_blocked_volumes" ["reason"],
        /// Steps of the trash, by write and outcome: stored, stale or failed.
        steps: IntCounterVec = "bindery_trash_steps_total" ["write", "outcome"],
    }
}

impl TrashMetrics {
    /// Counts a write that was made.
    pub(super) fn count_stored(&self, write: &TrashWrite) {
        let write = match write {
            TrashWrite::Hold(_) => "hold",
            TrashWrite::Copy(_) => "copy",
            TrashWrite::Record(_) => "record",
            TrashWrite::OfferToName(..) => "offer",
            TrashWrite::ReserveForGone(..) => "reserve",
            TrashWrite::Restore(_) => "restore",
        };
        self.steps.with_label_values(&[write, "stored"]).inc();
    }

    /// Counts a step whose volume had changed.
    pub(super) fn count_stale(&self) {
        self.steps.with_label_values(&["", "stale"]).inc();
    }

    /// Counts a step that failed.
    pub(super) fn count_failed(&self) {
        self.steps.with_label_values(&["", "failed"]).inc();
    }
}

//! Metrics of operations that take seconds: drivers provision and delete volumes, with the metrics of Kubernetes' own
//! binder, and recyclers empty them.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec};

use super::reconciler::{EndedOperation, Recycled, VolumeOperation};
use crate::binding::Recycling;
use crate::telemetry::registry::metric_table;

/// Bounds in seconds (Kubernetes: `metrics.go` of the persistent volume controller).
const BOUNDS: [f64; 13] =
    [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 25.0, 50.0, 120.0, 300.0, 600.0];

metric_table! {
    /// The metrics.
    #[derive(Debug)]
    pub(super) struct OperationMetrics {
        /// Time until a PersistentVolume was provisioned and bound, or deleted.
        seconds: HistogramVec = "volume_operation_total_seconds" ["plugin_name", "operation_name"] in BOUNDS,
        /// PersistentVolumes that could not be deleted.
        errors: IntCounterVec = "volume_operation_total_errors" ["plugin_name", "operation_name"],
        /// Time that a recycling took, by outcome: recycled, failed, no_recycler or changed.
        recyclings: HistogramVec = "bindery_controller_recycling_duration_seconds" ["outcome"] in BOUNDS,
    }
}

impl OperationMetrics {
    /// Counts an operation that has ended.
    pub(super) fn count(&self, ended: &EndedOperation) {
        let name = match ended.operation {
            VolumeOperation::Provision => "provision",
            VolumeOperation::Delete => "delete",
        };
        let labels = [&*ended.plugin, name];
        match ended.took {
            Some(took) => self.seconds.with_label_values(&labels).observe(took.as_secs_f64()),
            None => self.errors.with_label_values(&labels).inc(),
        }
    }

    /// Counts a recycling that has ended.
    pub(super) fn count_recycling(&self, end: &Recycled, took: Duration) {
        let outcome = match end {
            Recycled::Ended(Recycling::Done) => "recycled",
            Recycled::Ended(Recycling::Failed(_)) => "failed",
            Recycled::Ended(Recycling::NoRecycler) => "no_recycler",
            Recycled::Changed => "changed",
        };
        self.recyclings.with_label_values(&[outcome]).observe(took.as_secs_f64());
    }
}

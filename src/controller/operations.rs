//! Metrics of operations that take seconds: drivers provision and delete volumes, with the metrics of Kubernetes' own
//! binder, and recyclers empty them.

use std::time::Duration;

use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Registry};

use super::reconciler::{EndedOperation, Recycled, VolumeOperation};
use crate::binding::Recycling;
use crate::telemetry::registry::{counters, register};

/// Bounds in seconds (Kubernetes: `metrics.go` of the persistent volume controller).
const BOUNDS: [f64; 13] =
    [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 25.0, 50.0, 120.0, 300.0, 600.0];

/// The metrics.
#[derive(Debug)]
pub(super) struct OperationMetrics {
    seconds: HistogramVec,
    errors: IntCounterVec,
    recyclings: HistogramVec,
}

impl OperationMetrics {
    /// Registers them.
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let labels = ["plugin_name", "operation_name"];
        Ok(Self {
            seconds: histograms(
                registry,
                "volume_operation_total_seconds",
                "Time until a PersistentVolume was provisioned and bound, or deleted.",
                &labels,
            )?,
            errors: counters(
                registry,
                "volume_operation_total_errors",
                "PersistentVolumes that could not be deleted.",
                &labels,
            )?,
            recyclings: histograms(
                registry,
                "bindery_controller_recycling_duration_seconds",
                "Time that a recycling took, by outcome.",
                &["outcome"],
            )?,
        })
    }

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

fn histograms(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<HistogramVec, prometheus::Error> {
    let options = HistogramOpts::new(name, help).buckets(BOUNDS.to_vec());
    register(registry, HistogramVec::new(options, labels)?)
}

//! Metrics of the certificates that the leader keeps.

use jiff::Timestamp;
use prometheus::{Gauge, IntCounterVec};

use crate::certificates::rotation::RotationStep;
use crate::telemetry::registry::metric_table;

metric_table! {
    /// What became of certificates.
    #[derive(Debug)]
    pub(in crate::controller) struct CertificateMetrics {
        /// Steps in the renewal of certificates, by step and outcome.
        steps: IntCounterVec = "bindery_controller_certificate_steps_total" ["step", "outcome"],
        /// When the newest CA certificate of the leader expires, in seconds since 1970; 0 elsewhere.
        ca_expiry: Gauge = "bindery_controller_ca_expiry_timestamp_seconds",
    }
}

impl CertificateMetrics {
    pub(super) fn count(&self, step: RotationStep, outcome: &str) {
        let step = match step {
            RotationStep::CreateCa(_) => "create_ca",
            RotationStep::CreateLeaf(_) => "create_certificate",
            RotationStep::Publish => "publish",
            RotationStep::Retire => "retire",
            RotationStep::Wait(_) | RotationStep::Rest => return,
        };
        self.steps.with_label_values(&[step, outcome]).inc();
    }

    /// Counts that nothing could be done with what was observed.
    pub(super) fn count_blocked(&self) {
        self.steps.with_label_values(&["observe", "failed"]).inc();
    }

    /// Shows when the newest CA certificate expires.
    #[expect(clippy::cast_precision_loss, reason = "below 2^53 seconds nothing is lost")]
    pub(super) fn ca(&self, end: Option<Timestamp>) {
        self.ca_expiry.set(end.map_or(0.0, |end| end.as_second() as f64));
    }
}

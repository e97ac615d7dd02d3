//! Metrics of the certificates that the leader keeps.

use jiff::Timestamp;
use prometheus::{Gauge, IntCounterVec, Opts, Registry};

use crate::certificates::rotation::Step;
use crate::telemetry::metrics::{counters, register};

/// What became of certificates.
#[derive(Debug)]
pub(in crate::controller) struct CertificateMetrics {
    steps: IntCounterVec,
    authority_expiry: Gauge,
}

impl CertificateMetrics {
    pub(in crate::controller) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        Ok(Self {
            steps: counters(
                registry,
                "bindery_controller_certificate_steps_total",
                "Steps in the renewal of certificates, by step and outcome.",
                &["step", "outcome"],
            )?,
            authority_expiry: register(
                registry,
                Gauge::with_opts(Opts::new(
                    "bindery_controller_authority_expiry_timestamp_seconds",
                    "When the newest authority ends; 0 if this process keeps none.",
                ))?,
            )?,
        })
    }

    pub(super) fn count(&self, step: Step, outcome: &str) {
        let step = match step {
            Step::MakeCa(_) => "make_authority",
            Step::MakeLeaf(_) => "make_leaf",
            Step::Publish => "publish",
            Step::Retire => "retire",
            Step::Settle(_) | Step::Rest => return,
        };
        self.steps.with_label_values(&[step, outcome]).inc();
    }

    /// Counts a look that showed that nothing can be done.
    pub(super) fn count_blocked(&self) {
        self.steps.with_label_values(&["look", "failed"]).inc();
    }

    /// Tells when the newest authority ends.
    #[expect(clippy::cast_precision_loss, reason = "below 2^53 seconds nothing is lost")]
    pub(super) fn authority(&self, end: Option<Timestamp>) {
        self.authority_expiry.set(end.map_or(0.0, |end| end.as_second() as f64));
    }
}

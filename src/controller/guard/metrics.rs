//! The metric of the probe.

use prometheus::IntGaugeVec;

use crate::telemetry::registry::metric_table;

metric_table! {
    /// What became of the probe.
    #[derive(Debug)]
    pub(in crate::controller) struct GuardMetrics {
        /// 1 if the last dry run that the leader sent through the API server was answered by the webhook, by webhook; only
        /// the leader has it.
        probe_success: IntGaugeVec = "bindery_admission_probe_success" ["webhook"],
    }
}

impl GuardMetrics {
    /// Shows whether the last probe passed.
    pub(super) fn show(&self, is_answered: bool) {
        self.probe_success.with_label_values(&["guard"]).set(i64::from(is_answered));
    }

    /// Shows nothing: another replica probes.
    pub(super) fn forget(&self) {
        self.probe_success.reset();
    }
}

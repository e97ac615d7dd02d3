//! The metric of the probe.

use prometheus::IntGaugeVec;

use crate::telemetry::registry::metric_table;

metric_table! {
    /// What became of the probe.
    #[derive(Debug)]
    pub(in crate::controller) struct GuardMetrics {
        /// 1 if the webhook answered the last dry run that the leader sent through the API server, and the RoleBinding by which
        /// it fails closed is written; by webhook; only the leader has it.
        probe_success: IntGaugeVec = "bindery_admission_probe_success" ["webhook"],
    }
}

impl GuardMetrics {
    /// Shows whether the last probe passed, and what follows from it was written.
    pub(super) fn show(&self, is_done: bool) {
        self.probe_success.with_label_values(&["guard"]).set(i64::from(is_done));
    }

    /// Shows nothing: another replica probes.
    pub(super) fn forget(&self) {
        self.probe_success.reset();
    }
}

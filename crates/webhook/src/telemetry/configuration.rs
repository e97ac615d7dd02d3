//! Metrics about reloads of the configuration file, which every server has.

use prometheus::{IntCounterVec, IntGauge};

use super::registry::metric_table;

metric_table! {
    /// The metrics. Before the first reload, the last one counts as successful.
    #[derive(Clone, Debug)]
    pub struct ConfigurationMetrics {
        /// 1 if the last reload of the configuration file succeeded; 0 while the file is wrong.
        is_good: IntGauge = "bindery_configuration_last_reload_successful" (1),
        /// Reloads of the configuration file, by outcome: loaded or unusable.
        reloads: IntCounterVec = "bindery_configuration_reloads_total" ["outcome"],
    }
}

impl ConfigurationMetrics {
    /// Counts a reload.
    pub fn count(&self, is_good: bool) {
        self.is_good.set(i64::from(is_good));
        self.reloads.with_label_values(&[if is_good { "loaded" } else { "unusable" }]).inc();
    }
}

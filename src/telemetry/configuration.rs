//! Metrics about reloads of the configuration file, which every server has.

use prometheus::{IntCounterVec, IntGauge, Registry};

use super::registry::{counters, register};

/// The metrics.
#[derive(Clone, Debug)]
pub struct ConfigurationMetrics {
    is_good: IntGauge,
    reloads: IntCounterVec,
}

impl ConfigurationMetrics {
    /// Registers them. Before the first reload, the last one counts as successful.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let is_good = IntGauge::new(
            "bindery_configuration_last_reload_successful",
            "1 if the last reload of the configuration file succeeded; 0 while an earlier configuration is in use.",
        )?;
        is_good.set(1);
        let is_good = register(registry, is_good)?;
        let reloads = counters(
            registry,
            "bindery_configuration_reloads_total",
            "Reloads of the configuration file, by outcome.",
            &["outcome"],
        )?;
        Ok(Self { is_good, reloads })
    }

    /// Counts a reload.
    pub fn count(&self, is_good: bool) {
        self.is_good.set(i64::from(is_good));
        self.reloads.with_label_values(&[if is_good { "loaded" } else { "unusable" }]).inc();
    }
}

//! Whether the configuration file that is followed can be used, as every server that follows one counts it.

use prometheus::{IntCounterVec, IntGauge, Registry};

use super::metrics::{counters, register};

/// What a server counts of its configuration file.
#[derive(Clone, Debug)]
pub struct ConfigurationMetrics {
    is_good: IntGauge,
    reloads: IntCounterVec,
}

impl ConfigurationMetrics {
    /// Registers them; a configuration that was never read is good.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let is_good = IntGauge::new(
            "bindery_configuration_last_reload_successful",
            "Whether the configuration file as it is now can be used; if not, the last good one counts.",
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

    /// Counts what became of a new file.
    pub fn count(&self, is_good: bool) {
        self.is_good.set(i64::from(is_good));
        self.reloads.with_label_values(&[if is_good { "loaded" } else { "unusable" }]).inc();
    }
}

//! What happens to the connections of a process' ports.

use prometheus::{IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use super::metrics::{counters, register};

/// The metrics.
#[derive(Clone, Debug)]
pub struct ConnectionMetrics {
    events: IntCounterVec,
    open: IntGaugeVec,
}

impl ConnectionMetrics {
    /// Registers them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        Ok(Self {
            events: counters(
                registry,
                "bindery_connections_total",
                "What happened to connections.",
                &["port", "event", "detail"],
            )?,
            open: register(
                registry,
                IntGaugeVec::new(
                    Opts::new("bindery_connections_open", "Connections open now."),
                    &["port"],
                )?,
            )?,
        })
    }

    /// Counts something that happened to a connection.
    pub fn count(&self, port: &str, event: &str, detail: &str) {
        self.events.with_label_values(&[port, event, detail]).inc();
    }

    /// Connections open at a port.
    pub fn open(&self, port: &str) -> IntGauge {
        self.open.with_label_values(&[port])
    }
}

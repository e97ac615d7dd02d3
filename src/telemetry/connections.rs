//! Metrics about the connections of a server's ports.

use prometheus::{IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use super::registry::{counters, register};

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
                "Events of connections, by port, event and detail.",
                &["port", "event", "detail"],
            )?,
            open: register(
                registry,
                IntGaugeVec::new(
                    Opts::new("bindery_connections_open", "Open connections, by port."),
                    &["port"],
                )?,
            )?,
        })
    }

    /// Counts an event of a connection.
    pub fn count(&self, port: &str, event: &str, detail: &str) {
        self.events.with_label_values(&[port, event, detail]).inc();
    }

    /// The number of open connections of a port.
    pub fn open(&self, port: &str) -> IntGauge {
        self.open.with_label_values(&[port])
    }
}

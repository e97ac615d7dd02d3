//! Metrics about the connections of a server's ports.

use prometheus::{IntCounterVec, IntGauge, IntGaugeVec};

use super::registry::metric_table;

metric_table! {
    /// The metrics.
    #[derive(Clone, Debug)]
    pub struct ConnectionMetrics {
        /// Connections opened, closed and rejected, by port, event and detail.
        events: IntCounterVec = "bindery_connections_total" ["port", "event", "detail"],
        /// Open connections, by port.
        open: IntGaugeVec = "bindery_connections_open" ["port"],
    }
}

impl ConnectionMetrics {
    /// Counts an event of a connection.
    pub fn count(&self, port: &str, event: &str, detail: &str) {
        self.events.with_label_values(&[port, event, detail]).inc();
    }

    /// The number of open connections of a port.
    pub fn open(&self, port: &str) -> IntGauge {
        self.open.with_label_values(&[port])
    }
}

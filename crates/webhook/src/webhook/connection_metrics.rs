//! Counts the events of connections.
//!
//! A port that is full stays ready: it still answers open connections, and without this replica the next one would be
//! full. It logs the addresses that it rejects, at a limited rate, and counts them.

use prometheus::IntCounter;

use super::transport::{TransportEvent, TransportObserver};
use crate::telemetry::connections::ConnectionMetrics;

/// Counts the events of all ports of a process.
#[derive(Clone, Debug)]
pub struct ConnectionCounter {
    /// Where they are counted.
    pub connections: ConnectionMetrics,
    /// Where handlers that panic are counted besides, if anywhere.
    pub panics: Option<IntCounter>,
}

impl TransportObserver for ConnectionCounter {
    fn observe(&self, endpoint: &'static str, event: TransportEvent) {
        let (event, detail) = match event {
            TransportEvent::Opened => {
                self.connections.open(endpoint).inc();
                ("opened", "")
            }
            TransportEvent::Rejected(limit) => ("rejected", limit.label()),
            TransportEvent::Secured => ("secured", ""),
            // Each that was opened ends in one of these.
            TransportEvent::HandshakeFailed(failure) => {
                self.connections.open(endpoint).dec();
                ("handshake_failed", failure.label())
            }
            TransportEvent::Ended(end) => {
                self.connections.open(endpoint).dec();
                ("ended", end.label())
            }
            TransportEvent::AcceptFailed => ("accept_failed", ""),
            TransportEvent::HandlerPanicked => {
                self.panics.iter().for_each(IntCounter::inc);
                ("panicked", "")
            }
        };
        self.connections.count(endpoint, event, detail);
    }
}

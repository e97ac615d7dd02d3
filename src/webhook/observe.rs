//! What happens to connections, counted.
//!
//! A port whose places are all taken stays ready: it still answers whoever has a connection, and without this
//! endpoint the next one would be full. It logs each address that it refuses, under a ceiling, and counts.

use prometheus::IntCounter;

use super::transport::{TransportEvent, TransportObserver};
use crate::telemetry::connections::ConnectionMetrics;

/// Counts the events of all ports of a process.
#[derive(Clone, Debug)]
pub struct Counting {
    /// Where they are counted.
    pub connections: ConnectionMetrics,
    /// Where handlers that panic are counted besides, if anywhere.
    pub panics: Option<IntCounter>,
}

impl TransportObserver for Counting {
    fn observe(&self, endpoint: &'static str, event: TransportEvent) {
        let (event, detail) = match event {
            TransportEvent::Opened => {
                self.connections.open(endpoint).inc();
                ("opened", "")
            }
            TransportEvent::Refused(limit) => ("refused", limit.label()),
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

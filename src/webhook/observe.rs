//! What happens to connections, counted.

use std::sync::Arc;

use super::transport::{TransportEvent, TransportObserver};
use crate::telemetry::metrics::Metrics;

/// Counts the events of all ports.
pub(super) struct Counting(pub(super) Arc<Metrics>);

impl TransportObserver for Counting {
    fn observe(&self, endpoint: &'static str, event: TransportEvent) {
        let (event, detail) = match event {
            TransportEvent::Opened => ("opened", ""),
            TransportEvent::Refused(limit) => ("refused", limit.label()),
            TransportEvent::Secured => ("secured", ""),
            TransportEvent::HandshakeFailed(failure) => ("handshake_failed", failure.label()),
            TransportEvent::Ended(end) => ("ended", end.label()),
            TransportEvent::AcceptFailed => ("accept_failed", ""),
            TransportEvent::HandlerPanicked => {
                self.0.panics.inc();
                ("panicked", "")
            }
        };
        self.0.count_connection(endpoint, event, detail);
    }
}

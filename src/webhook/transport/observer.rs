//! What the transport tells its owner, for metrics; and the classes that a metric may use as label.
//!
//! Nothing here is called for a request that goes well. Log lines about peers are written where
//! the event happens, under a ceiling (see `telemetry::line_budget`).

use super::connection::ConnectionEnd;

/// Receives what happens to connections. Called on the threads that serve: count and return.
pub trait TransportObserver: Send + Sync {
    /// One event, of the port with this name (see [`PortOptions`](super::PortOptions)).
    fn observe(&self, endpoint: &'static str, event: TransportEvent);
}

/// Something that happened to a connection or to the accept loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportEvent {
    /// A connection got a place; its handshake begins.
    Opened,
    /// A connection was closed unheard, because of a limit.
    Refused(ConnectionRefusal),
    /// A TLS handshake was completed.
    Secured,
    /// A connection ended before its first request could be read.
    HandshakeFailed(HandshakeFailure),
    /// A connection that got through its handshake ended.
    Ended(ConnectionEnd),
    /// The kernel could not hand over a connection, usually because descriptors ran out.
    AcceptFailed,
    /// A handler panicked; its client got a 500.
    HandlerPanicked,
}

/// Which limit refused a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionRefusal {
    /// All places of the port are taken.
    Total,
    /// All places of this peer address are taken.
    Peer,
}

/// How a TLS handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeFailure {
    /// Not finished within [`Limits::handshake`](super::Limits::handshake).
    TimedOut,
    /// Too many others waited for their turn.
    QueueFull,
    /// The peer closed before the end, as port scanners and load balancers do.
    Closed,
    /// Not TLS, or nothing in common: version, suite, ALPN; or the peer refused our certificate.
    Protocol,
    /// All places were taken, and another address got this one.
    MadeRoom,
}

impl HandshakeFailure {
    /// The value of a metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::TimedOut => "timeout",
            Self::QueueFull => "queue",
            Self::Closed => "closed",
            Self::Protocol => "protocol",
            Self::MadeRoom => "made_room",
        }
    }
}

impl ConnectionRefusal {
    /// The value of a metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Peer => "peer",
        }
    }
}

/// The observer of a port that nobody measures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl TransportObserver for Silent {
    fn observe(&self, _endpoint: &'static str, _event: TransportEvent) {}
}

//! The events of connections, for metrics, with the values that their labels may have.
//!
//! No event is reported for a request that succeeds. Log lines about peers are written where the event happens, and
//! their rate is limited (see `telemetry::line_budget`).

use super::deadlines::ConnectionStage;

/// Observes the events of connections. It is called on the threads that serve, so it should only count.
pub trait TransportObserver: std::fmt::Debug + Send + Sync {
    /// One event, of the port with this name (see [`PortOptions`](super::PortOptions)).
    fn observe(&self, endpoint: &'static str, event: TransportEvent);
}

/// An event of a connection or of the accept loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportEvent {
    /// A connection was accepted; its handshake begins.
    Opened,
    /// A connection was closed at once, because of a limit.
    Rejected(ConnectionLimit),
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

/// The limit by which a connection was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionLimit {
    /// That of the port.
    Total,
    /// That of the peer address.
    Peer,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// By the peer, or by us after a reply that said so.
    Closed,
    /// Not HTTP/1.1, a head too long, or the stream broke.
    Broken,
    /// The deadline of this stage passed.
    TimedOut(ConnectionStage),
    /// Without a request, because the port stops.
    Drained,
    /// The port was full, and a connection of another address replaced this one.
    Evicted,
}

impl ConnectionEnd {
    /// The value of a metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Broken => "broken",
            Self::TimedOut(stage) => stage.label(),
            Self::Drained => "drained",
            Self::Evicted => "evicted",
        }
    }
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
    /// Not TLS, or nothing in common: version, suite, ALPN; or the peer rejected our certificate.
    Protocol,
    /// The port was full, and a connection of another address replaced this one.
    Evicted,
}

impl HandshakeFailure {
    /// The value of a metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::TimedOut => "timeout",
            Self::QueueFull => "queue",
            Self::Closed => "closed",
            Self::Protocol => "protocol",
            Self::Evicted => "evicted",
        }
    }
}

impl ConnectionLimit {
    /// The value of a metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Peer => "peer",
        }
    }
}

//! Every limit of a port in one place, each with its argument.
//!
//! Operators do not set these: a wrong value is an outage that shows only under attack or load.
//! Deadlines are enforced in `deadlines` and `listener`, sizes in `body`, counts in `connection_limiter` and
//! `load_shedder`.

use std::time::Duration;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// The limits of one port. [`Limits::reviews`] and [`Limits::health`] are the two sets in use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections open at once, handshakes included. 3,584: as many as three API servers may have, and 512 more.
    /// One costs about 20 KB, so that all are 70 MiB, and half as much when it is idle. An API server pools 25 idle
    /// connections per client configuration; no legitimate client comes near.
    pub connections: usize,
    /// Connections open at once from one address. 1,024: an API server runs 600 requests at once, all
    /// of which may be writes, and those of `system:masters` beyond; when reviews pile up each has a
    /// connection of its own, and one that is closed without an answer is an error that a user sees. It takes four
    /// hostile addresses to open all connections; those are then evicted (see `connection_limiter`).
    pub connections_per_peer: usize,
    /// Time from accept to the end of the TLS handshake. 5 s: half of what the API server itself
    /// waits for one (10 s).
    pub handshake: Duration,
    /// Handshakes of one thread that may sign between two looks at the sockets. 2: a P-256
    /// handshake takes about 0.2 ms, so that reviews wait at most 0.4 ms for unauthenticated clients.
    pub handshakes_at_once: usize,
    /// Handshakes of one thread that may wait for their turn to sign; the next one is closed.
    /// 1,024: about 0.2 s of signing, well within the shortest webhook timeout (1 s).
    pub handshake_queue: usize,
    /// Time from the end of the handshake to the first byte of the first request. 10 s: a client
    /// connects because it has a request to send.
    pub first_byte: Duration,
    /// Time a connection may be idle between two requests. 120 s: the API server pools connections
    /// for 90 s and never repeats a POST that died on a stale one, so it must close first.
    pub idle: Duration,
    /// The same for a connection that has not brought any review. 5 s: a review that was answered with 429
    /// is sent again after one.
    pub idle_without_review: Duration,
    /// Time after which a connection between two requests gives back its buffers. 1 s: one that an API server uses
    /// all the time keeps them, and one in its pool does without.
    pub release: Duration,
    /// Time from the first byte of a request head to its last. 5 s: a head is one packet.
    pub head: Duration,
    /// Time from the end of the head to the last byte of the reply handed to the socket layer.
    /// 35 s: the longest webhook timeout is 30 s; afterwards no API server waits for the reply.
    pub exchange: Duration,
    /// Time in which the last bytes of a reply must leave. 10 s: replies are smaller than a socket
    /// buffer, so only a peer that does not read lets this pass.
    pub reply: Duration,
    /// Bytes of read buffer per connection, which is also the longest request head. 8 KiB, the least that hyper
    /// takes: heads of the API server are under 1 KiB, and its default of 400 KiB would help attackers.
    pub buffer: usize,
    /// Bytes of one body. 20 MiB: an update review carries two objects of at most 1.5 MiB, which is what
    /// etcd stores, and an envelope. The API server writes `<`, `>` and `&` in six letters each when it asks
    /// a webhook, so that such an object may be six times as long.
    pub body: usize,
    /// Bytes of all bodies held at once, from arrival to the end of their review, and of what was collected from
    /// them. 28 MiB: one of the largest and as many usual ones as may be judged at once.
    pub body_budget: usize,
    /// Part of `body_budget` that bodies above `small_body` and their reviews may use together. 22 MiB: one of
    /// the largest bodies, or some thirteen updates of objects with as many annotations as may be; the rest
    /// is for usual reviews, so that a few slow, large bodies cannot use it up.
    pub large_body_budget: usize,
    /// Bytes that the review of a body above `small_body` takes beside it. 1 MiB: as much as is collected from
    /// its objects, see `api::bounded`.
    pub large_review: usize,
    /// Bytes up to which what is collected from a usual body is usual too. 16 KiB: of volumes and claims, 1 to 4. A
    /// body of 12 KiB may be made such that 300 are collected; those share what is for large ones.
    pub usual_review: usize,
    /// Bytes up to which a body is a usual one. 64 KiB: reviews of volumes and claims are 2–16 KB.
    pub small_body: usize,
    /// Reviews judged at once, waiting for live reads included. 1,024: an API server runs 200
    /// mutating requests at once and calls at most two of our webhooks about each at the same time.
    /// At 70,000 reviews per second this is a queue of 15 ms; a longer one only adds latency.
    pub reviews: usize,
    /// Time that a connection without any request yet gets when the port stops. 1 s: it has just
    /// connected, its request is on the way.
    pub late_request: Duration,
    /// Time that requests in flight get when the port stops. 10 s: twice the longest registered
    /// timeout of the default chart, within `terminationGracePeriodSeconds: 30`.
    pub finish: Duration,
    /// Time to wait, after our last byte, for the peer to close. 1 s: closing with unread bytes
    /// in the socket would reset the connection and could destroy a reply on its way.
    pub linger: Duration,
    /// Bytes read and thrown away in that time. 21 MiB: the rest of a body that was rejected unread.
    pub linger_bytes: usize,
}

impl Limits {
    /// The limits of the HTTPS port that answers reviews.
    pub fn reviews() -> Self {
        Self {
            connections: 3_584,
            connections_per_peer: 1_024,
            handshake: Duration::from_secs(5),
            handshakes_at_once: 2,
            handshake_queue: 1_024,
            first_byte: Duration::from_secs(10),
            idle: Duration::from_mins(2),
            idle_without_review: Duration::from_secs(5),
            release: Duration::from_secs(1),
            head: Duration::from_secs(5),
            exchange: Duration::from_secs(35),
            reply: Duration::from_secs(10),
            buffer: 8 * KIB,
            body: 20 * MIB,
            body_budget: 28 * MIB,
            large_body_budget: 22 * MIB,
            large_review: MIB,
            usual_review: 16 * KIB,
            small_body: 64 * KIB,
            reviews: 1_024,
            late_request: Duration::from_secs(1),
            finish: Duration::from_secs(10),
            linger: Duration::from_secs(1),
            linger_bytes: 21 * MIB,
        }
    }

    /// The limits of the plain port with probes and metrics: a kubelet and a few scrapers call, and
    /// none sends a body or a review.
    pub fn health() -> Self {
        Self {
            connections: 256,
            connections_per_peer: 64,
            exchange: Duration::from_secs(15),
            body: 64 * KIB,
            body_budget: MIB,
            large_body_budget: MIB,
            reviews: 64,
            finish: Duration::from_secs(2),
            linger_bytes: 64 * KIB,
            ..Self::reviews()
        }
    }
}

//! The accept loop of one thread: a place for each connection, its handshake, then its requests.
//!
//! Strangers cost as little as possible: over a limit they are closed before any TLS, a hello that
//! never comes costs a timer, and signing takes turns with the reviews that are under way. Not
//! here: threads (`server`), requests (`connection`).

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::server::Acceptor;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};
use tokio::time::{Instant, timeout};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::connection::{self, ConnectionEnd, Port};
use super::limits::Limits;
use super::observer::{HandshakeFailure, TransportEvent};
use super::places::{Place, Places};
use crate::telemetry::line_budget::LineBudget;

/// Pause after the kernel could not hand over a connection. 50 ms: the usual reason, no free
/// descriptor, passes when a connection ends; without a pause the loop would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Lines per [`LINES_WINDOW`] about peers that misbehave. 10: enough to see what is going on, 864,000 lines a
/// day at worst. Lines about reviews are counted elsewhere.
const LINES_MAX: u32 = 10;

const LINES_WINDOW: Duration = Duration::from_secs(1);

/// What the threads of one port share.
pub(crate) struct Shared {
    pub(crate) port: Arc<Port>,
    tls: Option<Arc<ArcSwap<ServerConfig>>>,
    pub(crate) places: Arc<Places>,
    lines: Mutex<LineBudget>,
}

/// Accepts until the port stops, then waits for the connections of this thread: as long as
/// [`Limits::finish`], after which the rest is cut off.
pub(crate) async fn run(listener: std::net::TcpListener, shared: Arc<Shared>) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    // Nothing is ever sent: the channel ends when the last connection drops its half.
    let (alive, mut all_ended) = mpsc::channel::<Infallible>(1);
    let door = Door { turns: Arc::new(Turns::new(&shared.port.limits)), shared, alive };
    {
        let mut stopping = pin!(door.shared.port.drain.stopping());
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stopping => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => door.admit(stream, peer),
                Err(error) => door.accept_failed(&error).await,
            }
        }
    }
    // Whoever the kernel has already let in would otherwise be reset with the listener.
    let listener = listener.into_std()?;
    while let Ok((stream, peer)) = listener.accept() {
        stream.set_nonblocking(true)?;
        door.admit(TcpStream::from_std(stream)?, peer);
    }
    drop(listener);
    let finish = door.shared.port.limits.finish;
    drop(door);
    // An elapsed wait is the bound itself: what is left ends with the runtime of this thread.
    let _ = timeout(finish, all_ended.recv()).await;
    Ok(())
}

/// What a thread needs to let a connection in.
struct Door {
    shared: Arc<Shared>,
    turns: Arc<Turns>,
    alive: mpsc::Sender<Infallible>,
}

impl Door {
    fn admit(&self, stream: TcpStream, peer: SocketAddr) {
        // On a port of both kinds an IPv4 address arrives as one of IPv6.
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let place = match self.shared.places.take(peer.ip()) {
            Ok(place) => place,
            Err(refusal) => {
                drop(stream);
                self.shared.port.observe(TransportEvent::Refused(refusal));
                self.shared.log(|name, withheld| {
                    let open = self.shared.places.taken();
                    let (largest, of_largest) = self.shared.places.largest();
                    tracing::warn!(endpoint = name, %peer, limit = refusal.label(), open,
                        largest = largest.map(tracing::field::display), of_largest, withheld,
                        "connection refused: too many are open; an API server that is refused cannot \
                         ask; keep other clients away with a NetworkPolicy");
                });
                return;
            }
        };
        self.shared.port.observe(TransportEvent::Opened);
        let guest = Guest {
            shared: Arc::clone(&self.shared),
            turns: Arc::clone(&self.turns),
            peer,
            place,
            _alive: self.alive.clone(),
        };
        tokio::spawn(guest.attend(stream));
    }

    async fn accept_failed(&self, error: &io::Error) {
        // The peer left before we looked: nothing is wrong with us.
        if error.kind() == io::ErrorKind::ConnectionAborted {
            return;
        }
        self.shared.port.observe(TransportEvent::AcceptFailed);
        self.shared.log(|name, withheld| {
            tracing::error!(endpoint = name, %error, withheld,
                "cannot accept connections; clients wait; check the limit of open files");
        });
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}

impl Shared {
    pub(crate) fn new(
        port: Port,
        tls: Option<Arc<ArcSwap<ServerConfig>>>,
        places: Arc<Places>,
    ) -> Self {
        let lines = Mutex::new(LineBudget::new(LINES_MAX, LINES_WINDOW, Instant::now()));
        Self { port: Arc::new(port), tls, places, lines }
    }

    fn log(&self, line: impl FnOnce(&'static str, u64)) {
        let granted =
            self.lines.lock().unwrap_or_else(PoisonError::into_inner).grant(Instant::now());
        if let Some(withheld) = granted {
            line(self.port.name, withheld);
        }
    }
}

/// One accepted connection.
struct Guest {
    shared: Arc<Shared>,
    turns: Arc<Turns>,
    peer: SocketAddr,
    place: Place,
    _alive: mpsc::Sender<Infallible>,
}

impl Guest {
    async fn attend(self, stream: TcpStream) {
        // Without this, replies could wait 40 ms for the peer's acknowledgement. If it fails the
        // socket is dead already and the first read says so.
        let _ = stream.set_nodelay(true);
        let port = &self.shared.port;
        let end = match &self.shared.tls {
            None => connection::serve(stream, port, &self.place).await,
            Some(tls) => {
                // In a box of its own, which goes when it is done: the task of a connection is as
                // large as the largest thing that it ever awaits.
                let handshake = Box::pin(self.handshake(stream, tls));
                match handshake.await {
                    Ok(stream) => {
                        port.observe(TransportEvent::Secured);
                        connection::serve(stream, port, &self.place).await
                    }
                    Err((failure, reason)) => return self.handshake_failed(failure, &reason),
                }
            }
        };
        port.observe(TransportEvent::Ended(end));
        if let ConnectionEnd::TimedOut(_) | ConnectionEnd::Broken = end {
            tracing::debug!(endpoint = port.name, peer = %self.peer, end = end.label(),
                "connection cut off");
        }
    }

    /// The handshake within its time, unless it has to make room.
    async fn handshake(
        &self,
        stream: TcpStream,
        tls: &ArcSwap<ServerConfig>,
    ) -> Result<Box<TlsStream<TcpStream>>, (HandshakeFailure, String)> {
        let failed = |failure, reason: &str| Err((failure, reason.to_owned()));
        let mut asked = pin!(self.place.asked());
        tokio::select! {
            biased;
            done = timeout(self.shared.port.limits.handshake, handshake(stream, tls, &self.turns)) => {
                done.unwrap_or_else(|_| failed(HandshakeFailure::TimedOut, "not finished in time"))
            }
            () = poll_fn(|cx| asked.as_mut().poll_leaving(cx)) => {
                failed(HandshakeFailure::MadeRoom, "another address got the place")
            }
        }
    }

    fn handshake_failed(&self, failure: HandshakeFailure, reason: &str) {
        self.shared.port.observe(TransportEvent::HandshakeFailed(failure));
        // Closing early is what port probes do all day: counted, but no line.
        if failure != HandshakeFailure::Closed {
            self.shared.log(|name, withheld| {
                tracing::info!(endpoint = name, peer = %self.peer, reason, withheld,
                    "TLS handshake failed");
            });
        }
    }
}

/// Waits for the hello, then for a turn to sign, then for the rest. The stream is boxed because it is
/// handed on several times, and each hand would keep room for it.
async fn handshake(
    stream: TcpStream,
    tls: &ArcSwap<ServerConfig>,
    turns: &Turns,
) -> Result<Box<TlsStream<TcpStream>>, (HandshakeFailure, String)> {
    let hello = LazyConfigAcceptor::new(Acceptor::default(), stream);
    let hello = hello.await.map_err(|error| failure(&error))?;
    let turn = turns.take().await?;
    let mut accept = hello.into_stream(tls.load_full());
    let first = poll_fn(|cx| Poll::Ready(Pin::new(&mut accept).poll(cx))).await;
    // The turn ends only after the thread has looked at its other sockets, so that a crowd of
    // handshakes never stands between a review and its answer.
    tokio::task::yield_now().await;
    drop(turn);
    match first {
        Poll::Ready(done) => done,
        Poll::Pending => accept.await,
    }
    .map(Box::new)
    .map_err(|error| failure(&error))
}

fn failure(error: &io::Error) -> (HandshakeFailure, String) {
    let protocol =
        error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>);
    let class = if protocol { HandshakeFailure::Protocol } else { HandshakeFailure::Closed };
    (class, error.to_string())
}

/// Turns of one thread to do the expensive part of a handshake, first come first served.
struct Turns {
    free: Semaphore,
    waiting: AtomicUsize,
    queue: usize,
}

impl Turns {
    fn new(limits: &Limits) -> Self {
        Self {
            free: Semaphore::new(limits.handshakes_at_once),
            waiting: AtomicUsize::new(0),
            queue: limits.handshake_queue,
        }
    }

    async fn take(&self) -> Result<SemaphorePermit<'_>, (HandshakeFailure, String)> {
        let full = || (HandshakeFailure::QueueFull, "too many handshakes wait".to_owned());
        if let Ok(turn) = self.free.try_acquire() {
            return Ok(turn);
        }
        let _waiting = Waiting::new(&self.waiting, self.queue).ok_or_else(full)?;
        self.free.acquire().await.map_err(|_| full())
    }
}

/// A place in the queue for a turn; left when dropped, also when its handshake is given up.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize, queue: usize) -> Option<Self> {
        let place = Self(count);
        (count.fetch_add(1, Ordering::Relaxed) < queue).then_some(place)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_queue_for_a_turn_is_bounded_and_those_who_give_up_leave_it() {
        let limits = Limits { handshakes_at_once: 1, handshake_queue: 1, ..Limits::reviews() };
        let turns = Turns::new(&limits);
        let turn = turns.take().await.unwrap();
        let waiting = Box::pin(turns.take());
        let mut waiting = polled_once(waiting).await;
        assert_eq!(turns.take().await.unwrap_err().0, HandshakeFailure::QueueFull);
        drop(turn);
        let turn = waiting.as_mut().await.unwrap();
        give_up_waiting(&turns).await;
        assert_eq!(turns.waiting.load(Ordering::Relaxed), 0);
        drop(turn);
        assert!(turns.take().await.is_ok());
    }

    /// Polls once and expects to wait.
    async fn polled_once<F: Future + Unpin>(mut future: F) -> F {
        let polled = poll_fn(|cx| Poll::Ready(Pin::new(&mut future).poll(cx).is_pending())).await;
        assert!(polled);
        future
    }

    async fn give_up_waiting(turns: &Turns) {
        let waiting = polled_once(Box::pin(turns.take())).await;
        assert_eq!(turns.waiting.load(Ordering::Relaxed), 1);
        drop(waiting);
    }
}

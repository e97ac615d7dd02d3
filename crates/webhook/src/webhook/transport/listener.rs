//! The accept loop of one thread: a permit for each connection, its handshake, then its requests.
//!
//! Unauthenticated clients cost as little as possible. Above a limit they are closed before TLS, and a missing
//! `ClientHello` costs a timer. Handshakes and reviews take turns on the thread; no library schedules that, so it is done
//! here by hand. Not here: threads (`server`), requests (`connection`).

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};
use tokio::time::{Instant, timeout};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::connection::{self, Port};
use super::connection_limiter::{ConnectionLimiter, ConnectionPermit};
use super::handler::Handler;
use super::limits::Limits;
use super::observer::{ConnectionEnd, HandshakeFailure, TransportEvent};
use crate::telemetry::line_budget::LineBudget;

/// Pause after the kernel could not hand over a connection. 50 ms: the usual reason, no free
/// descriptor, passes when a connection ends; without a pause the loop would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Lines per [`LINES_WINDOW`] about peers that misbehave. 10: enough to see what is going on, 864,000 lines a
/// day at worst. Lines about reviews are counted elsewhere.
const LINES_MAX: u32 = 10;

const LINES_WINDOW: Duration = Duration::from_secs(1);

/// What the threads of one port share.
#[derive(Debug)]
pub(crate) struct ListenerState {
    pub(crate) port: Arc<Port>,
    tls: Option<Arc<ArcSwap<ServerConfig>>>,
    pub(crate) limiter: Arc<ConnectionLimiter>,
    lines: Mutex<LineBudget>,
}

/// Accepts until the port stops, then waits for the connections of this thread: as long as
/// [`Limits::finish`], after which the rest is cut off.
pub(crate) async fn run(
    listener: std::net::TcpListener,
    shared: Arc<ListenerState>,
    handler: impl Handler,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    // Nothing is ever sent: the channel ends when the last connection drops its half.
    let (alive, mut all_ended) = mpsc::channel::<Infallible>(1);
    let handshakes = Arc::new(HandshakeQueue::new(&shared.port.limits));
    let acceptor = Acceptor { shared, handler, handshakes, alive };
    {
        let mut stopping = pin!(acceptor.shared.port.drain.stopping());
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stopping => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => acceptor.accept(stream, peer),
                Err(error) => acceptor.accept_failed(&error).await,
            }
        }
    }
    // Connections that the kernel has already accepted would otherwise be reset with the listener.
    let listener = listener.into_std()?;
    while let Ok((stream, peer)) = listener.accept() {
        stream.set_nonblocking(true)?;
        acceptor.accept(TcpStream::from_std(stream)?, peer);
    }
    drop(listener);
    let finish = acceptor.shared.port.limits.finish;
    drop(acceptor);
    // An elapsed wait is the bound itself: what is left ends with the runtime of this thread.
    let _ = timeout(finish, all_ended.recv()).await;
    Ok(())
}

/// Accepts the connections of one thread.
struct Acceptor<H> {
    shared: Arc<ListenerState>,
    handler: H,
    handshakes: Arc<HandshakeQueue>,
    alive: mpsc::Sender<Infallible>,
}

impl<H: Handler> Acceptor<H> {
    fn accept(&self, stream: TcpStream, peer: SocketAddr) {
        // On a port of both kinds an IPv4 address arrives as one of IPv6.
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let permit = match self.shared.limiter.acquire(peer.ip()) {
            Ok(permit) => permit,
            Err(rejection) => {
                drop(stream);
                self.shared.port.observe(TransportEvent::Rejected(rejection));
                self.shared.log(|name, withheld| {
                    let open = self.shared.limiter.open();
                    let (largest, of_largest) = self.shared.limiter.largest();
                    tracing::warn!(endpoint = name, %peer, limit = rejection.label(), open,
                        largest = largest.map(tracing::field::display), of_largest, withheld,
                        "connection rejected: too many are open; an API server that is rejected cannot \
                         send reviews; keep other clients away with a NetworkPolicy");
                });
                return;
            }
        };
        self.shared.port.observe(TransportEvent::Opened);
        let connection = Connection {
            shared: Arc::clone(&self.shared),
            handler: self.handler.clone(),
            handshakes: Arc::clone(&self.handshakes),
            peer,
            permit,
            _alive: self.alive.clone(),
        };
        tokio::spawn(connection.serve(stream));
    }

    async fn accept_failed(&self, error: &io::Error) {
        // The peer closed before it was accepted, which is no failure of this server.
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

impl ListenerState {
    pub(crate) fn new(
        port: Port,
        tls: Option<Arc<ArcSwap<ServerConfig>>>,
        limiter: Arc<ConnectionLimiter>,
    ) -> Self {
        let lines = Mutex::new(LineBudget::new(LINES_MAX, LINES_WINDOW, Instant::now()));
        Self { port: Arc::new(port), tls, limiter, lines }
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
struct Connection<H> {
    shared: Arc<ListenerState>,
    handler: H,
    handshakes: Arc<HandshakeQueue>,
    peer: SocketAddr,
    permit: ConnectionPermit,
    _alive: mpsc::Sender<Infallible>,
}

impl<H: Handler> Connection<H> {
    async fn serve(self, stream: TcpStream) {
        // Without this, replies could wait 40 ms for the peer's acknowledgement. If it fails the
        // socket is dead already and the first read says so.
        let _ = stream.set_nodelay(true);
        let port = &self.shared.port;
        let end = match &self.shared.tls {
            None => connection::serve(stream, port, &self.handler, &self.permit).await,
            Some(tls) => {
                // In a box of its own, which goes when it is done: the task of a connection is as
                // large as the largest thing that it ever awaits.
                let handshake = Box::pin(self.handshake(stream, tls));
                match handshake.await {
                    Ok(stream) => {
                        port.observe(TransportEvent::Secured);
                        connection::serve(stream, port, &self.handler, &self.permit).await
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

    /// Performs the handshake within its time, unless the connection is evicted.
    async fn handshake(
        &self,
        stream: TcpStream,
        tls: &ArcSwap<ServerConfig>,
    ) -> Result<Box<TlsStream<TcpStream>>, (HandshakeFailure, String)> {
        let failed = |failure, reason: &str| Err((failure, reason.to_owned()));
        let mut eviction = self.permit.signal();
        tokio::select! {
            biased;
            done = timeout(self.shared.port.limits.handshake, handshake(stream, tls, &self.handshakes)) => {
                done.unwrap_or_else(|_| failed(HandshakeFailure::TimedOut, "not finished in time"))
            }
            () = poll_fn(|cx| eviction.poll_until(cx, || self.permit.must_close())) => {
                failed(HandshakeFailure::Evicted, "evicted for another address")
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

/// Waits for the `ClientHello`, then for a permit to sign, then for the rest. The stream is boxed: each function that
/// passes it on would otherwise reserve room for it.
async fn handshake(
    stream: TcpStream,
    tls: &ArcSwap<ServerConfig>,
    handshakes: &HandshakeQueue,
) -> Result<Box<TlsStream<TcpStream>>, (HandshakeFailure, String)> {
    let hello = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream);
    let hello = hello.await.map_err(|error| failure(&error))?;
    let permit = handshakes.take().await?;
    let mut accept = hello.into_stream(tls.load_full());
    let first = poll_fn(|cx| Poll::Ready(Pin::new(&mut accept).poll(cx))).await;
    // The permit is held until the thread has polled its other sockets, so that many handshakes never delay a review.
    tokio::task::yield_now().await;
    drop(permit);
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

/// Limits how many handshakes of one thread sign at once; some others wait in order.
struct HandshakeQueue {
    signing: Semaphore,
    waiting: Semaphore,
}

impl HandshakeQueue {
    fn new(limits: &Limits) -> Self {
        Self {
            signing: Semaphore::new(limits.handshakes_at_once),
            waiting: Semaphore::new(limits.handshake_queue),
        }
    }

    async fn take(&self) -> Result<SemaphorePermit<'_>, (HandshakeFailure, String)> {
        let full = || (HandshakeFailure::QueueFull, "too many handshakes wait".to_owned());
        if let Ok(permit) = self.signing.try_acquire() {
            return Ok(permit);
        }
        let _waiting = self.waiting.try_acquire().map_err(|_| full())?;
        self.signing.acquire().await.map_err(|_| full())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_queue_for_a_permit_is_bounded_and_those_who_give_up_leave_it() {
        let limits = Limits { handshakes_at_once: 1, handshake_queue: 1, ..Limits::reviews() };
        let handshakes = HandshakeQueue::new(&limits);
        let permit = handshakes.take().await.unwrap();
        let waiting = Box::pin(handshakes.take());
        let mut waiting = polled_once(waiting).await;
        assert_eq!(handshakes.take().await.unwrap_err().0, HandshakeFailure::QueueFull);
        drop(permit);
        let permit = waiting.as_mut().await.unwrap();
        give_up_waiting(&handshakes).await;
        assert_eq!(handshakes.waiting.available_permits(), 1);
        drop(permit);
        assert!(handshakes.take().await.is_ok());
    }

    /// Polls once and expects to wait.
    async fn polled_once<F: Future + Unpin>(mut future: F) -> F {
        let polled = poll_fn(|cx| Poll::Ready(Pin::new(&mut future).poll(cx).is_pending())).await;
        assert!(polled);
        future
    }

    async fn give_up_waiting(handshakes: &HandshakeQueue) {
        let waiting = polled_once(Box::pin(handshakes.take())).await;
        assert_eq!(handshakes.waiting.available_permits(), 0);
        drop(waiting);
    }
}

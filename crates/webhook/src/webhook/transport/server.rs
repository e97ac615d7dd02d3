//! Starts and ends the threads of one port.
//!
//! Each thread has a single-threaded runtime and accepts from the same socket: measured faster and
//! steadier than one runtime over many threads, because a request never changes threads.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use thiserror::Error;
use tokio::sync::mpsc;

use super::connection::Port;
use super::connection_limiter::ConnectionLimiter;
use super::drain::Drain;
use super::handler::Handler;
use super::limits::Limits;
use super::listener::{self, ListenerState};
use super::observer::TransportObserver;

/// A port that could not be started, or that ended in another way than by a drain.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The socket or a runtime could not be set up.
    #[error("cannot serve {endpoint}; the port stays closed; see the reason")]
    Setup {
        /// The name of the port.
        endpoint: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// A serving thread panicked. The process should end: its port may be dead.
    #[error("a thread that serves {endpoint} failed on a defect; see the log above")]
    Panicked {
        /// The name of the port.
        endpoint: &'static str,
    },
}

/// How the bytes of a port are protected.
#[derive(Clone, Debug)]
pub enum Security {
    /// TLS; each handshake takes the configuration that is current at its time.
    Tls(Arc<ArcSwap<ServerConfig>>),
    /// Nothing: probes and metrics.
    Plain,
}

/// One port: what to listen on, how and for whom.
#[derive(Debug)]
pub struct PortOptions<H> {
    /// Its name in logs, metrics and thread names, such as `reviews`.
    pub name: &'static str,
    /// A bound socket.
    pub listener: TcpListener,
    /// TLS or plain.
    pub security: Security,
    /// What answers the requests.
    pub handler: H,
    /// Deadlines, sizes and counts.
    pub limits: Limits,
}

/// A port that is being served. Dropping it stops the port at once, without waiting for the end.
#[derive(Debug)]
pub struct PortServer {
    shared: Arc<ListenerState>,
    address: SocketAddr,
    threads: Vec<Option<JoinHandle<io::Result<()>>>>,
    ended: mpsc::UnboundedReceiver<usize>,
}

impl PortServer {
    /// Serves `endpoint` on so many threads of its own until [`PortServer::drain`]. The listener is
    /// accepting when this returns.
    pub fn start(
        endpoint: PortOptions<impl Handler>,
        threads: NonZeroUsize,
        observer: Arc<dyn TransportObserver>,
    ) -> Result<Self, ServeError> {
        let name = endpoint.name;
        Self::start_threads(endpoint, threads, observer)
            .map_err(|source| ServeError::Setup { endpoint: name, source })
    }

    fn start_threads(
        endpoint: PortOptions<impl Handler>,
        threads: NonZeroUsize,
        observer: Arc<dyn TransportObserver>,
    ) -> io::Result<Self> {
        let PortOptions { name, listener, security, handler, limits } = endpoint;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let tls = match security {
            Security::Tls(tls) => Some(tls),
            Security::Plain => None,
        };
        let limiter = ConnectionLimiter::new(&limits);
        let port = Port { name, limits, drain: Drain::default(), observer };
        let shared = Arc::new(ListenerState::new(port, tls, limiter));
        let (end, ended) = mpsc::unbounded_channel();
        // Made before any thread starts, so that dropping it on an error stops those that did.
        let mut server = Self { shared, address, threads: Vec::new(), ended };
        for index in 0..threads.get() {
            let (listener, end) = (listener.try_clone()?, end.clone());
            let thread = server.start_thread(index, listener, handler.clone(), end)?;
            server.threads.push(Some(thread));
        }
        Ok(server)
    }

    fn start_thread(
        &self,
        index: usize,
        listener: TcpListener,
        handler: impl Handler,
        end: mpsc::UnboundedSender<usize>,
    ) -> io::Result<JoinHandle<io::Result<()>>> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let shared = Arc::clone(&self.shared);
        std::thread::Builder::new().name(format!("{}-{index}", shared.port.name)).spawn(move || {
            let _end = EndNotice { index, end };
            runtime.block_on(listener::run(listener, shared, handler))
        })
    }

    /// The address that the port listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections open now, handshakes included.
    pub fn connections(&self) -> usize {
        self.shared.limiter.open()
    }

    /// Ends the port without losing a request: for `delay` every reply carries
    /// `Connection: close` while new connections are still served, then nothing more is accepted.
    /// Requests in flight go on; [`PortServer::join`] waits for them. Turn readiness off first.
    pub async fn drain(&self, delay: Duration) {
        self.shared.port.drain.announce();
        tokio::time::sleep(delay).await;
        self.shared.port.drain.stop();
    }

    /// Waits until every thread has ended: after a drain once requests in flight are answered or
    /// [`Limits::finish`] has passed; without one only if something failed. The first failure is
    /// returned at once; that the process should end then is up to the caller.
    pub async fn join(&mut self) -> Result<(), ServeError> {
        let endpoint = self.shared.port.name;
        while self.threads.iter().any(Option::is_some) {
            let Some(index) = self.ended.recv().await else { break };
            let Some(thread) = self.threads.get_mut(index).and_then(Option::take) else { continue };
            match thread.join() {
                Ok(Ok(())) => {}
                Ok(Err(source)) => return Err(ServeError::Setup { endpoint, source }),
                Err(_) => return Err(ServeError::Panicked { endpoint }),
            }
        }
        Ok(())
    }
}

impl Drop for PortServer {
    fn drop(&mut self) {
        self.shared.port.drain.stop();
    }
}

/// Reports that a thread has ended, by return or by panic.
struct EndNotice {
    index: usize,
    end: mpsc::UnboundedSender<usize>,
}

impl Drop for EndNotice {
    fn drop(&mut self) {
        // The receiver is gone when the server was dropped; nothing waits for this thread then.
        let _ = self.end.send(self.index);
    }
}

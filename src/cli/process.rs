//! Signals and the log of the commands that serve.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

use axum::Router;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::args::LogArgs;
use super::exit::Failure;
use crate::listen::listen;
use crate::telemetry::connections::ConnectionMetrics;
use crate::telemetry::logging::{self, LogFormat};
use crate::webhook::connection_metrics::ConnectionCounter;
use crate::webhook::transport::{Limits, PortOptions, PortServer, Security, ServeError};

/// The signals that end the process, received from when this is made.
pub(super) struct Signals {
    terminated: Signal,
    interrupted: Signal,
}

impl Signals {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminated: signal(SignalKind::terminate())?,
            interrupted: signal(SignalKind::interrupt())?,
        })
    }

    /// Resolves on SIGTERM, as Kubernetes ends a pod, or on an interrupt.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminated.recv() => {}
            _ = self.interrupted.recv() => {}
        }
    }
}

/// Runs a command that serves to its end, on a runtime with this many threads.
pub(super) fn block_on<T>(threads: usize, serving: impl Future<Output = T>) -> Result<T, Failure> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(threads).enable_all().build();
    let failure = |error| Failure::usage(format!("cannot start a runtime: {error}"));
    let runtime = runtime.map_err(failure)?;
    let ended = runtime.block_on(serving);
    // Dropped, it would wait for calls on disks that do not answer.
    runtime.shutdown_background();
    Ok(ended)
}

/// Starts the log; text on a terminal and JSON elsewhere, unless given.
pub(super) fn start_logging(log: &LogArgs) {
    let fitting =
        || if std::io::stderr().is_terminal() { LogFormat::Text } else { LogFormat::Json };
    if let Err(error) = logging::start(log.log_format.unwrap_or_else(fitting), &log.log_level) {
        super::output::eprint_line(&format!("logging is as it was before: {error}"));
    }
}

/// Backlog of a health port: more than probes and scrapes need at once.
const WAITING: u16 = 128;

/// Serves a health port. `flag` is the one that chooses its address.
pub(super) fn health_port(
    address: SocketAddr,
    flag: &str,
    handler: Router,
    connections: ConnectionMetrics,
) -> Result<PortServer, Failure> {
    let listener = listen(address, WAITING).map_err(|error| {
        let reason = logging::cause(&error);
        Failure::usage(format!(
            "cannot listen on {address}: {reason}; free it or choose another with {flag}"
        ))
    })?;
    let endpoint = PortOptions {
        name: "health",
        listener,
        security: Security::Plain,
        handler,
        limits: Limits::health(),
    };
    let observer = Arc::new(ConnectionCounter { connections, panics: None });
    PortServer::start(endpoint, NonZeroUsize::MIN, observer)
        .map_err(|error| Failure::usage(logging::chain(&error)))
}

/// The failure of a health port that has ended.
pub(super) fn port_ended(ended: Result<(), ServeError>) -> Failure {
    let reason = ended.err().map(|error| logging::cause(&error)).unwrap_or_default();
    Failure::usage(format!("the health port is not served any more: {reason}"))
}

/// An identity that differs between any two processes: the host name is the pod's, and a restarted container has
/// another start time.
pub(super) fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let start = jiff::Timestamp::now().as_nanosecond();
    format!("{}_{}_{start:x}", host.trim(), std::process::id())
}

//! Signals and the log of the commands that serve.

use std::io::IsTerminal;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::args::LogArgs;
use super::exit::Failure;
use crate::telemetry::logging::{self, LogFormat};

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

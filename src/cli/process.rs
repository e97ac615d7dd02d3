//! Signals and the log of the commands that serve.

use std::io::IsTerminal;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::telemetry::logging::{self, LogFormat, LogLevel};

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

/// Starts the log; text on a terminal and JSON elsewhere, unless given.
pub(super) fn start_logging(format: Option<LogFormat>, level: &LogLevel) {
    let fitting =
        || if std::io::stderr().is_terminal() { LogFormat::Text } else { LogFormat::Json };
    if let Err(error) = logging::start(format.unwrap_or_else(fitting), level) {
        super::output::eprint_line(&format!("logging is as it was before: {error}"));
    }
}

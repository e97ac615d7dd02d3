//! Logs: JSON in a cluster, text on a terminal.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::time::SystemTime;
use tracing_subscriber::util::TryInitError;
use tracing_subscriber::{fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

/// Starts logging to standard error; `level` is `error`, `warn`, `info`, `debug` or a filter such
/// as `info,bindery::cluster=debug`. An unreadable filter counts as `info`.
pub fn start(format: LogFormat, level: &str) -> Result<(), TryInitError> {
    let filter = EnvFilter::try_new(level).unwrap_or_else(|_| EnvFilter::new("info"));
    let registry = tracing_subscriber::registry().with(filter);
    let layer = fmt::layer().with_writer(std::io::stderr).with_timer(SystemTime);
    match format {
        LogFormat::Json => registry.with(layer.json().flatten_event(true)).try_init(),
        LogFormat::Text => registry.with(layer.with_ansi(false)).try_init(),
    }
}

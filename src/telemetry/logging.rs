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

/// An error with its sources in one line. A source whose text the line already holds is left out:
/// some libraries repeat theirs.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        source = error.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_repeats_no_source() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer: inner")]
        struct Outer(#[source] std::io::Error);
        assert_eq!(chain(&Outer(std::io::Error::other("inner"))), "outer: inner");
        assert_eq!(chain(&Outer(std::io::Error::other("cause"))), "outer: inner: cause");
    }
}

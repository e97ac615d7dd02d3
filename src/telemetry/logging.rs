//! Logs: JSON in a cluster, text on a terminal.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::time::SystemTime;
use tracing_subscriber::util::TryInitError;
use tracing_subscriber::{fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// Format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One object a line.
    Json,
}

/// What is logged, checked: a level, or levels of targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLevel(String);

impl std::str::FromStr for LogLevel {
    type Err = String;

    /// Reads `error`, `warn`, `info`, `debug`, `trace`, `off`, or a list such as
    /// `info,bindery::client=debug`. The library would take any other word for a target and then
    /// log nothing else.
    fn from_str(text: &str) -> Result<Self, String> {
        let is_known = |part: &str| {
            let level = part.rsplit_once('=').map_or(part, |(_, level)| level);
            LEVELS.contains(&level) && EnvFilter::try_new(part).is_ok()
        };
        match text.split(',').find(|part| !is_known(part)) {
            None => Ok(Self(text.to_owned())),
            Some(_) => Err(format!("a level is one of {}", LEVELS.join(", "))),
        }
    }
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The client's library logs each failed connection, and so does its caller.
const REPEATED: &str = "kube_client::client::builder=off";

/// Starts logging to standard error.
pub fn start(format: LogFormat, level: &LogLevel) -> Result<(), TryInitError> {
    let filter = EnvFilter::new(format!("{REPEATED},{}", level.0));
    let registry = tracing_subscriber::registry().with(filter);
    let layer = fmt::layer().with_writer(std::io::stderr).with_timer(SystemTime);
    match format {
        LogFormat::Json => registry.with(layer.json().flatten_event(true)).try_init(),
        LogFormat::Text => registry.with(layer.with_ansi(false)).try_init(),
    }
}

/// The innermost cause of an error on one line, as people say it: without the number that the
/// library appends, and beginning small. What wraps it often says only that there was one.
pub fn cause(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    let plain = line.split(" (os error").next().unwrap_or(line).trim_end_matches('.');
    let mut characters = plain.chars();
    let first = characters.next().map(|first| first.to_lowercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}

/// An error with its sources in one message. A source whose text it already holds is left out, as some libraries
/// repeat theirs.
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
    fn only_levels_are_levels() {
        for text in ["off", "info", "warn,bindery::client=debug"] {
            assert_eq!(text.parse(), Ok(LogLevel(text.to_owned())));
        }
        for text in ["", "nonsense", "info,", "a=b", "a=b=info", "INFO "] {
            assert!(text.parse::<LogLevel>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_cause_is_the_innermost_and_without_number() {
        let refused = std::io::Error::from_raw_os_error(111);
        assert_eq!(cause(&std::io::Error::other(refused)), "connection refused");
    }

    #[test]
    fn a_chain_repeats_no_source() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer: inner")]
        struct Outer(#[source] std::io::Error);
        assert_eq!(chain(&Outer(std::io::Error::other("inner"))), "outer: inner");
        assert_eq!(chain(&Outer(std::io::Error::other("cause"))), "outer: inner: cause");
    }
}

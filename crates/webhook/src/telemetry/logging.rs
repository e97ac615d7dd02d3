//! Logs: JSON in a cluster, text on a terminal.

use clap::ValueEnum;
use tracing_subscriber::filter::Targets;
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
#[derive(Clone, Debug, PartialEq)]
pub struct LogLevel(Targets);

impl std::str::FromStr for LogLevel {
    type Err = String;

    /// Reads `error`, `warn`, `info`, `debug`, `trace`, `off`, or a list such as
    /// `info,bindery_webhook::client=debug`. The library would take any other word for a target and then
    /// log nothing else.
    fn from_str(text: &str) -> Result<Self, String> {
        let is_known = |part: &str| {
            let (target, level) =
                part.rsplit_once('=').map_or((None, part), |(target, level)| (Some(target), level));
            LEVELS.contains(&level) && target.is_none_or(is_target)
        };
        let unknown = || format!("a level is one of {}", LEVELS.join(", "));
        if !text.split(',').all(is_known) {
            return Err(unknown());
        }
        format!("{REPEATED},{text}").parse().map(Self).map_err(|_| unknown())
    }
}

/// Whether the text can be the name of a module; the library takes any.
fn is_target(text: &str) -> bool {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "_:-".contains(letter);
    !text.is_empty() && text.chars().all(is_of_name)
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The client's library logs each failed connection, and so does its caller.
const REPEATED: &str = "kube_client::client::builder=off";

/// Starts logging to standard error.
pub fn start(format: LogFormat, level: &LogLevel) -> Result<(), TryInitError> {
    let registry = tracing_subscriber::registry().with(level.0.clone());
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
    use tracing::Level;

    use super::*;

    #[test]
    fn only_levels_are_levels() {
        for text in ["off", "info", "warn,bindery_webhook::client=debug"] {
            assert!(text.parse::<LogLevel>().is_ok(), "{text}");
        }
        let spaced = "info, bindery::timing=debug";
        for text in [
            "",
            "nonsense",
            "info,",
            "a=b",
            "a=b=info",
            "INFO ",
            spaced,
            "*=debug",
            "=debug",
            "[span]=debug",
        ] {
            assert!(text.parse::<LogLevel>().is_err(), "{text}");
        }
    }

    #[test]
    fn levels_are_those_of_targets() {
        let LogLevel(targets) = "warn,bindery::timing=debug".parse().unwrap();
        let is_logged = |target, level| targets.would_enable(target, &level);
        assert!(
            is_logged("bindery::timing", Level::DEBUG)
                && !is_logged("bindery::timing", Level::TRACE)
        );
        assert!(is_logged("bindery::cli", Level::WARN) && !is_logged("bindery::cli", Level::INFO));
        assert!(!is_logged("kube_client::client::builder", Level::ERROR));
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

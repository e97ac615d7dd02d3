//! The configuration file of the controller, and events about it beside the `ConfigMap` that it is mounted from.
//!
//! Not here: how a file is followed (`follow`), and what it says of recyclers (`recycle`) and labels (`reconciler`).

use kube::Client;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::sync::watch;

use crate::binding::EventType;
use crate::client::announce::{About, Message, announce};
use crate::client::lease::LeadershipDeadline;
use crate::config::Configuration;
use crate::follow::configuration::{ConfigurationSource, FileError, LiveConfiguration};
use crate::telemetry::configuration::ConfigurationMetrics;

/// What became of a new file: it counts, or why it does not.
pub(super) type Taken = Result<(), String>;

/// Changes of the file of which nobody was told yet. 16: an event takes milliseconds, and files change by hand.
pub(super) const TOLD_COUNT_MAX: usize = 16;

/// Kubernetes: an event says at most 1024 bytes (`validation/events.go`, `NoteLengthLimit`); the rest is for what
/// follows from the problems.
const PROBLEMS_BYTES_MAX: usize = 900;

/// Follows `source`. What becomes of each change is counted, and sent to `told`.
pub(super) fn follow(
    source: ConfigurationSource<Configuration>,
    counted: ConfigurationMetrics,
    told: Sender<Taken>,
) -> Result<LiveConfiguration<Configuration>, FileError> {
    LiveConfiguration::start(
        source,
        |read| read,
        move |taken| {
            counted.count(taken.is_ok());
            // Nobody listens if events are off; of more changes than have room the metric tells.
            let _ = told.try_send(taken.map_err(ToString::to_string));
        },
    )
}

/// Makes events of it as long as this replica leads: the files of all replicas say the same.
pub(super) async fn pass_on(
    client: Client,
    namespace: String,
    config_map: String,
    until: watch::Receiver<LeadershipDeadline>,
    mut told: Receiver<Taken>,
) {
    while let Some(taken) = told.recv().await {
        if until.borrow().is_none() {
            continue;
        }
        let text = text(&taken);
        let (severity, reason) = match taken {
            Ok(()) => (EventType::Normal, "ConfigurationLoaded"),
            Err(_) => (EventType::Warning, "ConfigurationUnusable"),
        };
        let (kind, namespace, name) = ("ConfigMap", namespace.as_str(), config_map.as_str());
        let message = Message { kind, namespace, name, severity, reason, text: &text };
        let about = About { uid: None, version: None, count: 1, detail: "" };
        // What is not stored was logged.
        announce(&client, message, about).await;
    }
}

fn text(taken: &Taken) -> String {
    match taken {
        Ok(()) => "the new configuration counts".to_owned(),
        Err(problems) => {
            let mut problems = problems.replace('\n', "; ");
            if problems.len() > PROBLEMS_BYTES_MAX {
                problems.truncate(problems.floor_char_boundary(PROBLEMS_BYTES_MAX));
                problems.push('…');
            }
            format!("the new configuration cannot be used, the old one stays; {problems}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_never_too_long_and_says_where() {
        let one = text(&Err("c.yaml:3:1: unknown key \"a\"; remove it".to_owned()));
        assert_eq!(
            one,
            "the new configuration cannot be used, the old one stays; c.yaml:3:1: unknown key \"a\"; \
             remove it"
        );
        let many = text(&Err("c.yaml:3:1: ü\n".repeat(500)));
        assert!(many.len() <= 1024 && many.ends_with('…'), "{}", many.len());
    }
}

//! The configuration file of the controller, and events about it beside the `ConfigMap` that it is mounted from.
//!
//! Not here: how a file is watched (`file_watch`), and what it says of recyclers (`recycle`) and labels
//! (`reconciler`), and where the last good one is kept (`last_good`).

use kube::Client;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::sync::watch;

use crate::binding::EventType;
use crate::client::events::{COMPONENT, EventMessage, Regarding, problems_in_event, store_event};
use crate::client::lease::LeadershipDeadline;
use crate::config::Configuration;
use crate::file_watch::configuration::{ConfigurationSource, FileError, LiveConfiguration};
use crate::telemetry::configuration::ConfigurationMetrics;

/// The result of loading a new file: loaded, or why not.
pub(super) type Loaded = Result<(), String>;

/// Changes of the file whose event is not stored yet. 16: an event takes milliseconds, and files change by hand.
pub(super) const CHANGES_COUNT_MAX: usize = 16;

/// Watches `source`. Each change is counted, and its result sent to `changes`.
pub(super) fn watch(
    source: ConfigurationSource<Configuration>,
    counted: ConfigurationMetrics,
    changes: Sender<Loaded>,
) -> Result<LiveConfiguration<Configuration>, FileError> {
    LiveConfiguration::start(
        source,
        |read| read,
        move |loaded| {
            counted.count(loaded.is_ok());
            // The receiver is gone if events are off; changes beyond its room are in the metric alone.
            let _ = changes.try_send(loaded.map_err(ToString::to_string));
        },
    )
}

/// Records events about the changes while this replica leads: the files of all replicas say the same. That the file is
/// wrong is recorded by the next leader too, as it may have been so since its start.
pub(super) async fn record(
    client: Client,
    namespace: String,
    config_map: String,
    mut until: watch::Receiver<LeadershipDeadline>,
    mut changes: Receiver<Loaded>,
) {
    let mut newest: Option<Loaded> = None;
    loop {
        tokio::select! {
            changed = changes.recv() => match changed {
                Some(loaded) => newest = Some(loaded),
                None => return,
            },
            Ok(()) = until.changed() => {}
        }
        let leads = until.borrow().is_some();
        let Some(loaded) = newest.take() else { continue };
        if !leads {
            newest = Some(loaded).filter(Result::is_err);
            continue;
        }
        let text = text(&loaded);
        let (event_type, reason) = match loaded {
            Ok(()) => (EventType::Normal, "ConfigurationLoaded"),
            Err(_) => (EventType::Warning, "ConfigurationUnusable"),
        };
        let (kind, namespace, name) = ("ConfigMap", namespace.as_str(), config_map.as_str());
        let component = COMPONENT;
        let text = text.as_str();
        let message = EventMessage { component, kind, namespace, name, event_type, reason, text };
        let about = Regarding { uid: None, version: None, count: 1, detail: "" };
        // What is not stored was logged.
        store_event(&client, message, about).await;
    }
}

fn text(loaded: &Loaded) -> String {
    match loaded {
        Ok(()) => "the new configuration is in use".to_owned(),
        Err(problems) => {
            let problems = problems_in_event(problems);
            format!(
                "the configuration cannot be used; the last good one is in use, or the defaults under its profile if there is none; {problems}"
            )
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
            "the configuration cannot be used; the last good one is in use, or the defaults under its profile if there is none; c.yaml:3:1: unknown key \"a\"; \
             remove it"
        );
        let many = text(&Err("c.yaml:3:1: ü\n".repeat(500)));
        assert!(many.len() <= 1024 && many.ends_with('…'), "{}", many.len());
    }
}

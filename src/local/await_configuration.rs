//! The configuration of the provisioner, which is waited for while it is wrong.
//!
//! Nothing is done about a disk meanwhile. An earlier configuration is no replacement: it can have a disk cleaned that the new one
//! spares, and names folders that this pod may not have mounted.

use std::path::Path;
use std::time::Duration;

use kube::Client;
use tokio::time::sleep;

use super::configuration::{LocalConfiguration, LocalConfigurationError, read};
use super::events::COMPONENT;
use crate::binding::EventType;
use crate::client::events::{EventMessage, Regarding, problems_in_event, store_event};
use crate::telemetry::configuration::ConfigurationMetrics;

/// How often the folder is looked at. The kubelet brings a new `ConfigMap` within two minutes: it need not be seen sooner.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Returns the configuration in `folder` once it is right. Until then `metrics`, the log and an event about `node` say that it is not.
///
/// # Errors
///
/// The folder cannot be read: nothing is mounted there.
pub async fn await_configuration(
    folder: &Path,
    client: &Client,
    node: &str,
    metrics: &ConfigurationMetrics,
) -> Result<LocalConfiguration, LocalConfigurationError> {
    let mut known = String::new();
    let (mut events, mut was_right) = (0, true);
    loop {
        let problems = match read(folder) {
            Ok(configuration) if was_right => {
                if events > 0 {
                    metrics.count(true);
                    tracing::info!("the configuration is right now");
                }
                return Ok(configuration);
            }
            // Kubernetes: the keys of a ConfigMap change one after another for a moment (`pkg/volume/util/atomic_writer.go`,
            // `createUserVisibleFiles`).
            Ok(_) => None,
            Err(LocalConfigurationError::Problems(error)) => Some(error.to_string()),
            Err(error @ LocalConfigurationError::Folder { .. }) => return Err(error),
        };
        was_right = problems.is_none();
        if let Some(problems) = problems.filter(|problems| *problems != known) {
            events += 1;
            metrics.count(false);
            report(client, node, &problems, events).await;
            known = problems;
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// Logs that the configuration of a node is wrong, and records an event, the `count`th one.
async fn report(client: &Client, node: &str, problems: &str, count: u32) {
    for problem in problems.lines() {
        tracing::error!(
            problem,
            "the configuration is wrong; no disk is offered or cleaned until it is corrected"
        );
    }
    let problems = problems_in_event(problems);
    let text = format!(
        "the configuration is wrong; no disk is offered or cleaned until it is corrected; {problems}"
    );
    let message = EventMessage {
        component: COMPONENT,
        kind: "Node",
        namespace: "",
        name: node,
        event_type: EventType::Warning,
        reason: "ConfigurationUnusable",
        text: &text,
    };
    let about = Regarding { uid: None, version: None, count, detail: "" };
    store_event(client, message, about).await;
}

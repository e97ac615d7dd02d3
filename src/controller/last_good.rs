//! The last good configuration, which the leader keeps in a `ConfigMap` for pods that start while the file is wrong.
//!
//! Not here: who reads it (`file_watch`).

use std::future::pending;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Method;
use kube::Client;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::client::lease::LeadershipDeadline;
use crate::client::request::{RequestError, escaped, request, send_text};
use crate::config;

/// A `ConfigMap` that keeps the last good configuration.
#[derive(Clone, Debug)]
pub struct LastGoodConfiguration {
    /// The configuration file.
    pub file: PathBuf,
    /// The namespace of the `ConfigMap`.
    pub namespace: String,
    /// Its name.
    pub config_map: String,
}

/// The kubelet brings a new file within a minute or two: it need not be seen sooner.
const LOOK_AGAIN: Duration = Duration::from_mins(1);
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

/// How long storing may take: it is tried again.
const STORE_DEADLINE: Duration = Duration::from_secs(10);

/// Keeps the last good configuration in its `ConfigMap` while this replica leads, for pods that start while the file is
/// wrong. What is stored was parsed before. Never ends.
pub(super) async fn keep(
    client: Client,
    last_good: Option<LastGoodConfiguration>,
    mut until: watch::Receiver<LeadershipDeadline>,
) {
    let Some(LastGoodConfiguration { file, namespace, config_map }) = last_good else {
        return pending().await;
    };
    let (namespace, name) = (escaped(&namespace), escaped(&config_map));
    let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
    let mut kept: Option<String> = None;
    loop {
        let leads = until.borrow_and_update().is_some();
        let text =
            leads.then(|| good_text(&file)).flatten().filter(|text| kept.as_ref() != Some(text));
        if let Some(text) = text {
            match store(&client, &path, &text).await {
                Ok(()) => kept = Some(text),
                Err(error) => {
                    tracing::warn!(%error, path, "the last good configuration was not stored");
                }
            }
        }
        // The deadline moves with each renewal of the Lease; where there is none, it stays.
        let _ = timeout(LOOK_AGAIN, until.changed()).await;
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

/// The text of a configuration file that is right.
fn good_text(file: &Path) -> Option<String> {
    let bytes = std::fs::read(file).ok()?;
    config::read_bytes(&bytes, &file.display().to_string()).ok()?;
    String::from_utf8(bytes).ok()
}

/// The key is that of the file which both programs mount.
async fn store(client: &Client, path: &str, text: &str) -> Result<(), RequestError> {
    let body = json!({"data": {"config.yaml": text}});
    send_text(client, request(Method::PATCH, path, Some(&body)), STORE_DEADLINE).await.map(drop)
}

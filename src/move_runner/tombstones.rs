//! Reads and records tombstones: one `ConfigMap` in the namespace of the controller, a key for each volume.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};

use crate::api::tombstone::TombstoneRecord;
use crate::client::request::{RequestError, apply_request, is_absent, request, send_text};
use crate::model::Uid;
use crate::trash::{Tombstone, tombstones_that_stay};

/// The name of the `ConfigMap`.
pub const TOMBSTONES_NAME: &str = "bindery-deleted-volumes";

/// The label by which it is found in any namespace.
const TOMBSTONES_LABEL: &str = "bindery.dev/deleted-volumes";

/// How long a request may take.
const DEADLINE: Duration = Duration::from_secs(5);

/// Records the tombstones of volumes that were just deleted, and removes those that do not stay.
///
/// # Errors
///
/// A request failed: nothing was recorded, as far as is known.
pub async fn record_tombstones(
    client: &Client,
    namespace: &str,
    new: &[TombstoneRecord],
) -> Result<(), RequestError> {
    let path = format!("/api/v1/namespaces/{namespace}/configmaps/{TOMBSTONES_NAME}");
    let (version, mut texts) = match get(client, &path).await {
        Ok(text) => stored(&text),
        Err(error) if error.status().is_some_and(is_absent) => (Value::Null, BTreeMap::new()),
        Err(error) => return Err(error),
    };
    texts.extend(new.iter().map(|record| (record.uid.clone(), record.text())));
    // One that cannot be read has no time: it would stay for ever.
    let tombstones = texts.iter().filter_map(|(uid, text)| {
        let deleted = TombstoneRecord::read(text).ok()?.deleted;
        Some(Tombstone { uid: Uid::new(uid.as_str()), deleted, bytes: uid.len() + text.len() })
    });
    let stay = tombstones_that_stay(tombstones.collect(), Timestamp::now());
    texts.retain(|uid, _| stay.iter().any(|stays| stays.is(uid)));
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": TOMBSTONES_NAME, "namespace": namespace, "labels": {TOMBSTONES_LABEL: "true"},
            "resourceVersion": version,
        },
        "data": texts,
    });
    send_text(client, apply_request(&path, &object), DEADLINE).await.map(drop)
}

async fn get(client: &Client, path: &str) -> Result<String, RequestError> {
    send_text(client, request(Method::GET, path, None), DEADLINE).await
}

/// The version and the texts of a `ConfigMap`.
fn stored(text: &str) -> (Value, BTreeMap<String, String>) {
    let object: Value = serde_json::from_str(text).unwrap_or_default();
    let version = object["metadata"]["resourceVersion"].clone();
    (version, serde_json::from_value(object["data"].clone()).unwrap_or_default())
}

/// Returns the tombstones of all namespaces, the newest first. What cannot be read is left out.
///
/// # Errors
///
/// The list failed: which there are is then not known.
pub(super) async fn tombstones(client: &Client) -> Result<Vec<TombstoneRecord>, RequestError> {
    let path = format!("/api/v1/configmaps?labelSelector={TOMBSTONES_LABEL}%3Dtrue");
    let list: Value = serde_json::from_str(&get(client, &path).await?).unwrap_or_default();
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let texts = items.into_iter().filter_map(|mut item| {
        serde_json::from_value::<BTreeMap<String, String>>(item["data"].take()).ok()
    });
    let mut records: Vec<TombstoneRecord> = texts
        .flat_map(BTreeMap::into_values)
        .filter_map(|text| TombstoneRecord::read(&text).ok())
        .collect();
    records.sort_by_key(|record| Reverse(record.deleted));
    Ok(records)
}

//! Reads and records tombstones: one `ConfigMap` in the namespace of the controller, a key for each volume.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};

use crate::api::tombstone::TombstoneRecord;
use crate::client::request::{
    RequestError, apply_request, apply_request_as, escaped, is_absent, request, send_text,
};
use crate::model::{Uid, Volume};
use crate::trash::{Tombstone, tombstones_that_stay};

/// The name of the `ConfigMap`.
const TOMBSTONES_NAME: &str = "bindery-deleted-volumes";

/// The field manager that makes the `ConfigMap`.
const MAKER: &str = "bindery-controller-maker";

/// How long a request may take.
const DEADLINE: Duration = Duration::from_secs(5);

/// A volume whose object was deleted.
#[derive(Clone, Debug)]
pub enum DeletedVolume {
    /// Its storage stays.
    Left(Box<TombstoneRecord>),
    /// Its storage goes with it: what is recorded of the same storage, or under its name, is void.
    WithItsStorage(Box<Volume>),
}

/// Records volumes that were just deleted, and removes the records that do not stay.
///
/// # Errors
///
/// A request failed: nothing was recorded, as far as is known.
pub async fn record_deleted(
    client: &Client,
    namespace: &str,
    deleted: &[DeletedVolume],
) -> Result<(), RequestError> {
    let path = path(namespace);
    let text = match get(client, &path).await {
        Err(error) if error.status().is_some_and(is_absent) => make(client, &path, namespace).await,
        read => read,
    }?;
    let (version, before) = stored(&text);
    let Recorded { texts, removed } = recorded(before.clone(), deleted, Timestamp::now());
    if texts == before {
        return Ok(());
    }
    let mut object = empty(namespace);
    object["metadata"]["resourceVersion"] = version;
    object["data"] = json!(texts);
    send_text(client, apply_request(&path, &object), DEADLINE).await?;
    if !removed.is_empty() {
        let (count, volumes) = (removed.len(), removed.join(", "));
        tracing::warn!(
            count,
            volumes,
            "the oldest records of deleted PersistentVolumes were removed, as there is no room for them or their time is \
             over; `bindery rescue` does not create these PersistentVolumes again"
        );
    }
    Ok(())
}

/// Makes the `ConfigMap` if it is absent, and returns it. By a manager of its own and without data: of two replicas that do
/// so at once, neither removes what the other has recorded, as that is removed by its own manager alone.
async fn make(client: &Client, path: &str, namespace: &str) -> Result<String, RequestError> {
    send_text(client, apply_request_as(MAKER, path, &empty(namespace)), DEADLINE).await
}

fn empty(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": TOMBSTONES_NAME, "namespace": namespace},
    })
}

/// What is recorded once volumes were deleted.
struct Recorded {
    /// By uid.
    texts: BTreeMap<String, String>,
    /// The names of volumes whose records did not stay, the oldest first.
    removed: Vec<String>,
}

/// What is recorded once these volumes were deleted.
fn recorded(
    mut texts: BTreeMap<String, String>,
    deleted: &[DeletedVolume],
    now: Timestamp,
) -> Recorded {
    for deleted in deleted {
        match deleted {
            DeletedVolume::Left(record) => {
                texts.insert(record.uid.clone(), record.text());
            }
            DeletedVolume::WithItsStorage(volume) => texts.retain(|_, text| {
                TombstoneRecord::read(text).map_or(true, |record| !record.is_of(volume))
            }),
        }
    }
    let tombstones = texts.iter().filter_map(|(uid, text)| {
        let deleted = TombstoneRecord::read(text).ok()?.deleted;
        Some(Tombstone { uid: Uid::new(uid.as_str()), deleted, bytes: uid.len() + text.len() })
    });
    let stay = tombstones_that_stay(tombstones.collect(), now);
    let mut removed = Vec::new();
    texts.retain(|uid, text| {
        if stay.iter().any(|stays| stays.is(uid)) {
            return true;
        }
        // One that a newer version has written is not ours to remove.
        let Ok(record) = TombstoneRecord::read(text) else { return true };
        removed.push((record.deleted, record.name().to_string()));
        false
    });
    removed.sort();
    Recorded { texts, removed: removed.into_iter().map(|(_, name)| name).collect() }
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

/// Returns the tombstones that the controller in this namespace has recorded, the newest first. What cannot be read is left
/// out.
///
/// Of this namespace alone: who may write `ConfigMaps` in another one could have a volume created for any storage.
///
/// # Errors
///
/// The read failed: which there are is then not known.
pub(super) async fn tombstones(
    client: &Client,
    namespace: &str,
) -> Result<Vec<TombstoneRecord>, RequestError> {
    let texts = match get(client, &path(namespace)).await {
        Ok(text) => stored(&text).1,
        Err(error) if error.status().is_some_and(is_absent) => BTreeMap::new(),
        Err(error) => return Err(error),
    };
    let records = texts.into_values().filter_map(|text| TombstoneRecord::read(&text).ok());
    let mut records: Vec<TombstoneRecord> = records.collect();
    records.sort_by_key(|record| Reverse(record.deleted));
    Ok(records)
}

fn path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{}/configmaps/{TOMBSTONES_NAME}", escaped(namespace))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::api::volume::{Wanted, volume};

    fn text(name: &str, uid: &str, handle: &str, policy: &str) -> String {
        let object = json!({
            "metadata": {"name": name, "uid": uid, "resourceVersion": "7"},
            "spec": {
                "capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": policy,
                "csi": {"driver": "disk.example.com", "volumeHandle": handle},
                "claimRef": {"namespace": "db", "name": "data", "uid": "c1"},
            },
        });
        object.to_string()
    }

    fn left(name: &str, uid: &str, handle: &str) -> DeletedVolume {
        let text = text(name, uid, handle, "Retain");
        let read = volume(&text, Wanted::Both).unwrap().volume;
        DeletedVolume::Left(Box::new(
            TombstoneRecord::of(&read, &text, Timestamp::default()).unwrap(),
        ))
    }

    fn with_its_storage(name: &str, handle: &str) -> DeletedVolume {
        let text = text(name, "v9", handle, "Delete");
        DeletedVolume::WithItsStorage(Box::new(volume(&text, Wanted::Both).unwrap().volume))
    }

    #[test]
    fn what_is_recorded_does_not_outlive_its_storage() {
        let uids = |deleted: &[DeletedVolume]| {
            let recorded = recorded(BTreeMap::new(), deleted, Timestamp::default());
            recorded.texts.into_keys().collect::<Vec<_>>()
        };
        let two = || vec![left("pv-1", "v1", "vol-1"), left("pv-2", "v2", "vol-2")];
        assert_eq!(uids(&two()), ["v1", "v2"]);
        for gone in [with_its_storage("pv-1", "vol-3"), with_its_storage("pv-3", "vol-1")] {
            assert_eq!(uids(&[two(), vec![gone]].concat()), ["v2"]);
        }
        let others = with_its_storage("pv-3", "vol-3");
        assert_eq!(uids(&[two(), vec![others]].concat()), ["v1", "v2"]);
    }

    #[test]
    fn those_that_go_are_named() {
        let deleted = [left("pv-1", "v1", "vol-1"), left("pv-2", "v2", "vol-2")];
        let month = SignedDuration::from_hours(24 * 31);
        let later = Timestamp::default() + month;
        let Recorded { texts, removed } = recorded(BTreeMap::new(), &deleted, later);
        assert_eq!((texts.len(), removed.join(" ").as_str()), (0, "pv-1 pv-2"));
    }
}

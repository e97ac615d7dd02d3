//! `bindery snapshot`: what `check --live` and `scan` need of a cluster, as one file.
//!
//! A pipeline with a snapshot needs no access to the cluster. Volumes, claims and classes are complete; of other objects
//! only what a verdict reads: no names of pods, no secrets.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::args::SnapshotArgs;
use super::exit::{Exit, Failure};
use super::files::Readers;
use super::input::cluster::ClusterClient;
use super::input::dump::{NAMESPACES, NODES};
use super::input::listing::{CLAIM_USE, SNAPSHOT_KIND};
use super::output::deliver;
use super::render::{self, API_VERSION};
use crate::api::pods::any_pod;
use crate::model::{ClaimKey, OUT_OF_SERVICE};

/// So many pods are asked for at a time: a page is some 2 MB then.
const PODS_A_PAGE: usize = 500;

/// Runs the command.
pub fn run(arguments: &SnapshotArgs) -> Result<Exit, Failure> {
    let taken = Timestamp::now();
    let cluster = ClusterClient::connect(&arguments.cluster)?;
    let mut items = Vec::new();
    for list in &cluster.lists()? {
        items.extend(whole(list)?);
    }
    items.extend(slim(&cluster, NAMESPACES, |item| labelled("Namespace", item))?);
    items.extend(slim(&cluster, NODES, node)?);
    items.extend(slim(&cluster, "/apis/storage.k8s.io/v1/volumeattachments", attachment)?);
    items.extend(used(&cluster)?.iter().map(|key| {
        let metadata = json!({"namespace": &*key.namespace, "name": &*key.name});
        json!({"apiVersion": API_VERSION, "kind": CLAIM_USE, "metadata": metadata})
    }));
    let snapshot = json!({
        "apiVersion": API_VERSION, "kind": SNAPSHOT_KIND, "takenAt": taken.to_string(), "items": items,
    });
    let text = render::json(&snapshot)?;
    deliver(arguments.output.as_deref(), &text, Readers::Owner)?;
    Ok(Exit::Clean)
}

/// The objects of a list, each with its kind, as they are but for who managed which field.
fn whole(list: &str) -> Result<Vec<Value>, Failure> {
    let list = parsed(list)?;
    let version = list["apiVersion"].clone();
    let kind = list["kind"].as_str().unwrap_or_default().trim_end_matches("List").to_owned();
    let named = |item: &Value| {
        let mut item = item.clone();
        item["apiVersion"] = version.clone();
        item["kind"] = json!(kind);
        if let Some(metadata) = item["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        item
    };
    Ok(items(&list).map(named).collect())
}

/// Returns what `slim` keeps of the objects at `path`.
fn slim(
    cluster: &ClusterClient,
    path: &str,
    slim: impl Fn(&Value) -> Value,
) -> Result<Vec<Value>, Failure> {
    let list = parsed(&cluster.get(path)?)?;
    Ok(items(&list).map(slim).collect())
}

/// Name and labels of an object of this kind.
fn labelled(kind: &str, item: &Value) -> Value {
    let metadata = &item["metadata"];
    let metadata = json!({"name": metadata["name"], "labels": metadata["labels"]});
    json!({"apiVersion": "v1", "kind": kind, "metadata": metadata})
}

/// Name and labels of a node, and whether its machine runs.
fn node(item: &Value) -> Value {
    let mut node = labelled("Node", item);
    let entries = |path: &str, key: &str, name: &str| {
        let all = item.pointer(path).and_then(Value::as_array).into_iter().flatten();
        all.filter(|entry| entry[key] == name).cloned().collect::<Vec<_>>()
    };
    node["spec"] = json!({"taints": entries("/spec/taints", "key", OUT_OF_SERVICE)});
    let ready = entries("/status/conditions", "type", "Ready");
    let ready: Vec<Value> =
        ready.iter().map(|one| json!({"type": "Ready", "status": one["status"]})).collect();
    node["status"] = json!({"conditions": ready});
    node
}

/// Returns which volume is attached to which node.
fn attachment(item: &Value) -> Value {
    let spec = json!({
        "attacher": item["spec"]["attacher"], "nodeName": item["spec"]["nodeName"],
        "source": {"persistentVolumeName": item["spec"]["source"]["persistentVolumeName"]},
    });
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {
            "name": item["metadata"]["name"], "finalizers": item["metadata"]["finalizers"],
            "deletionTimestamp": item["metadata"]["deletionTimestamp"],
        },
        "spec": spec, "status": {"attached": item["status"]["attached"]},
    })
}

/// The claims that pods use; finished pods count until their object is gone.
fn used(cluster: &ClusterClient) -> Result<BTreeSet<ClaimKey>, Failure> {
    let mut used = BTreeSet::new();
    let mut token = String::new();
    loop {
        let page = cluster.get(&format!("/api/v1/pods?limit={PODS_A_PAGE}&continue={token}"))?;
        let page = parsed(&page)?;
        for item in items(&page) {
            let pod = any_pod(&item.to_string()).map_err(|error| unreadable(&error))?;
            used.extend(pod.in_use().iter().cloned());
        }
        match page.pointer("/metadata/continue").and_then(Value::as_str) {
            // A token is made of letters, digits and signs that a query may hold.
            Some(next) if !next.is_empty() => next.clone_into(&mut token),
            Some(_) | None => return Ok(used),
        }
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

fn parsed(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> Failure {
    Failure::unreachable(format!("the cluster's answer cannot be read: {error}; try again"))
}

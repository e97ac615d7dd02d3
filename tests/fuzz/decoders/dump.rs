//! Dumps and snapshots of a cluster, read as `check --live` and `plan` read them: a dump in JSON object by
//! object from its own text, any other through the tree of its document.
//!
//! The commands' own walk over a file is private to them and is run as a process (`tests/cli`); here are the
//! readers below it, and what becomes of what they read.

use std::sync::Arc;

use bindery::api::{list, node};
use bindery::binding::{ListedCollections, Observed, View, settle};
use bindery::client::resource::ResourceKind;
use bindery::document::{self, TreeNode, is_json};
use bindery::model::{ClaimKey, Uid};
use serde_json::Value;

use super::places::Lines;
use super::{Decoder, Outcome, check_reason};

/// The decoder, with words of its format.
pub(crate) const DECODER: Decoder = Decoder {
    name: "dump",
    check,
    words: &[
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "Pod",
        "Node",
        "List",
        "items",
        "Bound",
        "Released",
        "Available",
        "Pending",
        "Lost",
        "Delete",
        "Recycle",
        "pv-a",
        "pv-b",
        "data",
        "db",
        "u-data",
        "claimRef",
        "volumeName",
        "5Gi",
        "10Gi",
        "deletionTimestamp",
    ],
};

/// How many writes one object may cost until nothing is left to do: being made free, found, bound and given
/// back once each.
const WRITES_EACH_MAX: usize = 12;

/// A dump.
fn check(input: &[u8]) -> Outcome {
    let Ok(text) = document::text(input.to_vec()) else { return Outcome::Rejected };
    if is_json(&text) {
        check_texts(&text);
    }
    let documents = match document::read(&text) {
        Ok(documents) => documents,
        Err(error) => {
            check_reason(&error.reason);
            Lines::of(&text).check(error.at);
            return Outcome::Rejected;
        }
    };
    let mut view = View::default();
    let mut outcome = Outcome::Read;
    for document in &documents {
        for (kind, object) in objects(document) {
            match observed(&kind, &object.to_json().to_string()) {
                None => {}
                Some(Ok(observed)) => view.apply(stored(observed)),
                Some(Err(error)) => {
                    check_reason(&error.to_string());
                    outcome = Outcome::Rejected;
                }
            }
        }
    }
    check_settled(view);
    outcome
}

/// As `plan` takes an object of a file: what is stored has a uid.
fn stored(mut observed: Observed) -> Observed {
    if let Observed::Claim(claim) = &mut observed
        && claim.uid.is_none()
    {
        let uid = Uid::new(format!("not stored yet: {}", claim.key));
        Arc::make_mut(claim).uid = Some(uid);
    }
    observed
}

/// The objects of a document with their kinds; lists are taken apart, as kubectl writes them.
fn objects(document: &TreeNode) -> Vec<(String, &TreeNode)> {
    let kind = document.get("kind").and_then(TreeNode::text).unwrap_or_default();
    match (kind.strip_suffix("List"), document.get("items")) {
        (Some(of_items), Some(items)) => items
            .items()
            .iter()
            .map(|item| {
                let kind = item.get("kind").and_then(TreeNode::text).unwrap_or(of_items);
                (kind.to_owned(), item)
            })
            .collect(),
        _ => vec![(kind.to_owned(), document)],
    }
}

fn observed(kind: &str, text: &str) -> Option<Result<Observed, serde_json::Error>> {
    let watched = match kind {
        "PersistentVolume" => ResourceKind::Volumes,
        "PersistentVolumeClaim" => ResourceKind::Claims,
        "StorageClass" => ResourceKind::Classes,
        "Namespace" => ResourceKind::Namespaces,
        "Pod" => ResourceKind::Pods,
        "Node" => {
            if let Err(error) = node::node(text) {
                check_reason(&error.to_string());
            }
            return None;
        }
        _ => return None,
    };
    Some(watched.observed(text))
}

/// An object says the same whether it is read from its own text or from what a reader of JSON made of it.
fn check_texts(text: &str) {
    let Ok(items) = list::items(text) else { return };
    // A map that was read keeps one of two like keys; the reader of the text rejects both, or reads neither.
    if document::read(text).is_err() {
        return;
    }
    for item in items {
        let Ok(value) = serde_json::from_str::<Value>(item) else { continue };
        let kind = value.get("kind").and_then(Value::as_str).unwrap_or("PersistentVolume");
        match (observed(kind, item), observed(kind, &value.to_string())) {
            (None, None) | (Some(Err(_)), Some(Err(_))) => {}
            (Some(Ok(one)), Some(Ok(other))) => {
                assert!(is_same(&one, &other), "{one:?}, {other:?}");
            }
            (one, other) => panic!("{item}: {one:?}, but {other:?}"),
        }
    }
}

fn is_same(one: &Observed, other: &Observed) -> bool {
    match (one, other) {
        (Observed::Volume(one), Observed::Volume(other)) => one == other,
        (Observed::Claim(one), Observed::Claim(other)) => one == other,
        (Observed::Class(one), Observed::Class(other)) => one == other,
        (one, other) => format!("{one:?}") == format!("{other:?}"),
    }
}

/// Whatever a dump says, the plan of it ends: after so many writes nothing is left to do, and once more from
/// there nothing at all.
fn check_settled(mut view: View) {
    let mut order: Vec<ClaimKey> = view.claims().map(|claim| claim.key.clone()).collect();
    order.sort();
    let count = order.len() + view.volumes().count();
    let writes = settle(&mut view, &order, ListedCollections::everything()).writes.len();
    assert!(writes <= count * WRITES_EACH_MAX, "{writes} writes for {count} objects");
    let again = settle(&mut view, &order, ListedCollections::everything()).writes;
    assert!(again.is_empty(), "not settled: {again:?}");
}

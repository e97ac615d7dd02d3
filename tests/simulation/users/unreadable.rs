//! Objects that no binder can read.
//!
//! The API server rejects them today; one of another version over the same store may not have.

use std::collections::BTreeSet;
use std::sync::Arc;

use bindery::client::resource::ResourceKind;
use bindery_sim::{ClusterState, Method, SeededRng};
use serde_json::{Value, json};

use super::{claim_path, name, send, text, volume_path};

/// A size that is none, though it may look like one.
const NO_SIZE: &str = "++1Gi";

/// Returns whether the object is unreadable.
pub(crate) fn is_unreadable(object: &Value) -> bool {
    let watched = match object["kind"].as_str() {
        Some("PersistentVolume") => ResourceKind::Volumes,
        Some("PersistentVolumeClaim") => ResourceKind::Claims,
        _ => return false,
    };
    watched.observed(&object.to_string()).is_err()
}

/// Names of the unreadable objects, and of those whose other half they are: `namespace/name`, or
/// the name of a volume.
pub(crate) fn unreadable_names(objects: &[Arc<Value>]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let unreadable = objects.iter().filter(|object| is_unreadable(object));
    let unreadable: BTreeSet<String> = unreadable.map(|object| path(object)).collect();
    for object in objects {
        let named = [text(object, "/spec/volumeName").to_owned(), holder(object)];
        for other in named.into_iter().filter(|other| !other.is_empty()) {
            if unreadable.contains(&other) {
                names.insert(path(object));
            } else if unreadable.contains(&path(object)) {
                names.insert(other);
            }
        }
    }
    names.extend(unreadable);
    names
}

fn path(object: &Value) -> String {
    match text(object, "/metadata/namespace") {
        "" => name(object).to_owned(),
        namespace => format!("{namespace}/{}", name(object)),
    }
}

/// The claim for which a volume is reserved; empty for none.
fn holder(object: &Value) -> String {
    let reference = &object["spec"]["claimRef"];
    match (reference["namespace"].as_str(), reference["name"].as_str()) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        _ => String::new(),
    }
}

/// Makes a claim unreadable.
pub(super) fn spoil_claim(rng: &mut SeededRng, cluster: &mut ClusterState, claim: &Value) {
    let kind = rng.below(3);
    cluster.overwrite(&claim_path(claim), |claim| match kind {
        0 => claim["spec"]["resources"]["requests"]["storage"] = json!(NO_SIZE),
        1 => claim["spec"]["volumeName"] = json!(5),
        _ => claim["spec"]["selector"] = json!("gold"),
    });
}

/// Makes a volume unreadable.
pub(super) fn spoil_volume(rng: &mut SeededRng, cluster: &mut ClusterState, volume: &Value) {
    if rng.below(2) == 0 {
        spoil(cluster, volume);
    } else {
        cluster.overwrite(&volume_path(volume), |volume| volume["spec"]["volumeMode"] = json!(7));
    }
}

/// Writes nonsense over the size of a volume.
pub(super) fn spoil(cluster: &mut ClusterState, volume: &Value) {
    resize(cluster, volume, NO_SIZE);
}

/// Gives volumes whose size is nonsense one again, and removes what else is unreadable.
pub(super) fn repair(cluster: &mut ClusterState, user: &str) {
    for object in cluster.objects().iter().filter(|object| is_unreadable(object)) {
        if object["spec"]["capacity"]["storage"] == NO_SIZE {
            resize(cluster, object, "5Gi");
        }
    }
    for object in cluster.objects().iter().filter(|object| is_unreadable(object)) {
        let path = match object["kind"].as_str() {
            Some("PersistentVolume") => volume_path(object),
            _ => claim_path(object),
        };
        send(cluster, user, Method::Delete, &path, Value::Null);
    }
}

fn resize(cluster: &mut ClusterState, volume: &Value, size: &str) {
    cluster.overwrite(&volume_path(volume), |volume| {
        volume["spec"]["capacity"]["storage"] = json!(size);
    });
}

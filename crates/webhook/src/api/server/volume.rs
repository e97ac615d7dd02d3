//! What the API server makes of a `PersistentVolume`: defaults, validation, what cannot change.
//!
//! Kubernetes: `pkg/apis/core/v1/defaults.go`, `pkg/registry/core/persistentvolume/strategy.go`,
//! `ValidatePersistentVolumeSpec` and `ValidatePersistentVolumeUpdate` of `pkg/apis/core/validation`, 1.36.3.

use serde_json::{Value, json};

use super::cause::{Cause, Causes};
use super::fields::{at, remove, set, set_default};
use super::sources::{self, SOURCES};
use super::{
    access_modes, classes, drop_empty_access_modes, drop_empty_text, expressions, size, volume_mode,
};
use crate::model::stable_label;

/// Fields of `spec.claimRef`, all texts.
const REFERENCE_FIELDS: [&str; 7] =
    ["apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"];

/// Texts that a typed server does not write back when they are empty.
const OPTIONAL_TEXTS: [[&str; 2]; 3] =
    [["spec", "storageClassName"], ["status", "message"], ["status", "reason"]];

const POLICIES: [&str; 3] = ["Delete", "Recycle", "Retain"];
const ATTRIBUTES_CLASS: [&str; 2] = ["spec", "volumeAttributesClassName"];

/// Fills in what an absent field of the spec means.
pub fn default(volume: &mut Value) {
    set_default(volume, &["spec", "persistentVolumeReclaimPolicy"], json!("Retain"));
    set_default(volume, &["spec", "volumeMode"], json!("Filesystem"));
    drop_empty_access_modes(volume);
    for path in OPTIONAL_TEXTS {
        drop_empty_text(volume, &path);
    }
    for field in REFERENCE_FIELDS {
        drop_empty_text(volume, &["spec", "claimRef", field]);
    }
    if at(volume, &["spec", "hostPath"]).is_some() {
        set_default(volume, &["spec", "hostPath", "type"], json!(""));
    }
}

/// Resets the status, which no client creates; `now` is the time of the request, where it is known.
pub fn reset_status(volume: &mut Value, now: Option<&str>) {
    let mut status = json!({"phase": "Pending"});
    if let Some(now) = now {
        status["lastPhaseTransitionTime"] = json!(now);
    }
    set(volume, &["status"], status);
}

/// Returns what is wrong with the spec of a volume.
pub fn validate(volume: &Value) -> Vec<Cause> {
    let mut found = Causes::default();
    let spec = &volume["spec"];
    found.map("spec", spec);
    access_modes(&mut found, spec, "");
    capacity(&mut found, &spec["capacity"]);
    let field = "spec.persistentVolumeReclaimPolicy";
    let policy = found.text(field, &spec["persistentVolumeReclaimPolicy"]);
    found.one_of(field, policy, &POLICIES);
    sources::validate(&mut found, spec, policy);
    expressions::node_affinity(&mut found, &spec["nodeAffinity"]);
    volume_mode(&mut found, spec);
    classes(&mut found, spec);
    let class = &spec["volumeAttributesClassName"];
    if !class.is_null() {
        let field = "spec.volumeAttributesClassName";
        found.required(field, class, "an empty string is disallowed");
        if spec["csi"].is_null() {
            let detail = "has to be specified when using volumeAttributesClassName";
            found.add(Cause::required("spec.csi", detail).at(field));
        }
    }
    found.into_list()
}

/// Returns what a change may not do to the spec of a volume.
pub fn validate_change(object: &Value, existing: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let sources = changed_sources(object, existing);
    if !sources.is_empty() {
        // The real server prints a diff of its internal types after this.
        let detail = "spec.persistentvolumesource is immutable after creation\n";
        causes.push(Cause::frozen("spec.persistentvolumesource", sources, detail));
    }
    let mode = ["spec", "volumeMode"];
    if at(object, &mode) != at(existing, &mode) {
        let mode = &object["spec"]["volumeMode"];
        causes.push(Cause::immutable("volumeMode", mode).at("spec.volumeMode"));
    }
    causes.extend(affinity_change(object, existing));
    if at(existing, &ATTRIBUTES_CLASS).is_some() && at(object, &ATTRIBUTES_CLASS).is_none() {
        let detail = "update from non-nil value to nil is forbidden";
        causes.push(Cause::forbidden("spec.volumeAttributesClassName", detail));
    }
    causes
}

fn capacity(found: &mut Causes, capacity: &Value) {
    let field = "spec.capacity";
    let path = "spec.capacity.storage";
    let amounts = found.map(field, capacity);
    if amounts.is_none_or(serde_json::Map::is_empty) {
        found.add(Cause::required(field, "").at(path));
    }
    if !amounts.is_some_and(|all| all.len() == 1 && all.contains_key("storage")) {
        let other =
            amounts.into_iter().flatten().map(|(name, _)| name).find(|name| *name != "storage");
        let path = other.map_or(path.to_owned(), |name| format!("{field}.{name}"));
        found.add(Cause::not_supported(field, capacity, &["storage"]).at(path));
    }
    for (name, amount) in amounts.into_iter().flatten() {
        size(found, &format!("{field}[{name}]"), &format!("{field}.{name}"), amount);
    }
}

/// The sources that differ. A reference to a secret for expansion may be added.
fn changed_sources(object: &Value, existing: &Value) -> Vec<String> {
    let mut object = object.clone();
    let secret = ["spec", "csi", "controllerExpandSecretRef"];
    if at(existing, &["spec", "csi"]).is_some() && at(existing, &secret).is_none() {
        remove(&mut object, &secret);
    }
    let names = SOURCES.iter().map(|(name, _)| *name);
    let changed =
        names.filter(|name| at(&object, &["spec", name]) != at(existing, &["spec", name]));
    changed.map(|name| format!("spec.{name}")).collect()
}

/// Kubernetes: `validatePvNodeAffinity`.
fn affinity_change(object: &Value, existing: &Value) -> Option<Cause> {
    let affinity = ["spec", "nodeAffinity"];
    let old = at(existing, &affinity)?;
    let new = at(object, &affinity).cloned().unwrap_or_default();
    let detail = "field is immutable, except for updating from beta label to GA";
    (!is_renamed(old, &new))
        .then(|| Cause::invalid("nodeAffinity", &new, detail).at("spec.nodeAffinity"))
}

/// Returns whether `new` is `old`, or differs from it by keys that were renamed from beta to GA.
fn is_renamed(old: &Value, new: &Value) -> bool {
    if let (Some(old), Some(new)) = (old.as_object(), new.as_object()) {
        return old.len() == new.len()
            && old.iter().all(|(key, value)| {
                new.get(key).is_some_and(|other| {
                    is_renamed(value, other) || key == "key" && is_renamed_label(value, other)
                })
            });
    }
    if let (Some(old), Some(new)) = (old.as_array(), new.as_array()) {
        return old.len() == new.len()
            && old.iter().zip(new).all(|(old, new)| is_renamed(old, new));
    }
    old == new
}

fn is_renamed_label(old: &Value, new: &Value) -> bool {
    old.as_str().and_then(stable_label) == new.as_str() && new.is_string()
}

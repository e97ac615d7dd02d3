//! What the API server makes of a manifest before it asks a webhook: defaults, what only it may
//! write, and how a manifest is merged onto a stored object.
//!
//! Limits: field ownership is not read. With `--apply=server`, a field that the manifest no longer
//! has is removed only if `--old` shows that it was there; lists are atomic but finalizers and
//! ownerReferences, as the schema of volumes and claims says.

use serde_json::{Map, Value, json};

use super::objects::Kind;
use crate::cli::args::Apply;
use crate::model::annotations::{CLAIM_PROTECTION, LAST_APPLIED, VOLUME_PROTECTION};

/// The keys of metadata that only the API server writes.
const OF_SERVER: [&str; 6] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// The object that a CREATE of `manifest` would store.
///
/// Kubernetes: `rest.BeforeCreate`, `persistentvolume/strategy.go`, `StorageObjectInUseProtection`.
pub fn created(kind: Kind, manifest: &Value, how: Apply) -> Value {
    let mut object = applied_by(manifest, manifest, how);
    let metadata = map_at(&mut object, "metadata");
    for key in OF_SERVER {
        metadata.remove(key);
    }
    let (finalizer, phase) = match kind {
        Kind::Volume => (Some(VOLUME_PROTECTION), "Pending"),
        Kind::Claim => (Some(CLAIM_PROTECTION), "Pending"),
        Kind::Namespace => (None, "Active"),
        Kind::Class | Kind::Pod | Kind::Node => (None, "Pending"),
    };
    if let Some(finalizer) = finalizer {
        let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
        merge_set(finalizers, &json!([finalizer]), Clone::clone);
    }
    default_fields(kind, &mut object);
    set(&mut object, "status", json!({"phase": phase}));
    object
}

/// The object that an UPDATE of `stored` by `manifest` would store. `before` is the manifest as it
/// was, where somebody knows.
pub(in crate::cli) fn updated(
    kind: Kind,
    stored: &Value,
    manifest: &Value,
    before: Option<&Value>,
    how: Apply,
) -> Value {
    let last_applied = last_applied(stored);
    let mut object = match how {
        Apply::Replace => manifest.clone(),
        Apply::Server => merged(stored, manifest, before, Nulls::Kept),
        Apply::Client => merged(stored, manifest, last_applied.as_ref().or(before), Nulls::Remove),
    };
    object = applied_by(&object, manifest, how);
    carry_over(stored, &mut object);
    default_fields(kind, &mut object);
    object
}

/// The object that takes the place of `stored` when two manifests are all that is known.
pub fn replaced(kind: Kind, stored: &Value, manifest: &Value) -> Value {
    let mut object = manifest.clone();
    carry_over(stored, &mut object);
    default_fields(kind, &mut object);
    object
}

/// A stored object with the fields that the API server would have filled in.
pub(in crate::cli) fn stored(kind: Kind, object: &Value) -> Value {
    let mut object = object.clone();
    default_fields(kind, &mut object);
    object
}

/// Gives a new claim without class the default class, as the admission plug-in does before any
/// webhook. Kubernetes: `storage/storageclass/setdefault`: the newest, then by name.
pub(super) fn default_class(claim: &mut Value, classes: &[Value]) {
    let asks = claim.pointer("/spec/storageClassName").is_some_and(|class| !class.is_null())
        || claim
            .pointer("/metadata/annotations/volume.beta.kubernetes.io~1storage-class")
            .is_some();
    let marks = [
        "/metadata/annotations/storageclass.kubernetes.io~1is-default-class",
        "/metadata/annotations/storageclass.beta.kubernetes.io~1is-default-class",
    ];
    let is_default =
        |class: &&Value| marks.iter().any(|mark| class.pointer(mark) == Some(&json!("true")));
    let text = |class: &Value, pointer: &str| {
        class.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let newest = classes.iter().filter(is_default).max_by(|left, right| {
        let made = |class: &Value| text(class, "/metadata/creationTimestamp");
        let name = |class: &Value| text(class, "/metadata/name");
        made(left).cmp(&made(right)).then_with(|| name(right).cmp(&name(left)))
    });
    if let (false, Some(class)) = (asks, newest) {
        set(map_value(claim, "spec"), "storageClassName", json!(text(class, "/metadata/name")));
    }
}

/// Kubernetes: `core/v1/defaults.go`.
fn default_fields(kind: Kind, object: &mut Value) {
    let spec = map_at(object, "spec");
    let mut put = |key: &str, value: &str| {
        if spec.get(key).is_none_or(Value::is_null) {
            spec.insert(key.to_owned(), json!(value));
        }
    };
    match kind {
        Kind::Volume => {
            put("volumeMode", "Filesystem");
            put("persistentVolumeReclaimPolicy", "Retain");
        }
        Kind::Claim => put("volumeMode", "Filesystem"),
        Kind::Class | Kind::Pod | Kind::Node | Kind::Namespace => {}
    }
}

/// Kubernetes: `rest.BeforeUpdate`: status and the server's own metadata stay as they are stored.
fn carry_over(stored: &Value, object: &mut Value) {
    for key in OF_SERVER {
        let metadata = map_at(object, "metadata");
        match stored.pointer(&format!("/metadata/{key}")) {
            Some(value) => metadata.insert(key.to_owned(), value.clone()),
            None => metadata.remove(key),
        };
    }
    match stored.get("status") {
        Some(status) => set(object, "status", status.clone()),
        None => {
            if let Some(object) = object.as_object_mut() {
                object.remove("status");
            }
        }
    }
}

/// The annotation that `kubectl apply` leaves in an object.
fn applied_by(object: &Value, manifest: &Value, how: Apply) -> Value {
    let mut object = object.clone();
    if how == Apply::Client {
        let annotations = map_value(map_value(&mut object, "metadata"), "annotations");
        set(annotations, LAST_APPLIED, Value::String(manifest.to_string()));
    }
    object
}

/// The manifest that `kubectl apply` put last.
fn last_applied(stored: &Value) -> Option<Value> {
    let annotations = stored.pointer("/metadata/annotations")?;
    serde_json::from_str(annotations.get(LAST_APPLIED)?.as_str()?).ok()
}

/// What a `null` in a manifest does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    /// Nothing.
    Kept,
    /// It removes the field.
    Remove,
}

/// `stored` with `manifest` merged into it, without what was in `before` and is no more.
fn merged(stored: &Value, manifest: &Value, before: Option<&Value>, nulls: Nulls) -> Value {
    let mut object = stored.clone();
    if let Some(before) = before {
        drop_missing(&mut object, manifest, before);
    }
    merge(&mut object, manifest, nulls);
    object
}

fn merge(object: &mut Value, manifest: &Value, nulls: Nulls) {
    let Some(entries) = manifest.as_object() else {
        *object = manifest.clone();
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Some(target) = object.as_object_mut() else { return };
    for (key, value) in entries {
        match (key.as_str(), value) {
            (_, Value::Null) if nulls == Nulls::Remove => {
                target.remove(key);
            }
            (_, Value::Null) => {}
            ("finalizers", _) => {
                let list = target.entry("finalizers").or_insert_with(|| json!([]));
                merge_set(list, value, Clone::clone);
            }
            ("ownerReferences", _) => {
                let list = target.entry("ownerReferences").or_insert_with(|| json!([]));
                merge_set(list, value, |item| item["uid"].clone());
            }
            // A selector is atomic: half an old and half a new one would be a third.
            ("selector", _) => {
                target.insert(key.clone(), value.clone());
            }
            _ => merge(target.entry(key.clone()).or_insert(Value::Null), value, nulls),
        }
    }
}

/// Adds the items of `more` to `list`, in place of those with the same identity.
fn merge_set(list: &mut Value, more: &Value, identity: impl Fn(&Value) -> Value) {
    let (Some(list), Some(more)) = (list.as_array_mut(), more.as_array()) else { return };
    for item in more {
        match list.iter_mut().find(|own| identity(own) == identity(item)) {
            Some(own) => *own = item.clone(),
            None => list.push(item.clone()),
        }
    }
}

/// Removes what `before` has and `manifest` has not.
fn drop_missing(object: &mut Value, manifest: &Value, before: &Value) {
    let (Some(target), Some(before)) = (object.as_object_mut(), before.as_object()) else { return };
    for (key, was) in before {
        match (manifest.get(key), key.as_str()) {
            (None, "finalizers" | "ownerReferences") | (Some(_), "finalizers") => {
                let kept = manifest.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
                let dropped = was.as_array().cloned().unwrap_or_default();
                if let Some(list) = target.get_mut(key).and_then(Value::as_array_mut) {
                    list.retain(|item| kept.contains(item) || !dropped.contains(item));
                }
            }
            // Maps are shared with other writers: only what was ours goes.
            (None, _) if was.is_object() => {
                if let Some(own) = target.get_mut(key) {
                    drop_missing(own, &json!({}), was);
                    if own.as_object().is_some_and(Map::is_empty) {
                        target.remove(key);
                    }
                }
            }
            (None, _) => {
                target.remove(key);
            }
            (Some(now), _) => {
                if let Some(own) = target.get_mut(key) {
                    drop_missing(own, now, was);
                }
            }
        }
    }
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

/// The map under `key`, made if it is not there.
fn map_value<'a>(object: &'a mut Value, key: &str) -> &'a mut Value {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let value = &mut object[key];
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value
}

fn map_at<'a>(object: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    match map_value(object, key) {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            unreachable!("map_value makes a map")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored() -> Value {
        json!({
            "metadata": {
                "name": "pv-a", "uid": "u1", "resourceVersion": "7",
                "labels": {"ours": "1", "theirs": "2"},
                "finalizers": ["kubernetes.io/pv-protection"],
            },
            "spec": {"volumeMode": "Block", "persistentVolumeReclaimPolicy": "Delete", "claimRef": {"name": "x"}},
            "status": {"phase": "Bound"},
        })
    }

    #[test]
    fn a_creation_starts_without_the_past_of_an_export() {
        let made = created(Kind::Volume, &stored(), Apply::Server);
        assert_eq!(made["status"], json!({"phase": "Pending"}));
        assert_eq!(
            (&made["metadata"]["uid"], &made["metadata"]["resourceVersion"]),
            (&Value::Null, &Value::Null)
        );
        let plain = created(Kind::Claim, &json!({"metadata": {"name": "x"}}), Apply::Client);
        assert_eq!(plain["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
        assert_eq!(plain["spec"]["volumeMode"], "Filesystem");
        assert_eq!(last_applied(&plain), Some(json!({"metadata": {"name": "x"}})));
    }

    #[test]
    fn an_update_keeps_what_only_the_server_writes() {
        let manifest = json!({
            "metadata": {"name": "pv-a", "uid": "other", "deletionTimestamp": "now"},
            "spec": {}, "status": {"phase": "Available"},
        });
        for how in [Apply::Server, Apply::Client, Apply::Replace] {
            let made = updated(Kind::Volume, &stored(), &manifest, None, how);
            assert_eq!(made["status"], json!({"phase": "Bound"}), "{how:?}");
            assert_eq!(made["metadata"]["uid"], "u1", "{how:?}");
            assert_eq!(made["metadata"]["deletionTimestamp"], Value::Null, "{how:?}");
        }
        let made = replaced(Kind::Volume, &stored(), &manifest);
        assert_eq!(made["status"], json!({"phase": "Bound"}));
        assert_eq!(made["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    }

    #[test]
    fn a_merge_drops_only_what_was_ours() {
        let manifest =
            json!({"metadata": {"name": "pv-a", "labels": {"new": "3"}, "finalizers": ["a/b"]}});
        let before = json!({"metadata": {"name": "pv-a", "labels": {"ours": "1"}}, "spec": {"claimRef": {"name": "x"}}});
        let expected = json!({"new": "3", "theirs": "2"});
        let server = updated(Kind::Volume, &stored(), &manifest, Some(&before), Apply::Server);
        assert_eq!(server["metadata"]["labels"], expected);
        assert_eq!(server["spec"].get("claimRef"), None);
        assert_eq!(server["metadata"]["finalizers"], json!(["kubernetes.io/pv-protection", "a/b"]));
        let mut annotated = stored();
        annotated["metadata"]["annotations"] = json!({LAST_APPLIED: before.to_string()});
        let client = updated(Kind::Volume, &annotated, &manifest, None, Apply::Client);
        assert_eq!(client["metadata"]["labels"], expected);
        assert_eq!(client["spec"].get("claimRef"), None);
        assert_eq!(last_applied(&client), Some(manifest.clone()));
        // Nobody shows what the manifest had before: everything stays.
        let blind = updated(Kind::Volume, &stored(), &manifest, None, Apply::Server);
        assert_eq!(blind["spec"]["claimRef"], json!({"name": "x"}));
    }

    #[test]
    fn the_newest_default_class_wins() {
        let class = |name: &str, made: &str, marked: &str| {
            json!({"metadata": {
                "name": name, "creationTimestamp": made,
                "annotations": {"storageclass.kubernetes.io/is-default-class": marked},
            }})
        };
        let classes = [
            class("b", "2024", "true"),
            class("a", "2025", "true"),
            class("c", "2025", "true"),
            class("d", "2026", "false"),
        ];
        let given = |claim: Value| {
            let mut claim = claim;
            default_class(&mut claim, &classes);
            claim["spec"]["storageClassName"].clone()
        };
        assert_eq!(given(json!({})), "a");
        assert_eq!(given(json!({"spec": {"storageClassName": ""}})), "");
        let legacy =
            json!({"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "x"}}});
        assert_eq!(given(legacy), Value::Null);
    }
}

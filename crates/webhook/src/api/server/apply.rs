//! How a manifest is merged onto a stored object: client-side and server-side apply, and strategic merge patches.
//!
//! Kubernetes: `apimachinery/pkg/util/strategicpatch`, `structured-merge-diff`, with the schema of volumes and claims:
//! lists are atomic but finalizers and ownerReferences.
//!
//! Limits: field ownership is not read. With server-side apply, a field that the manifest no longer has is removed
//! only if the manifest before shows that it was there.

use serde_json::{Map, Value, json};

use super::fields::{at, set};
use crate::model::annotations::LAST_APPLIED;

/// The object that `kubectl apply` makes of `stored`. `before` is the earlier manifest, where the object does not
/// have it.
pub fn client_side(stored: &Value, manifest: &Value, before: Option<&Value>) -> Value {
    let last_applied = last_applied(stored);
    merged(stored, manifest, last_applied.as_ref().or(before), Style::Strategic)
}

/// The object that `kubectl apply --server-side` makes of `stored`. `before` is the earlier manifest, where it is
/// known.
pub fn server_side(stored: &Value, manifest: &Value, before: Option<&Value>) -> Value {
    merged(stored, manifest, before, Style::Server)
}

/// Leaves the annotation that `kubectl apply` puts into an object.
pub fn note_applied(object: &mut Value, manifest: &Value) {
    set(object, &["metadata", "annotations", LAST_APPLIED], json!(manifest.to_string()));
}

/// The manifest that `kubectl apply` put last.
pub fn last_applied(stored: &Value) -> Option<Value> {
    let applied = at(stored, &["metadata", "annotations", LAST_APPLIED])?;
    serde_json::from_str(applied.as_str()?).ok()
}

/// How maps and lists are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As by a strategic merge patch: a null removes the field, and finalizers that are added come first.
    Strategic,
    /// As by server-side apply: a null is nothing, and finalizers that are added come last.
    Server,
}

/// `stored` with `manifest` merged into it, without what was in `before` and is no more.
fn merged(stored: &Value, manifest: &Value, before: Option<&Value>, style: Style) -> Value {
    let mut object = stored.clone();
    if let Some(before) = before {
        drop_missing(&mut object, manifest, before);
    }
    merge(&mut object, manifest, style);
    object
}

/// Merges `manifest` into `object`.
pub fn merge(object: &mut Value, manifest: &Value, style: Style) {
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
            (_, Value::Null) if style == Style::Strategic => {
                target.remove(key);
            }
            (_, Value::Null) => {}
            ("finalizers", Value::Array(added)) => {
                let list = target.entry("finalizers").or_insert_with(|| json!([]));
                add_finalizers(list, added, style);
            }
            ("ownerReferences", Value::Array(owners)) => {
                let list = target.entry("ownerReferences").or_insert_with(|| json!([]));
                merge_owners(list, owners);
            }
            // A selector is atomic: half an old and half a new one would be a third.
            ("selector", _) => {
                target.insert(key.clone(), value.clone());
            }
            _ => merge(target.entry(key.clone()).or_insert(Value::Null), value, style),
        }
    }
}

fn add_finalizers(list: &mut Value, added: &[Value], style: Style) {
    let Some(list) = list.as_array_mut() else { return };
    match style {
        Style::Strategic => {
            list.retain(|name| !added.contains(name));
            list.splice(..0, added.iter().cloned());
        }
        Style::Server => {
            let fresh: Vec<Value> =
                added.iter().filter(|name| !list.contains(name)).cloned().collect();
            list.extend(fresh);
        }
    }
}

/// Owners are identified by their uids.
fn merge_owners(list: &mut Value, owners: &[Value]) {
    let Some(list) = list.as_array_mut() else { return };
    for owner in owners {
        match list.iter_mut().find(|own| own["uid"] == owner["uid"]) {
            Some(own) => *own = owner.clone(),
            None => list.push(owner.clone()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_finalizers_come_first_or_last_and_once() {
        let stored = json!({"metadata": {"finalizers": ["a/a", "b/b"]}});
        let manifest = json!({"metadata": {"finalizers": ["c/c", "b/b"]}});
        let client = client_side(&stored, &manifest, None);
        assert_eq!(client["metadata"]["finalizers"], json!(["c/c", "b/b", "a/a"]));
        let server = server_side(&stored, &manifest, None);
        assert_eq!(server["metadata"]["finalizers"], json!(["a/a", "b/b", "c/c"]));
    }

    #[test]
    fn an_owner_is_replaced_by_its_uid() {
        let stored = json!({"metadata": {"ownerReferences": [{"uid": "1", "name": "a"}, {"uid": "2", "name": "b"}]}});
        let manifest = json!({"metadata": {"ownerReferences": [{"uid": "2", "name": "c"}, {"uid": "3", "name": "d"}]}});
        let names = json!([{"uid": "1", "name": "a"}, {"uid": "2", "name": "c"}, {"uid": "3", "name": "d"}]);
        for made in [client_side(&stored, &manifest, None), server_side(&stored, &manifest, None)] {
            assert_eq!(made["metadata"]["ownerReferences"], names);
        }
    }

    #[test]
    fn a_null_removes_on_the_client_alone() {
        let stored = json!({"spec": {"claimRef": {"name": "x"}}});
        let manifest = json!({"spec": {"claimRef": null}});
        assert_eq!(client_side(&stored, &manifest, None), json!({"spec": {}}));
        assert_eq!(server_side(&stored, &manifest, None), stored);
    }
}

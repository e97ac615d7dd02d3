//! The object that a manifest asks an API server to store, as it is shown to admission webhooks: defaults, what only
//! the server may write, and the manifest merged onto what is stored.

use serde_json::{Value, json};

use crate::api::server::fields::{copy, remove, set};
use crate::api::server::{apply, claim, metadata, volume};
use crate::cli::args::Apply;
use crate::cli::input::object_id::{ObjectKind, PairKind};
use crate::model::annotations::{CLAIM_PROTECTION, VOLUME_PROTECTION};

/// The object that a CREATE of `manifest` would store.
///
/// Kubernetes: `rest.BeforeCreate`, `persistentvolume/strategy.go`, `StorageObjectInUseProtection`.
pub fn created(kind: ObjectKind, manifest: &Value, how: Apply) -> Value {
    let mut object = manifest.clone();
    if how == Apply::Client {
        apply::note_applied(&mut object, manifest);
    }
    wipe(&mut object);
    match kind {
        ObjectKind::Volume => {
            metadata::protect(&mut object, VOLUME_PROTECTION);
            volume::reset_status(&mut object, None);
        }
        ObjectKind::Claim => {
            metadata::protect(&mut object, CLAIM_PROTECTION);
            set(&mut object, &["status"], json!({"phase": "Pending"}));
        }
        ObjectKind::Namespace => set(&mut object, &["status"], json!({"phase": "Active"})),
        ObjectKind::Pod => set(&mut object, &["status"], json!({"phase": "Pending"})),
        ObjectKind::Class
        | ObjectKind::Node
        | ObjectKind::Attachment
        | ObjectKind::Driver
        | ObjectKind::SnapshotContent
        | ObjectKind::StatefulSet => {}
    }
    default(kind, &mut object);
    object
}

/// The object that an UPDATE of `stored` by `manifest` would store. `before` is the manifest as it
/// was, if known.
pub(in crate::cli) fn updated(
    kind: ObjectKind,
    stored: &Value,
    manifest: &Value,
    before: Option<&Value>,
    how: Apply,
) -> Value {
    let mut object = match how {
        Apply::Replace => manifest.clone(),
        Apply::Server => apply::server_side(stored, manifest, before),
        Apply::Client => apply::client_side(stored, manifest, before),
    };
    if how == Apply::Client {
        apply::note_applied(&mut object, manifest);
    }
    carry_over(stored, &mut object);
    default(kind, &mut object);
    object
}

/// The object that takes the place of `stored` when two manifests are all that is known.
pub fn replaced(kind: ObjectKind, stored: &Value, manifest: &Value) -> Value {
    let mut object = manifest.clone();
    carry_over(stored, &mut object);
    default(kind, &mut object);
    object
}

/// A stored object with the fields that the API server would have filled in.
pub(in crate::cli) fn stored(kind: ObjectKind, object: &Value) -> Value {
    let mut object = object.clone();
    default(kind, &mut object);
    object
}

/// Fills in what an absent field of the spec means.
fn default(kind: ObjectKind, object: &mut Value) {
    match kind.of_pair() {
        Some(PairKind::Volume) => volume::default(object),
        Some(PairKind::Claim) => claim::default(object),
        None => {}
    }
}

/// Removes what a manifest may not say of the server's own fields, as an export does.
fn wipe(object: &mut Value) {
    metadata::wipe(object);
    remove(object, &metadata::VERSION);
    remove(object, &metadata::GENERATION);
}

/// Kubernetes: `rest.BeforeUpdate`: status and the server's own metadata stay as they are stored.
fn carry_over(stored: &Value, object: &mut Value) {
    wipe(object);
    metadata::reset(object, stored);
    copy(object, stored, &["status"]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::annotations::LAST_APPLIED;

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
        let made = created(ObjectKind::Volume, &stored(), Apply::Server);
        assert_eq!(made["status"], json!({"phase": "Pending"}));
        assert_eq!(
            (&made["metadata"]["uid"], &made["metadata"]["resourceVersion"]),
            (&Value::Null, &Value::Null)
        );
        let plain = created(ObjectKind::Claim, &json!({"metadata": {"name": "x"}}), Apply::Client);
        assert_eq!(plain["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
        assert_eq!(plain["spec"]["volumeMode"], "Filesystem");
        assert_eq!(apply::last_applied(&plain), Some(json!({"metadata": {"name": "x"}})));
    }

    #[test]
    fn an_update_keeps_what_only_the_server_writes() {
        let manifest = json!({
            "metadata": {"name": "pv-a", "uid": "other", "deletionTimestamp": "now"},
            "spec": {}, "status": {"phase": "Available"},
        });
        for how in [Apply::Server, Apply::Client, Apply::Replace] {
            let made = updated(ObjectKind::Volume, &stored(), &manifest, None, how);
            assert_eq!(made["status"], json!({"phase": "Bound"}), "{how:?}");
            assert_eq!(made["metadata"]["uid"], "u1", "{how:?}");
            assert_eq!(made["metadata"]["deletionTimestamp"], Value::Null, "{how:?}");
        }
        let made = replaced(ObjectKind::Volume, &stored(), &manifest);
        assert_eq!(made["status"], json!({"phase": "Bound"}));
        assert_eq!(made["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    }

    #[test]
    fn a_merge_drops_only_what_was_ours() {
        let manifest =
            json!({"metadata": {"name": "pv-a", "labels": {"new": "3"}, "finalizers": ["a/b"]}});
        let before = json!({"metadata": {"name": "pv-a", "labels": {"ours": "1"}}, "spec": {"claimRef": {"name": "x"}}});
        let expected = json!({"new": "3", "theirs": "2"});
        let server =
            updated(ObjectKind::Volume, &stored(), &manifest, Some(&before), Apply::Server);
        assert_eq!(server["metadata"]["labels"], expected);
        assert_eq!(server["spec"].get("claimRef"), None);
        assert_eq!(server["metadata"]["finalizers"], json!(["kubernetes.io/pv-protection", "a/b"]));
        let mut annotated = stored();
        annotated["metadata"]["annotations"] = json!({LAST_APPLIED: before.to_string()});
        let client = updated(ObjectKind::Volume, &annotated, &manifest, None, Apply::Client);
        assert_eq!(client["metadata"]["labels"], expected);
        assert_eq!(client["spec"].get("claimRef"), None);
        assert_eq!(apply::last_applied(&client), Some(manifest.clone()));
        // The previous manifest is not known: everything stays.
        let blind = updated(ObjectKind::Volume, &stored(), &manifest, None, Apply::Server);
        assert_eq!(blind["spec"]["claimRef"], json!({"name": "x"}));
    }
}

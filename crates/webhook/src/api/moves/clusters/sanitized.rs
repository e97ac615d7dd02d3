//! Objects without what belongs to one cluster.

use serde_json::{Map, Value, json};

use super::mark::ExportMark;
use crate::api::moves::claim_copy::{whole_copy, without_empty};
use crate::api::moves::claim_manifest;
use crate::model::ClaimKey;
use crate::model::annotations::{
    ALLOW_PREFIX, ALLOWED_NAMESPACES, DISK_FILE_SYSTEM, DISK_FOLDER, DISK_MAPPING, DISK_PARTITION,
    DISK_SERIAL, DISK_SIZE, DISK_WWN, EXPORT, KEEP, LAST_APPLIED, LEGACY_CLASS, LOCAL_DISK,
    OUR_PREFIX, PRE_RESIZE_CAPACITY, PROVISIONED_BY, SELECTED_NODE, TENANT, VOLUME_PREFIX,
};

/// What is ours, or the binder's, and means the same in another cluster: whose it is, how long it stays, who deletes it, and
/// by what a local disk is recognized, so that it is not offered a second time.
const PORTABLE: [&str; 12] = [
    TENANT,
    ALLOWED_NAMESPACES,
    KEEP,
    PROVISIONED_BY,
    LOCAL_DISK,
    DISK_WWN,
    DISK_SERIAL,
    DISK_MAPPING,
    DISK_PARTITION,
    DISK_FILE_SYSTEM,
    DISK_FOLDER,
    DISK_SIZE,
];

/// Returns whether an annotation or label of a volume means the same in another cluster.
///
/// What `PROVISIONED_BY` names deletes the storage once the reclaim policy is Delete, so it stays.
///
/// Kubernetes: `sig-storage-lib-external-provisioner/controller/controller.go`, `shouldDelete`.
fn is_portable(key: &str) -> bool {
    let is_ours = key.starts_with(OUR_PREFIX) || key.starts_with(ALLOW_PREFIX);
    let is_of_binder = key.starts_with(VOLUME_PREFIX)
        || [LAST_APPLIED, SELECTED_NODE, PRE_RESIZE_CAPACITY].contains(&key);
    PORTABLE.contains(&key) || !(is_ours || is_of_binder)
}

/// The entries of a map of labels or annotations that are portable.
fn portable(pairs: &Value) -> Map<String, Value> {
    let mut pairs = pairs.as_object().cloned().unwrap_or_default();
    pairs.retain(|key, _| is_portable(key));
    pairs
}

/// The metadata of an object of the cluster: name, and portable labels and annotations.
fn metadata(object: &Value) -> Value {
    let metadata = &object["metadata"];
    let mut kept = json!({"name": metadata["name"]});
    for field in ["labels", "annotations"] {
        let pairs = portable(&metadata[field]);
        if !pairs.is_empty() {
            kept[field] = Value::Object(pairs);
        }
    }
    kept
}

/// Returns a volume (its JSON) without what belongs to its cluster: its reclaim policy is Retain, and it is reserved for its
/// claim by namespace and name.
pub(in crate::api) fn portable_volume(volume: &Value) -> Value {
    let mut spec = volume["spec"].clone();
    spec["persistentVolumeReclaimPolicy"] = json!("Retain");
    let claim = &volume["spec"]["claimRef"];
    spec["claimRef"] = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "namespace": claim["namespace"], "name": claim["name"],
    });
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata(volume), "spec": spec,
    })
}

/// Returns a volume (its JSON) as it is exported, with its mark.
pub fn exported_volume(volume: &Value, mark: &ExportMark) -> Value {
    let mut exported = portable_volume(volume);
    exported["metadata"]["annotations"][EXPORT] = json!(mark.text());
    exported
}

/// Returns a claim (its JSON) as it is exported: labels, annotations and fields that people gave it, and
/// `spec.volumeName`. Its owners are left out, as in a move.
pub fn exported_claim(claim: &Value, key: &ClaimKey) -> Value {
    let mut copy = whole_copy(claim);
    for field in ["labels", "annotations"] {
        copy[field] = Value::Object(portable(&copy[field]));
    }
    let mut exported = claim_manifest(&without_empty(copy), key);
    exported["spec"]["volumeName"] = claim["spec"]["volumeName"].clone();
    exported
}

/// Returns a StorageClass or CSIDriver (its JSON) as it is exported.
pub fn exported_object(object: &Value, kind: &str) -> Value {
    let mut exported = object.clone();
    exported["apiVersion"] = json!("storage.k8s.io/v1");
    exported["kind"] = json!(kind);
    exported["metadata"] = metadata(object);
    if let Some(fields) = exported.as_object_mut() {
        let _ = fields.remove("status");
    }
    exported
}

/// Returns the StorageClass of a volume or claim (its JSON); empty if it has none.
pub fn volume_class(object: &Value) -> &str {
    let legacy = object["metadata"]["annotations"][LEGACY_CLASS].as_str();
    legacy.or_else(|| object["spec"]["storageClassName"].as_str()).unwrap_or_default()
}

/// Returns the Secrets that a volume (its JSON) names, as NAMESPACE/NAME. They are not exported.
///
/// Kubernetes: `core/v1/types.go`, `CSIPersistentVolumeSource`.
pub fn referenced_secrets(volume: &Value) -> Vec<String> {
    let fields = volume["spec"]["csi"].as_object().into_iter().flatten();
    let references = fields.filter(|(key, _)| key.ends_with("SecretRef"));
    let named = references.filter_map(|(_, secret)| {
        let (namespace, name) = (secret["namespace"].as_str()?, secret["name"].as_str()?);
        Some(format!("{namespace}/{name}"))
    });
    named.collect()
}

//! A claim as it is created again: what people and their tools gave it, without what the cluster added.

use serde_json::{Map, Value, json};

use crate::model::annotations::{CLAIM_COPY, LAST_APPLIED, LEGACY_CLASS, MOVE_UNDONE};
use crate::model::{ClaimKey, Uid, VolumeName};

/// The largest copy on a volume, in bytes. 16 KiB: of the 256 KiB of all annotations of an object, and a usual claim has
/// one or two.
const COPY_BYTES_MAX: usize = 16 * 1024;

/// The fields of `spec` that are created again. A data source is left out: the volume has its content already.
const SPEC_FIELDS: [&str; 6] = [
    "accessModes",
    "resources",
    "selector",
    "storageClassName",
    "volumeMode",
    "volumeAttributesClassName",
];

/// Returns whether an annotation of a claim is written by the binder, a provisioner, `kubectl apply` or a move.
fn is_of_cluster(key: &str) -> bool {
    let prefixes = ["pv.kubernetes.io/", "volume.kubernetes.io/"];
    let provisioner = "volume.beta.kubernetes.io/storage-provisioner";
    [LAST_APPLIED, MOVE_UNDONE, provisioner].contains(&key)
        || prefixes.iter().any(|prefix| key.starts_with(prefix))
}

/// Returns the copy of `claim` (its JSON): labels, annotations and the fields of `spec` that are created again. Its owners
/// are left out: an owner in another namespace, or one that is gone, would have the claim deleted. If the copy is larger
/// than 16 KiB, its largest annotations are left out.
pub fn claim_copy(claim: &Value) -> Value {
    let mut copy = whole_copy(claim);
    while copy.to_string().len() > COPY_BYTES_MAX
        && let Some(annotations) = copy["annotations"].as_object_mut()
    {
        let size = |value: &Value| value.as_str().map_or(0, str::len);
        let largest = annotations.iter().max_by_key(|(_, value)| size(value));
        let Some(largest) = largest.map(|(key, _)| key.clone()) else { break };
        let _ = annotations.remove(&largest);
    }
    without_empty(copy)
}

/// Returns the same, however large it is.
pub(super) fn whole_copy(claim: &Value) -> Value {
    let metadata = &claim["metadata"];
    let mut annotations = metadata["annotations"].as_object().cloned().unwrap_or_default();
    annotations.retain(|key, _| !is_of_cluster(key));
    let spec = &claim["spec"];
    let fields =
        SPEC_FIELDS.iter().filter_map(|key| Some(((*key).to_owned(), spec.get(key)?.clone())));
    let mut fields: Map<String, Value> = fields.collect();
    // Without it, a new claim would get the default class.
    if metadata["annotations"].get(LEGACY_CLASS).is_none() {
        let _ = fields.entry("storageClassName").or_insert_with(|| json!(""));
    }
    let labels = metadata["labels"].as_object().cloned().unwrap_or_default();
    without_empty(json!({"spec": fields, "labels": labels, "annotations": annotations}))
}

/// Returns the copy without maps of labels or annotations that are empty.
pub(super) fn without_empty(mut copy: Value) -> Value {
    for field in ["labels", "annotations"] {
        if copy[field].as_object().is_some_and(Map::is_empty)
            && let Some(fields) = copy.as_object_mut()
        {
            let _ = fields.remove(field);
        }
    }
    copy
}

/// Returns the copy that stands for the claim of `volume` (its JSON) if none was recorded: it asks for what the volume has.
pub fn claim_of_volume(volume: &Value) -> Value {
    let spec = &volume["spec"];
    json!({"spec": {
        "accessModes": spec["accessModes"],
        "resources": {"requests": {"storage": spec["capacity"]["storage"]}},
        "storageClassName": spec["storageClassName"].as_str().unwrap_or_default(),
        "volumeMode": spec["volumeMode"].as_str().unwrap_or("Filesystem"),
    }})
}

/// Returns the text of the annotation that records a copy on the volume with this uid.
pub fn copy_text(copy: &Value, volume: &Uid) -> String {
    json!({"volumeUid": volume.to_string(), "claim": copy}).to_string()
}

/// Returns the copy that is recorded on `volume` (its JSON); nothing if there is none, or that of another volume, from which
/// the annotation was copied.
pub fn recorded_copy(volume: &Value) -> Option<Value> {
    recorded_copy_of(volume, volume["metadata"]["uid"].as_str()?)
}

/// Returns the copy that was recorded on the volume with this uid, from which `volume` (its JSON) has it.
pub fn recorded_copy_of(volume: &Value, uid: &str) -> Option<Value> {
    let recorded = volume["metadata"]["annotations"][CLAIM_COPY].as_str()?;
    let mut recorded: Value = serde_json::from_str(recorded).ok()?;
    (recorded["volumeUid"] == uid).then(|| recorded["claim"].take())
}

/// Returns the manifest of the claim `key` from a copy.
pub fn claim_manifest(copy: &Value, key: &ClaimKey) -> Value {
    let mut metadata = json!({"namespace": &*key.namespace, "name": &*key.name});
    for field in ["labels", "annotations"] {
        if let Some(value) = copy.get(field) {
            metadata[field] = value.clone();
        }
    }
    let spec = &copy["spec"];
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
}

/// Returns the manifest of the claim `key` for `volume` (its JSON), from the copy on the volume. The claim names the volume.
pub fn claim_from(volume: &Value, name: &VolumeName, key: &ClaimKey) -> Value {
    let copy = recorded_copy(volume).unwrap_or_else(|| claim_of_volume(volume));
    let mut manifest = claim_manifest(&copy, key);
    manifest["spec"]["volumeName"] = json!(name.as_str());
    manifest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(annotations: &Value) -> Value {
        json!({
            "metadata": {"namespace": "db", "name": "data", "uid": "c", "labels": {"app": "db"},
                "annotations": annotations,
                "ownerReferences": [{"kind": "StatefulSet", "name": "db"}],
                "finalizers": ["kubernetes.io/pvc-protection"]},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeName": "pv-1",
                "dataSource": {"kind": "PersistentVolumeClaim", "name": "old"},
                "resources": {"requests": {"storage": "5Gi"}}, "volumeMode": "Filesystem"},
            "status": {"phase": "Bound"},
        })
    }

    #[test]
    fn a_claim_is_created_again_as_people_made_it() {
        let claim =
            claim(&json!({"pv.kubernetes.io/bind-completed": "yes", "example.com/state": "ready",
            "volume.kubernetes.io/storage-provisioner": "x", LAST_APPLIED: "{}"}));
        let text = copy_text(&claim_copy(&claim), &Uid::new("v1"));
        let mut volume = json!({"metadata": {"uid": "v1", "annotations": {CLAIM_COPY: text}}});
        let created = claim_from(&volume, &VolumeName::new("pv-1"), &ClaimKey::new("qa", "copy"));
        assert_eq!(
            created,
            json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"namespace": "qa", "name": "copy", "labels": {"app": "db"},
                    "annotations": {"example.com/state": "ready"}},
                "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeName": "pv-1",
                    "resources": {"requests": {"storage": "5Gi"}}, "volumeMode": "Filesystem"},
            })
        );
        volume["metadata"]["uid"] = json!("v2");
        assert_eq!(recorded_copy(&volume), None, "it was copied from another volume");
    }

    #[test]
    fn a_claim_without_a_class_gets_no_default_class() {
        let mut claim = claim(&json!({}));
        let _ = claim["spec"].as_object_mut().unwrap().remove("storageClassName");
        assert_eq!(claim_copy(&claim)["spec"]["storageClassName"], "");
        claim["metadata"]["annotations"][LEGACY_CLASS] = json!("fast");
        assert_eq!(claim_copy(&claim)["spec"].get("storageClassName"), None);
    }

    #[test]
    fn a_copy_stays_small() {
        let large = "x".repeat(20_000);
        let copy = claim_copy(&claim(&json!({"large": large, "small": "1"})));
        assert_eq!(copy["annotations"], json!({"small": "1"}));
    }

    #[test]
    fn without_a_copy_the_claim_asks_for_what_the_volume_has() {
        let volume =
            json!({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "7Gi"}}});
        let created = claim_from(&volume, &VolumeName::new("pv-1"), &ClaimKey::new("db", "data"));
        assert_eq!(
            created["spec"],
            json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "7Gi"}},
                "storageClassName": "", "volumeMode": "Filesystem", "volumeName": "pv-1"})
        );
    }
}

//! Volumes: `PersistentVolume`.

use serde_json::{Value, json};

use super::{
    LEGACY_CLASS, Strategy, access_mode_causes, drop_empty_access_modes, drop_empty_text,
    size_causes, volume_mode_causes,
};
use crate::json::{at, copy, remove, set, set_default, text};
use crate::status::Cause;

/// `PersistentVolume`.
#[derive(Debug)]
pub(crate) struct Volume;

/// Fields of `spec` that name a backend, in the order in which the server looks at them.
const SOURCES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// Label keys of node affinity that may be renamed after the affinity was set: from, to, and the
/// version that deprecated them. Kubernetes: `pkg/api/node/util.go`.
const RENAMED_LABELS: [(&str, &str, &str); 5] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone", "v1.17"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region", "v1.17"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch", "v1.14"),
    ("beta.kubernetes.io/os", "kubernetes.io/os", "v1.14"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type", "v1.17"),
];

/// Fields of `spec.claimRef`, all texts.
const REFERENCE_FIELDS: [&str; 7] =
    ["apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"];

/// Kubernetes: `pkg/api/persistentvolume/util.go`.
const DEPRECATED_ANNOTATIONS: [(&str, &str); 2] = [
    (LEGACY_CLASS, "deprecated since v1.8; use \"storageClassName\" attribute instead"),
    (
        "volume.beta.kubernetes.io/mount-options",
        "deprecated since v1.31; use \"mountOptions\" attribute instead",
    ),
];

/// Texts that a typed server does not write back when they are empty.
const OPTIONAL_TEXTS: [[&str; 2]; 3] =
    [["spec", "storageClassName"], ["status", "message"], ["status", "reason"]];

const PHASE: [&str; 2] = ["status", "phase"];
const TRANSITION: [&str; 2] = ["status", "lastPhaseTransitionTime"];
const POLICIES: &[&str] = &["Delete", "Recycle", "Retain"];
const ATTRIBUTES_CLASS: [&str; 2] = ["spec", "volumeAttributesClassName"];

impl Strategy for Volume {
    fn default(&self, object: &mut Value) {
        set_default(object, &PHASE, json!("Pending"));
        set_default(object, &["spec", "persistentVolumeReclaimPolicy"], json!("Retain"));
        set_default(object, &["spec", "volumeMode"], json!("Filesystem"));
        drop_empty_access_modes(object);
        for path in OPTIONAL_TEXTS {
            drop_empty_text(object, &path);
        }
        for field in REFERENCE_FIELDS {
            drop_empty_text(object, &["spec", "claimRef", field]);
        }
        if at(object, &["spec", "hostPath"]).is_some() {
            set_default(object, &["spec", "hostPath", "type"], json!(""));
        }
    }

    fn finalizer(&self) -> Option<&'static str> {
        Some("kubernetes.io/pv-protection")
    }

    fn prepare_create(&self, object: &mut Value, now: &str) {
        set(object, &["status"], json!({"phase": "Pending", "lastPhaseTransitionTime": now}));
    }

    fn prepare_status(&self, object: &mut Value, existing: &Value, now: &str) {
        copy(object, existing, &["spec"]);
        let is_same = text(object, &PHASE) == text(existing, &PHASE);
        let sent = at(object, &TRANSITION);
        if is_same && sent.is_none() {
            copy(object, existing, &TRANSITION);
        } else if !is_same && (sent.is_none() || sent == at(existing, &TRANSITION)) {
            set(object, &TRANSITION, json!(now));
        }
    }

    fn repeats_metadata(&self, subresource: &str) -> bool {
        !subresource.is_empty()
    }

    fn validate(&self, object: &Value) -> Vec<Cause> {
        let mut causes = access_mode_causes(object, "");
        causes.extend(capacity_causes(object));
        let policy = text(object, &["spec", "persistentVolumeReclaimPolicy"]);
        if !POLICIES.contains(&policy) {
            let field = "spec.persistentVolumeReclaimPolicy";
            causes.push(Cause::not_supported(field, &json!(policy), POLICIES));
        }
        causes.extend(source_causes(object));
        causes.extend(volume_mode_causes(object));
        causes
    }

    fn validate_update(&self, object: &Value, existing: &Value) -> Vec<Cause> {
        // The real strategy validates twice as well, so its causes come twice.
        let mut causes = self.validate(object);
        causes.extend(self.validate(object));
        if sources(object, existing) != sources(existing, existing) {
            // The real server prints a diff of its internal types after the line.
            let detail = "spec.persistentvolumesource is immutable after creation\n";
            causes.push(Cause::forbidden("spec.persistentvolumesource", detail));
        }
        let mode = ["spec", "volumeMode"];
        if at(object, &mode) != at(existing, &mode) {
            causes.push(Cause::immutable("volumeMode", &object["spec"]["volumeMode"]));
        }
        causes.extend(affinity_causes(object, existing));
        if at(existing, &ATTRIBUTES_CLASS).is_some() && at(object, &ATTRIBUTES_CLASS).is_none() {
            let detail = "update from non-nil value to nil is forbidden";
            causes.push(Cause::forbidden("spec.volumeAttributesClassName", detail));
        }
        causes
    }

    fn warnings(&self, object: &Value) -> Vec<String> {
        let mut warnings = Vec::new();
        for (key, said) in DEPRECATED_ANNOTATIONS {
            if at(object, &["metadata", "annotations", key]).is_some() {
                warnings.push(format!("metadata.annotations[{key}]: {said}"));
            }
        }
        if text(object, &["spec", "persistentVolumeReclaimPolicy"]) == "Recycle" {
            let said = "The Recycle reclaim policy is deprecated. Instead, the recommended \
                        approach is to use dynamic provisioning.";
            warnings.push(format!("spec.persistentVolumeReclaimPolicy: {said}"));
        }
        warnings.extend(affinity_warnings(object));
        warnings
    }
}

fn affinity_warnings(object: &Value) -> Vec<String> {
    let path = "spec.nodeAffinity.required.nodeSelectorTerms";
    let mut warnings = Vec::new();
    let terms = at(object, &["spec", "nodeAffinity", "required", "nodeSelectorTerms"]);
    for (number, term) in terms.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let expressions = at(term, &["matchExpressions"]).and_then(Value::as_array);
        for (place, expression) in expressions.into_iter().flatten().enumerate() {
            let key = text(expression, &["key"]);
            let renamed = RENAMED_LABELS.iter().find(|(beta, _, _)| *beta == key);
            warnings.extend(renamed.map(|(_, stable, since)| {
                format!(
                    "{path}[{number}].matchExpressions[{place}].key: {key} is deprecated since \
                     {since}; use \"{stable}\" instead"
                )
            }));
        }
    }
    warnings
}

fn capacity_causes(object: &Value) -> Vec<Cause> {
    let field = "spec.capacity";
    let capacity = at(object, &["spec", "capacity"]).and_then(Value::as_object);
    let mut causes = Vec::new();
    if capacity.is_none_or(serde_json::Map::is_empty) {
        causes.push(Cause::required(field, ""));
    }
    if !capacity.is_some_and(|all| all.len() == 1 && all.contains_key("storage")) {
        let value = capacity.map_or(Value::Null, |all| Value::Object(all.clone()));
        causes.push(Cause::not_supported(field, &value, &["storage"]));
    }
    for (key, value) in capacity.into_iter().flatten() {
        causes.extend(size_causes(value, &format!("{field}[{key}]")));
    }
    causes
}

fn source_causes(object: &Value) -> Vec<Cause> {
    let named: Vec<&str> =
        SOURCES.into_iter().filter(|source| at(object, &["spec", source]).is_some()).collect();
    let mut causes: Vec<Cause> = named
        .iter()
        .skip(1)
        .map(|source| {
            let detail = "may not specify more than 1 volume type";
            Cause::forbidden(&format!("spec.{source}"), detail)
        })
        .collect();
    if named.is_empty() {
        causes.push(Cause::required("spec", "must specify a volume type"));
    }
    if named.contains(&"local") && at(object, &["spec", "nodeAffinity", "required"]).is_none() {
        let detail = "Local volume requires node affinity";
        causes.push(Cause::required("spec.nodeAffinity", detail));
    }
    causes
}

/// The backend as it counts for immutability: a reference to a secret for expansion may be added.
fn sources(object: &Value, existing: &Value) -> Vec<Option<Value>> {
    let mut object = object.clone();
    let secret = ["spec", "csi", "controllerExpandSecretRef"];
    if at(existing, &["spec", "csi"]).is_some() && at(existing, &secret).is_none() {
        remove(&mut object, &secret);
    }
    SOURCES.iter().map(|source| at(&object, &["spec", source]).cloned()).collect()
}

fn affinity_causes(object: &Value, existing: &Value) -> Vec<Cause> {
    let affinity = ["spec", "nodeAffinity"];
    let Some(old) = at(existing, &affinity) else { return Vec::new() };
    let new = at(object, &affinity).cloned().unwrap_or_default();
    if is_renamed(old, &new) {
        return Vec::new();
    }
    let detail = "field is immutable, except for updating from beta label to GA";
    vec![Cause::invalid("nodeAffinity", &new, detail)]
}

/// Whether `new` is `old`, or differs from it by keys that were renamed from beta to GA.
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
    RENAMED_LABELS.iter().any(|(beta, stable, _)| old == beta && new == stable)
}

//! Volumes: `PersistentVolume`. Not here: its defaults and validation (`bindery::api::server::volume`).

use bindery::api::server::fields::{at, copy, set, set_default, text};
use bindery::api::server::{Cause, volume};
use bindery::model::annotations::{LEGACY_CLASS, VOLUME_PROTECTION};
use serde_json::{Value, json};

use super::Strategy;

/// `PersistentVolume`.
#[derive(Debug)]
pub(crate) struct VolumeStrategy;

/// Label keys of node affinity that draw a warning: the key, its successor, and the version that deprecated it.
///
/// Kubernetes: `pkg/api/node/util.go`.
const RENAMED_LABELS: [(&str, &str, &str); 5] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone", "v1.17"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region", "v1.17"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch", "v1.14"),
    ("beta.kubernetes.io/os", "kubernetes.io/os", "v1.14"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type", "v1.17"),
];

/// Kubernetes: `pkg/api/persistentvolume/util.go`.
const DEPRECATED_ANNOTATIONS: [(&str, &str); 2] = [
    (LEGACY_CLASS, "deprecated since v1.8; use \"storageClassName\" attribute instead"),
    (
        "volume.beta.kubernetes.io/mount-options",
        "deprecated since v1.31; use \"mountOptions\" attribute instead",
    ),
];

const PHASE: [&str; 2] = ["status", "phase"];
const TRANSITION: [&str; 2] = ["status", "lastPhaseTransitionTime"];

impl Strategy for VolumeStrategy {
    fn default(&self, object: &mut Value) {
        set_default(object, &PHASE, json!("Pending"));
        volume::default(object);
    }

    fn finalizer(&self) -> Option<&'static str> {
        Some(VOLUME_PROTECTION)
    }

    fn prepare_create(&self, object: &mut Value, now: &str) {
        volume::reset_status(object, Some(now));
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
        volume::validate(object)
    }

    fn validate_update(&self, object: &Value, existing: &Value) -> Vec<Cause> {
        // The real strategy validates twice as well, so its causes come twice.
        let mut causes = volume::validate(object);
        causes.extend_from_within(..);
        causes.extend(volume::validate_change(object, existing));
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

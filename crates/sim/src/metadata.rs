//! The rules for `metadata` that hold for every kind.
//!
//! Source: `k8s.io/apimachinery/pkg/api/validation/objectmeta.go` and `registry/rest/update.go`.
//! Labels and annotations are not checked for their syntax here.

use serde_json::{Value, json};

use super::json::{at, copy, set_default, texts};
use super::status::Cause;

/// The longest name. Kubernetes: DNS subdomains have at most 253 characters.
const NAME_LENGTH: usize = 253;

pub(super) const NAME: [&str; 2] = ["metadata", "name"];
pub(super) const VERSION: [&str; 2] = ["metadata", "resourceVersion"];
pub(super) const UID: [&str; 2] = ["metadata", "uid"];
pub(super) const DELETION: [&str; 2] = ["metadata", "deletionTimestamp"];
pub(super) const GRACE: [&str; 2] = ["metadata", "deletionGracePeriodSeconds"];
pub(super) const GENERATION: [&str; 2] = ["metadata", "generation"];
pub(super) const FINALIZERS: [&str; 2] = ["metadata", "finalizers"];

/// Puts back what no client may change.
pub(super) fn reset(object: &mut Value, existing: &Value) {
    copy(object, existing, &GENERATION);
    copy(object, existing, &["metadata", "creationTimestamp"]);
    copy(object, existing, &VERSION);
    if let Some(uid) = at(existing, &UID) {
        set_default(object, &UID, uid.clone());
    }
    if at(existing, &DELETION).is_some() {
        copy(object, existing, &DELETION);
    }
    if let Some(grace) = at(existing, &GRACE) {
        set_default(object, &GRACE, grace.clone());
    }
}

/// What an update may not do to the metadata.
pub(super) fn update_causes(object: &Value, existing: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if at(existing, &DELETION).is_some() {
        let old = texts(existing, &FINALIZERS);
        let mut fresh = texts(object, &FINALIZERS);
        fresh.retain(|one| !old.contains(one));
        fresh.sort_unstable();
        if !fresh.is_empty() {
            let quoted: Vec<String> = fresh.iter().map(|one| format!("{one:?}")).collect();
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new \
                 finalizers []string{{{}}}",
                quoted.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &detail));
        }
    }
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let path = ["metadata", field];
        if at(object, &path) != at(existing, &path) {
            let value = at(object, &path).cloned().unwrap_or_default();
            causes.push(Cause::immutable(&format!("metadata.{field}"), &value));
        }
    }
    causes
}

/// Whether a name is one. Kubernetes: a DNS subdomain for all resources served here.
pub(super) fn name_causes(name: &str) -> Vec<Cause> {
    if name.is_empty() {
        return vec![Cause::required("metadata.name", "name or generateName is required")];
    }
    let is_label = |label: &str| {
        let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let bytes = label.as_bytes();
        edge(bytes.first())
            && edge(bytes.last())
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
    };
    if name.len() <= NAME_LENGTH && name.split('.').all(is_label) {
        return Vec::new();
    }
    let detail = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    vec![Cause::invalid("metadata.name", &json!(name), detail)]
}

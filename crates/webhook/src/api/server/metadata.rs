//! What the API server makes of the metadata of every kind: fields that only it writes, and validation.
//!
//! Kubernetes: `apimachinery/pkg/api/validation/objectmeta.go`, `apiserver/pkg/registry/rest/{create,update}.go`.

use serde_json::{Value, json};

use super::cause::{Cause, Causes};
use super::fields::{at, copy, remove, set, set_default, texts};
use crate::model::name_syntax::{
    is_dns_label, is_dns_subdomain, is_qualified_name, is_simple_name,
};

/// Where a name is.
pub const NAME: [&str; 2] = ["metadata", "name"];
/// Where a version is.
pub const VERSION: [&str; 2] = ["metadata", "resourceVersion"];
/// Where a uid is.
pub const UID: [&str; 2] = ["metadata", "uid"];
/// Where the time of a deletion is.
pub const DELETION: [&str; 2] = ["metadata", "deletionTimestamp"];
/// Where the seconds are that a deleted object has left.
pub const GRACE: [&str; 2] = ["metadata", "deletionGracePeriodSeconds"];
/// Where the generation is.
pub const GENERATION: [&str; 2] = ["metadata", "generation"];
/// Where finalizers are.
pub const FINALIZERS: [&str; 2] = ["metadata", "finalizers"];

/// Bytes of all annotations. Kubernetes: `TotalAnnotationSizeLimitB`.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// Finalizers that may stand without a domain. Kubernetes: `standardFinalizers` of `core/helper`.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Kubernetes: the messages of `apimachinery/pkg/util/validation`.
pub(super) const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = r"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
pub(super) const QUALIFIED: &str = r"name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
pub(super) const LABEL_VALUE: &str = r"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Removes what a client's copy of an object may not say at creation.
pub fn wipe(object: &mut Value) {
    for field in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        remove(object, &["metadata", field]);
    }
}

/// Adds the finalizer that admission adds at creation. Kubernetes: `StorageObjectInUseProtection`.
pub fn protect(object: &mut Value, finalizer: &str) {
    let mut finalizers = texts(object, &FINALIZERS);
    if !finalizers.contains(&finalizer) {
        finalizers.push(finalizer);
        let finalizers = json!(finalizers);
        set(object, &FINALIZERS, finalizers);
    }
}

/// Puts back what no client may change by an update.
pub fn reset(object: &mut Value, existing: &Value) {
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

/// Returns what an update may not do to the metadata.
pub fn validate_change(object: &Value, existing: &Value) -> Vec<Cause> {
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

/// Returns what is wrong with a name that is a DNS subdomain, as of volumes, claims and most other kinds.
pub fn validate_name(name: &str) -> Vec<Cause> {
    let mut found = Causes::default();
    if name.is_empty() {
        found.add(Cause::required("metadata.name", "name or generateName is required"));
    }
    found.spelled("metadata.name", name, is_dns_subdomain, SUBDOMAIN);
    found.into_list()
}

/// Returns what is wrong with the metadata of a new object besides its name: prefix, namespace, labels, annotations,
/// finalizers, owners.
pub fn validate(metadata: &Value, is_namespaced: bool) -> Vec<Cause> {
    let mut found = Causes::default();
    let prefix = found.text("metadata.generateName", &metadata["generateName"]);
    // A random text follows it, so that it may end where a name may not.
    let is_beginning = |text: &str| is_dns_subdomain(&format!("{text}a"));
    found.spelled("metadata.generateName", prefix, is_beginning, SUBDOMAIN);
    let namespace = found.text("metadata.namespace", &metadata["namespace"]);
    if is_namespaced {
        found.spelled("metadata.namespace", namespace, is_dns_label, LABEL);
    }
    for (key, value) in found.map("metadata.labels", &metadata["labels"]).into_iter().flatten() {
        label(&mut found, "metadata.labels", key, value);
    }
    annotations(&mut found, &metadata["annotations"]);
    owners(&mut found, &metadata["ownerReferences"]);
    finalizers(&mut found, &metadata["finalizers"]);
    found.into_list()
}

/// A label, or one that a selector wants.
pub(super) fn label(found: &mut Causes, field: &str, key: &str, value: &Value) {
    qualified(found, field, key);
    let path = format!("{field}.{key}");
    let text = found.text(&path, value);
    if !is_simple_name(text) && !text.is_empty() {
        found.add(Cause::invalid(field, value, LABEL_VALUE).at(path));
    }
}

fn qualified(found: &mut Causes, field: &str, key: &str) {
    if key.is_empty() {
        found.add(Cause::invalid(field, &json!(key), "name part must be non-empty"));
    }
    found.spelled(field, key, is_qualified_name, QUALIFIED);
}

fn annotations(found: &mut Causes, annotations: &Value) {
    let field = "metadata.annotations";
    let mut bytes = 0;
    for (key, value) in found.map(field, annotations).into_iter().flatten() {
        // Upper case is let pass in their domains.
        qualified(found, field, &key.to_ascii_lowercase());
        bytes += key.len() + found.text(&format!("{field}.{key}"), value).len();
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        let detail = format!("may not be more than {ANNOTATIONS_BYTES_MAX} bytes, and are {bytes}");
        found.add(Cause::forbidden(field, &detail));
    }
}

fn finalizers(found: &mut Causes, finalizers: &Value) {
    let field = "metadata.finalizers";
    for finalizer in found.list(field, finalizers) {
        let text = found.required(field, finalizer, "");
        found.spelled(field, text, is_qualified_name, QUALIFIED);
        let is_standard = text.contains('/') || STANDARD_FINALIZERS.contains(&text);
        if is_qualified_name(text) && !is_standard {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            found.add(Cause::invalid(field, finalizer, detail));
        }
    }
}

fn owners(found: &mut Causes, owners: &Value) {
    let field = "metadata.ownerReferences";
    let mut controllers = 0;
    for (number, owner) in found.list(field, owners).iter().enumerate() {
        let one = format!("{field}[{number}]");
        if found.map(&one, owner).is_none() {
            continue;
        }
        for part in ["apiVersion", "kind", "name", "uid"] {
            found.required(&format!("{one}.{part}"), &owner[part], "must not be empty");
        }
        controllers += usize::from(owner["controller"] == true);
    }
    if controllers > 1 {
        let detail =
            format!("Only one reference can have Controller set to true, and {controllers} have");
        found.add(Cause::invalid(field, owners, &detail));
    }
}

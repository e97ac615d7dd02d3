//! Names, labels, annotations, finalizers and owners.
//!
//! Kubernetes: `apimachinery/pkg/api/validation/objectmeta.go`.

use serde_json::Value;

use super::refusal::Refusals;
use crate::model::name_syntax::{
    is_dns_label, is_dns_subdomain, is_qualified_name, is_simple_name,
};

/// Bytes of keys and values of all annotations. Kubernetes: `TotalAnnotationSizeLimitB`.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// Finalizers without a domain. Kubernetes: `IsStandardFinalizerName`.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// What a name of an object has to be.
const SUBDOMAIN: &str =
    "DNS subdomain (lower case letters, digits, '-' and '.', at most 253 bytes)";
const QUALIFIED: &str = "qualified name (letters, digits, '-', '_' and '.', at most 63, perhaps after a domain and '/')";

/// Looks at the metadata of a volume or claim.
pub(super) fn check(found: &mut Refusals<'_>, metadata: &Value) {
    let name = found.text("metadata.name", &metadata["name"]);
    let generated = found.text("metadata.generateName", &metadata["generateName"]);
    if name.is_empty() && generated.is_empty() {
        found.missing("metadata.name");
    }
    found.spelled("metadata.name", name, is_dns_subdomain, SUBDOMAIN);
    // A random text follows it, so that it may end where a name may not.
    let is_beginning = |text: &str| is_dns_subdomain(&format!("{text}a"));
    found.spelled("metadata.generateName", generated, is_beginning, "beginning of a DNS subdomain");
    let namespace = found.text("metadata.namespace", &metadata["namespace"]);
    if found.key().kind.is_namespaced() {
        found.spelled("metadata.namespace", namespace, is_dns_label, "DNS label");
    }
    labels(found, &metadata["labels"]);
    annotations(found, &metadata["annotations"]);
    finalizers(found, &metadata["finalizers"]);
    owners(found, &metadata["ownerReferences"]);
}

fn labels(found: &mut Refusals<'_>, labels: &Value) {
    for (key, value) in found.map("metadata.labels", labels).into_iter().flatten() {
        label(found, "metadata.labels", key, value);
    }
}

/// One label, or one line of a selector's `matchLabels`.
pub(super) fn label(found: &mut Refusals<'_>, field: &str, key: &str, value: &Value) {
    found.spelled(field, key, is_qualified_name, QUALIFIED);
    if key.is_empty() {
        found.add(field, "has an empty key", "name the label");
    }
    let field = format!("{field}.{key}");
    let value = found.text(&field, value);
    found.spelled(
        &field,
        value,
        is_simple_name,
        "value of a label (at most 63 letters, digits, '-', '_' and '.')",
    );
}

fn annotations(found: &mut Refusals<'_>, annotations: &Value) {
    let field = "metadata.annotations";
    let mut bytes = 0;
    for (key, value) in found.map(field, annotations).into_iter().flatten() {
        // Upper case is let pass in their domains.
        let is_valid = |key: &str| is_qualified_name(&key.to_ascii_lowercase());
        found.spelled(field, key, is_valid, QUALIFIED);
        if key.is_empty() {
            found.add(field, "has an empty key", "name the annotation");
        }
        bytes += key.len() + found.text(&format!("{field}.{key}"), value).len();
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        let fact = format!("has {bytes} bytes, which is more than {ANNOTATIONS_BYTES_MAX}");
        found.add(field, fact, "shorten them");
    }
}

fn finalizers(found: &mut Refusals<'_>, finalizers: &Value) {
    let field = "metadata.finalizers";
    for finalizer in found.list(field, finalizers) {
        let text = found.required(field, finalizer);
        let is_valid = |text: &str| {
            is_qualified_name(text) && (text.contains('/') || STANDARD_FINALIZERS.contains(&text))
        };
        found.spelled(field, text, is_valid, "name with a domain");
    }
}

fn owners(found: &mut Refusals<'_>, owners: &Value) {
    let mut controllers = 0;
    for (number, owner) in found.list("metadata.ownerReferences", owners).iter().enumerate() {
        let field = format!("metadata.ownerReferences[{number}]");
        if found.map(&field, owner).is_none() {
            continue;
        }
        for part in ["apiVersion", "kind", "name", "uid"] {
            found.required(&format!("{field}.{part}"), &owner[part]);
        }
        controllers += usize::from(owner["controller"] == true);
    }
    if controllers > 1 {
        let fact = format!("names {controllers} controllers");
        found.add("metadata.ownerReferences", fact, "leave one of them");
    }
}

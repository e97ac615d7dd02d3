//! Events: `EventStrategy` of the core group.
//!
//! The real server shows the same objects under `events.k8s.io` in another shape, and forgets them
//! after an hour; neither is here.

use serde_json::{Value, json};

use super::Strategy;
use bindery::api::server::Cause;
use bindery::api::server::fields::{at, set_default, text};

/// `EventStrategy`.
#[derive(Debug)]
pub(crate) struct EventStrategy;

/// Kubernetes: `ReasonLengthLimit`, `ActionLengthLimit` and `ReportingInstanceLengthLimit`.
const SHORT: usize = 128;

/// Kubernetes: `NoteLengthLimit`.
const LONG: usize = 1024;

/// The longest name behind the prefix of a qualified name.
const NAME_PART: usize = 63;

/// Fields without a value that a typed server spells all the same.
const NULLS: [&str; 3] = ["firstTimestamp", "lastTimestamp", "eventTime"];

/// Where events without a namespaced object live.
const HOMES: [&str; 2] = ["default", "kube-system"];

impl Strategy for EventStrategy {
    fn default(&self, object: &mut Value) {
        for field in ["involvedObject", "source"] {
            set_default(object, &[field], json!({}));
        }
        for field in NULLS {
            set_default(object, &[field], Value::Null);
        }
        for field in ["reportingComponent", "reportingInstance"] {
            set_default(object, &[field], json!(""));
        }
    }

    fn prepare_update(&self, _object: &mut Value, _existing: &Value) {}

    fn is_made_by_put(&self) -> bool {
        true
    }

    /// Names carry a dot and a number, and older clients put more into them: only what would break
    /// a path is rejected.
    fn name_causes(&self, name: &str) -> Vec<Cause> {
        let reason = match name {
            "" => {
                return vec![Cause::required("metadata.name", "name or generateName is required")];
            }
            "." | ".." => format!("may not be '{name}'"),
            _ => match name.chars().find(|letter| ['/', '%'].contains(letter)) {
                Some(letter) => format!("may not contain '{letter}'"),
                None => return Vec::new(),
            },
        };
        vec![Cause::invalid("metadata.name", &json!(name), &reason)]
    }

    fn validate(&self, object: &Value) -> Vec<Cause> {
        let home = text(object, &["metadata", "namespace"]);
        let about = text(object, &["involvedObject", "namespace"]);
        let is_new_style = at(object, &["eventTime"]).is_some();
        let is_misplaced = match (about, is_new_style) {
            ("", false) => home != "default",
            ("", true) => !HOMES.contains(&home),
            (_, false) => about != home,
            (_, true) => false,
        };
        let mut causes = Vec::new();
        if is_misplaced {
            let (field, detail) = ("involvedObject.namespace", "does not match event.namespace");
            causes.push(Cause::invalid(field, &json!(about), detail));
        }
        if is_new_style {
            causes.extend(new_style_causes(object));
        }
        causes
    }

    fn repeats_metadata(&self, _subresource: &str) -> bool {
        false
    }

    fn selectable(&self) -> Option<&'static [&'static str]> {
        Some(&[
            "metadata.name",
            "metadata.namespace",
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ])
    }

    fn selected<'a>(&self, object: &'a Value, field: &str) -> &'a str {
        match field {
            "source" => match text(object, &["source", "component"]) {
                "" => text(object, &["reportingComponent"]),
                component => component,
            },
            _ => text(object, &field.split('.').collect::<Vec<_>>()),
        }
    }

    fn returns_deleted(&self) -> bool {
        false
    }
}

/// Returns what an event with a precise time must say as well.
fn new_style_causes(object: &Value) -> Vec<Cause> {
    let of = |field: &str| text(object, &[field]);
    let mut causes = Vec::new();
    for (field, needed, limit) in [
        ("reportingComponent", true, usize::MAX),
        ("reportingInstance", true, SHORT),
        ("action", true, SHORT),
        ("reason", true, SHORT),
        ("message", false, LONG),
    ] {
        if needed && of(field).is_empty() {
            causes.push(Cause::required(field, ""));
        }
        if field == "reportingComponent" {
            causes.extend(qualified_name_causes(field, of(field)));
        }
        if of(field).len() > limit {
            let detail = format!("can have at most {limit} characters");
            causes.push(Cause::invalid(field, &json!(""), &detail));
        }
    }
    causes
}

/// Returns whether the part of a qualified name behind its prefix is one. Kubernetes: `IsQualifiedName`; the
/// prefix is not looked at here.
fn qualified_name_causes(field: &str, value: &str) -> Vec<Cause> {
    let name = value.rsplit('/').next().unwrap_or_default();
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    let mut details = Vec::new();
    if name.is_empty() {
        details.push("name part must be non-empty".to_owned());
    }
    if name.len() > NAME_PART {
        details.push(format!("name part must be no more than {NAME_PART} bytes"));
    }
    if !(is_edge(bytes.first()) && is_edge(bytes.last()) && bytes.iter().all(is_inner)) {
        let pattern = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
        details.push(format!(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and \
             end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
             used for validation is '{pattern}')"
        ));
    }
    details.iter().map(|detail| Cause::invalid(field, &json!(value), detail)).collect()
}

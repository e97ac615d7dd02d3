//! Reviews whose envelope is wrong: another kind, no request or uid, another resource, subresource or
//! operation, objects that are missing, and fields of the wrong type.

use super::objects::{Takes, WRONG};
use super::{BODY, Row, row};
use crate::wire::{about, claims, review, volume_review, volumes};

const VOLUME: &str = r#","object":{"metadata":{"name":"pv-a"}}"#;

pub(super) fn rows() -> Vec<Row> {
    [other_kinds(), without(), not_judged(), missing(), wrong_types(), mixed()]
        .into_iter()
        .flatten()
        .collect()
}

fn other_kinds() -> Vec<Row> {
    let whole = volume_review("{}");
    let of = |kind: &str, version: &str| {
        format!("expected an AdmissionReview of admission.k8s.io/v1, got {kind:?} of {version:?}")
    };
    let sent = |kind: &str, version: &str| {
        let body = whole.replace("\"AdmissionReview\"", &format!("{kind:?}"));
        row(body.replace("\"admission.k8s.io/v1\"", &format!("{version:?}")), of(kind, version))
    };
    let (kind, version) = ("AdmissionReview", "admission.k8s.io/v1");
    vec![
        row("{}", of("", "")),
        row(r#"{"kind":"AdmissionReview"}"#, of(kind, "")),
        row(r#"{"apiVersion":"admission.k8s.io/v1"}"#, of("", version)),
        sent(kind, "admission.k8s.io/v1beta1"),
        sent(kind, "admission.k8s.io/v2"),
        sent(kind, "v1"),
        sent(kind, ""),
        sent("", version),
        sent("admissionreview", version),
        sent("AdmissionReview ", version),
        sent("Pod", "v1"),
        sent("Status", "v1"),
        sent("Admission\nReview", version),
        sent("ConversionReview", "apiextensions.k8s.io/v1"),
    ]
}

fn without() -> Vec<Row> {
    let whole = volume_review("{}");
    let head = r#""apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview""#;
    let uid = |uid: &str| whole.replace("u-1", uid);
    let long =
        |bytes: usize| format!("request.uid has {bytes} bytes; no API server sends more than 1024");
    let no_request = "the AdmissionReview has no request";
    vec![
        row(format!("{{{head}}}"), no_request),
        row(format!("{{{head},\"request\":null}}"), no_request),
        row(format!("{{{head},\"response\":{{\"uid\":\"u-1\"}}}}"), no_request),
        row(format!("{{{head},\"Request\":{{}}}}"), no_request),
        row(format!("{{{head},\"request\":{{}}}}"), "request.uid is empty"),
        row(whole.replace("\"uid\":\"u-1\",", ""), "request.uid is empty"),
        row(uid(""), "request.uid is empty"),
        row(whole.replace("\"uid\"", "\"UID\""), "request.uid is empty"),
        row(uid(&"u".repeat(1_025)), long(1_025)),
        row(uid(&"\\u0041".repeat(1_025)), long(1_025)),
        row(uid(&"é".repeat(513)), long(1_026)),
        row(uid(&"u".repeat(16_000)), long(16_000)),
    ]
}

fn not_judged() -> Vec<Row> {
    let mut rows: Vec<Row> = [
        ("", "v1", "pods", "pods of v1"),
        ("", "v1", "persistentvolume", "persistentvolume of v1"),
        ("", "v1", "PersistentVolumes", "PersistentVolumes of v1"),
        ("", "v1", "persistentvolumes/status", "persistentvolumes/status of v1"),
        ("", "v1", "*", "* of v1"),
        ("", "v1", "", " of v1"),
        ("", "", "", " of "),
        ("", "v2", "persistentvolumes", "persistentvolumes of v2"),
        ("", "v1beta1", "namespaces", "namespaces of v1beta1"),
        ("core", "v1", "persistentvolumeclaims", "persistentvolumeclaims of core/v1"),
        ("storage.k8s.io", "v1", "csinodes", "csinodes of storage.k8s.io/v1"),
        ("", "v1", "storageclasses", "storageclasses of v1"),
        ("storage.k8s.io", "v1", "nodes", "nodes of storage.k8s.io/v1"),
        ("apps", "v1", "statefulsets", "statefulsets of apps/v1"),
    ]
    .map(|(group, version, resource, reported)| {
        let body = volume_review("{}").replace(
            r#"{"group":"","version":"v1","resource":"persistentvolumes"}"#,
            &format!(r#"{{"group":"{group}","version":"{version}","resource":"{resource}"}}"#),
        );
        row(
            body,
            format!(
                "{reported:?} is not judged here; register what `bindery generate webhooks` prints, and no more"
            ),
        )
    })
    .into();
    rows.extend(["scale", "finalize", "Status", "status/", " "].map(|name| {
        let body = review(&volumes("UPDATE", &format!(r#","subResource":"{name}""#)));
        row(
            body,
            format!("subresource {name:?} is not judged here; register no subresource but status, and finalize of namespaces"),
        )
    }));
    let resources = ["persistentvolumes", "persistentvolumeclaims", "namespaces", "pods"];
    let operations = ["CONNECT", "create", "", "PATCH", "*", "DELETECOLLECTION"];
    rows.extend(operations.into_iter().enumerate().map(|(number, operation)| {
        row(
            review(&about(resources[number % resources.len()], operation, VOLUME)),
            format!("operation {operation:?} is not judged here; register CREATE, UPDATE and DELETE only"),
        )
    }));
    rows
}

/// Each operation without each of the objects that it needs, for each resource.
fn missing() -> Vec<Row> {
    let old = VOLUME.replace("object", "oldObject");
    let mut rows = Vec::new();
    for resource in ["persistentvolumes", "persistentvolumeclaims", "namespaces"] {
        for (operation, rest, field) in [
            ("CREATE", "", "object"),
            ("CREATE", r#","object":null"#, "object"),
            ("CREATE", &*old, "object"),
            ("UPDATE", "", "oldObject"),
            ("UPDATE", VOLUME, "oldObject"),
            ("UPDATE", &*old, "object"),
            ("UPDATE", r#","object":null,"oldObject":null"#, "oldObject"),
            ("DELETE", "", "oldObject"),
            ("DELETE", VOLUME, "oldObject"),
            ("DELETE", r#","oldObject":null"#, "oldObject"),
        ] {
            let line = format!("{operation} comes without request.{field}");
            rows.push(row(review(&about(resource, operation, rest)), line));
        }
    }
    rows
}

/// Fields of the envelope, what each takes, and whether it may be null.
const FIELDS: [(&str, Takes, bool); 15] = [
    ("apiVersion", Takes::Text, false),
    ("kind", Takes::Text, false),
    ("request", Takes::Map, true),
    ("request.uid", Takes::Uid, false),
    ("request.resource", Takes::Map, false),
    ("request.resource.group", Takes::Text, false),
    ("request.resource.version", Takes::Text, false),
    ("request.resource.resource", Takes::Text, false),
    ("request.subResource", Takes::Text, true),
    ("request.namespace", Takes::Text, true),
    ("request.operation", Takes::Text, false),
    ("request.userInfo", Takes::Map, false),
    ("request.userInfo.username", Takes::Text, false),
    ("request.userInfo.groups", Takes::List, true),
    ("request.dryRun", Takes::Bool, true),
];

fn wrong_types() -> Vec<Row> {
    let mut rows = Vec::new();
    for (path, takes, may_be_null) in FIELDS {
        for (value, found) in WRONG {
            if takes.accepts(value) || (value == "null" && may_be_null) {
                continue;
            }
            let body = with(path, value);
            rows.push(row(
                body,
                format!("{BODY}: invalid type: {found}, expected {} @", takes.expects()),
            ));
        }
    }
    for (value, found) in WRONG.into_iter().filter(|(value, _)| !Takes::Text.accepts(value)) {
        let body = with("request.userInfo.groups", &format!("[\"g\",{value}]"));
        rows.push(row(body, format!("{BODY}: invalid type: {found}, expected text @")));
    }
    for value in ["[]", "[[]]", "7", "\"a\"", "null", "true", "1e3"] {
        let found = match value {
            "[]" | "[[]]" => "sequence",
            "7" => "integer `7`",
            "\"a\"" => "string \"a\"",
            "null" => "null",
            "true" => "boolean `true`",
            _ => "floating point `1000.0`",
        };
        rows.push(row(value, format!("{BODY}: invalid type: {found}, expected a map @")));
    }
    rows
}

/// A review with `value` at `path`.
fn with(path: &str, value: &str) -> String {
    let mut review = serde_json::json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "resource": {"group": "", "version": "v1", "resource": "persistentvolumes"},
            "subResource": "",
            "namespace": "n",
            "operation": "CREATE",
            "userInfo": {"username": "a", "groups": ["g"]},
            "dryRun": true,
            "object": {},
        },
    });
    let pointer = format!("/{}", path.replace('.', "/"));
    *review.pointer_mut(&pointer).unwrap() = serde_json::from_str(value).unwrap();
    review.to_string()
}

/// Returns what two branches could reject is reported by the one that comes first; an object that the operation does
/// not come with is read all the same.
fn mixed() -> Vec<Row> {
    let unused = format!("{BODY}: invalid type: integer `7`, expected a map @");
    vec![
        row(review(&volumes("DELETE", r#","oldObject":{},"object":7"#)), unused.clone()),
        row(review(&claims("CREATE", r#","oldObject":7,"object":{}"#)), unused.clone()),
        row(review(&about("namespaces", "CREATE", r#","oldObject":7,"object":{}"#)), unused),
        row(
            review(&about("pods", "CREATE", r#","object":7"#)),
            "\"pods of v1\" is not judged here; register what `bindery generate webhooks` prints, and no more",
        ),
        row(
            review(&volumes("UPDATE", r#","subResource":"scale","object":7"#)),
            "subresource \"scale\" is not judged here; register no subresource but status, and finalize of namespaces",
        ),
        row(
            review(&volumes("UPDATE", r#","oldObject":{"spec":7},"object":{"spec":7}"#)),
            "request.oldObject.spec cannot be read: invalid type: integer `7`, expected a map @",
        ),
        row(
            review(&volumes("UPDATE", r#","oldObject":{},"object":{"metadata":7,"spec":7}"#)),
            "request.object cannot be read: invalid type: integer `7`, expected a map @",
        ),
    ]
}

//! Keys that are there twice where something is read: which of two values counts differs from reader to
//! reader, so that an object could say one thing to us and another to the API server.

use super::objects::{KINDS, Takes, object_with, placed};
use super::{BODY, Row, row};
use crate::wire::{review, volume_review, volumes};

pub(super) fn rows() -> Vec<Row> {
    let mut rows = of_envelopes();
    rows.extend(of_objects());
    rows
}

/// Each field of the envelope, twice.
fn of_envelopes() -> Vec<Row> {
    let full = review(&volumes(
        "CREATE",
        r#","subResource":"","namespace":"n","userInfo":{"username":"a","groups":["g"]},"dryRun":true,"object":{},"oldObject":null"#,
    ));
    let mut rows: Vec<Row> = [
        ("apiVersion", "\"v1\""),
        ("kind", "\"Pod\""),
        ("request", "{}"),
        ("uid", "\"u-2\""),
        ("group", "\"\""),
        ("version", "\"v1\""),
        ("subResource", "null"),
        ("namespace", "\"n\""),
        ("operation", "\"DELETE\""),
        ("userInfo", "{}"),
        ("username", "\"b\""),
        ("groups", "[]"),
        ("object", "{}"),
        ("oldObject", "{}"),
        ("dryRun", "false"),
    ]
    .map(|(field, value)| {
        let once = format!("\"{field}\":");
        assert_eq!(full.matches(&once).count(), 1, "{field}");
        let body = full.replace(&once, &format!("\"{field}\":{value},\"{field}\":"));
        row(body, format!("{BODY}: duplicate field `{field}` @"))
    })
    .into();
    // An escape is the same key to every reader.
    let escaped = volume_review("{}").replace("\"uid\"", "\"uid\":\"u-2\",\"\\u0075id\"");
    rows.push(row(escaped, format!("{BODY}: duplicate field `uid` @")));
    rows
}

/// Each field of each object, twice.
fn of_objects() -> Vec<Row> {
    let mut rows = Vec::new();
    let places = [("CREATE", r#","object":@"#), ("DELETE", r#","oldObject":@"#)];
    for (resource, tables) in KINDS {
        let fields = tables.iter().copied().flatten();
        for (number, (path, takes)) in fields.filter(|(path, _)| !path.ends_with("[]")).enumerate()
        {
            let (around, key) = path.rsplit_once(' ').unwrap_or(("", path));
            let value = match takes {
                Takes::Map | Takes::Labels | Takes::Notes => "{}",
                Takes::List | Takes::Finalizers => "[]",
                Takes::Whole => "1",
                Takes::Text | Takes::Uid | Takes::Bool | Takes::Amount | Takes::Finalizer => {
                    "\"1\""
                }
            };
            let twice = format!("{{\"{key}\":{value},\"{key}\":{value}}}");
            let what = if key.contains('/') || key == "tier" { "key" } else { "field" };
            let reason = format!("duplicate {what} `{key}`");
            let place = places[number % places.len()];
            rows.push(if around.is_empty() {
                whole(place, &twice, resource, &reason)
            } else {
                placed(resource, place, around, &twice, &reason)
            });
        }
    }
    rows
}

/// A row about a field of the object itself.
fn whole((operation, rest): (&str, &str), object: &str, resource: &str, reason: &str) -> Row {
    let field = if rest.contains("oldObject") { "oldObject" } else { "object" };
    row(
        review(&crate::wire::about(resource, operation, &rest.replace('@', object))),
        format!("request.{field} cannot be read: {reason} @"),
    )
}

#[test]
fn an_object_is_made_from_the_inside() {
    assert_eq!(object_with("a [] b", "1"), r#"{"a":[{"b":1}]}"#);
}

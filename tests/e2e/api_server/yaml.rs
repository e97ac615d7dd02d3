//! YAML is read as kubectl reads it: a corpus of what people write and of what only machines would, each text
//! given to both.
//!
//! Not here: places in the text, which kubectl does not print (`document`).

use bindery::document;
use serde_json::{Value, json};

use crate::plane::persona::ADMIN;
use crate::plane::{Peers, Plane};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(yaml_is_read_as_kubectl_reads_it)];

/// What a field can be; each is the value of `data.x` of an object.
const VALUES: &[&str] = &[
    "",
    "~",
    "null",
    "Null",
    "NULL",
    "nul",
    "true",
    "True",
    "TRUE",
    "false",
    "yes",
    "Yes",
    "no",
    "NO",
    "on",
    "off",
    "Off",
    "y",
    "n",
    "Y",
    "N",
    "0",
    "-0",
    "+1",
    "1",
    "0777",
    "0o17",
    "0x1F",
    "0b101",
    "1_000",
    "08",
    "1e3",
    "1E3",
    "1e-7",
    "1.0",
    "1.10",
    ".5",
    "5.",
    "-.5",
    "+.5",
    ".inf",
    "-.inf",
    ".nan",
    "inf",
    "nan",
    "Infinity",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "1e400",
    "12:30:45",
    "190:20:30",
    "2026-01-01",
    "2026-01-01T00:00:00Z",
    "\"quoted\"",
    "'single ''quoted'''",
    "\"\\u00e9\\x41\\n\"",
    "!!str 5",
    "!!str true",
    "!!int \"5\"",
    "!!float \"5\"",
    "!!bool \"true\"",
    "!!null \"\"",
    "!!binary aGk=",
    "!custom x",
    "[a, b]",
    "[]",
    "{}",
    "{a: 1, b: [x, y]}",
    "{a: b}",
    "|\n    a\n    b",
    "|-\n    a\n    b\n",
    "|+\n    a\n\n",
    ">\n    a\n    b\n\n    c",
    ">-\n    a\n    b",
    "|2\n      a",
    "a b  c",
    "a # comment",
    "a#b",
    "a: b",
    "- a",
    "\n  - a\n  - b",
    "\n  - a: 1\n    b: 2\n  - c",
    "&anchor a",
    "*none",
    "@a",
    "`a",
    "%a",
    "a: b: c",
    "'",
    "\"",
    "[a",
    "{a: b",
    "\ta",
    "a\tb",
    "é",
    "🙂",
    "\u{a0}a",
    "=",
    "<<",
    "-",
    "--",
    "...a",
    "0.1.2",
    "1.2.3.4",
    "10Gi",
    "5m",
    "1Ki",
    "{a: 1, a: 2}",
    "!!int five",
    "!!bool 5",
    "!!binary \"?\"",
    "!!float 1",
    "[1, 2,]",
    "{a, b}",
    "? a\n  : b",
    "\n    1: a\n    true: b\n    null: c",
    "\n    ? [a]\n    : b",
];

/// What is read otherwise on purpose, each with the reason.
const OTHERWISE: &[(&str, &str)] = &[
    ("a: 1, a: 2", "kubectl takes the last of two and drops the first without a word"),
    ("  a: 1\n  a: 2\n", "the same"),
    (
        "%YAML",
        "kubectl takes the streams apart before it reads them, and loses the directive's document",
    ),
];

/// Whole documents, or streams of them.
const STREAMS: &[&str] = &[
    "HEAD\n---\nHEAD\n",
    "---\nHEAD\n---\n---\n# nothing\n---\nHEAD\n...\n",
    "\u{feff}HEAD\n",
    "--- # comment\nHEAD\n",
    "HEAD\ndata: &a {b: c}\nmore: *a\n",
    "HEAD\nbase: &a {b: c, d: e}\ndata:\n  <<: *a\n  d: f\n",
    "HEAD\nbase: &a {b: c}\nother: &o {b: x, y: z}\ndata:\n  <<: [*a, *o]\n",
    "HEAD\nbase: &a {b: c}\ndata: {d: e, <<: *a}\n",
    "HEAD\ndata:\n  a: 1\n  a: 2\n",
    "HEAD\ndata:\n a: 1\n  b: 2\n",
    "HEAD\ndata:\n- a\n- b\n",
    "HEAD\ndata:\n\ta: b\n",
    "%YAML 1.1\n---\nHEAD\n",
    "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"a\"}, \"data\": {\"x\": 1.50}}",
    "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"a\"}} {\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"b\"}}",
    "HEAD\r\ndata:\r\n  a: b\r\n",
    "HEAD\ndata: {\"a\": \"b\", \"c\": null}\n",
];

const HEAD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}";

fn yaml_is_read_as_kubectl_reads_it() {
    let plane = Plane::shared(Peers::WithoutBinder);
    let values = VALUES.iter().map(|value| format!("{HEAD}\ndata:\n  x: {value}\n"));
    let streams = STREAMS.iter().map(|stream| stream.replace("HEAD", HEAD));
    let (mut wrong, mut same, mut denied) = (Vec::new(), 0, 0);
    for text in values.chain(streams) {
        match (kubectl(plane, &text), ours(&text)) {
            (Ok(theirs), Ok(ours)) if is_same(&theirs, &ours) => same += 1,
            (Err(_), Err(_)) => denied += 1,
            _ if OTHERWISE.iter().any(|(part, _)| text.contains(part)) => {}
            (theirs, ours) => wrong.push(format!("{text:?}\nkubectl: {theirs:?}\nours: {ours:?}")),
        }
    }
    println!("{same} texts are read alike, {denied} are rejected by both");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(same > 80 && denied > 8, "{same} and {denied}");
}

/// The objects that kubectl makes of a text.
fn kubectl(plane: &Plane, text: &str) -> Result<Vec<Value>, String> {
    let arguments = ["create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-"];
    let output = plane.kubectl(ADMIN, &arguments, text);
    if output.code != 0 {
        return Err(output.stderr);
    }
    // One object after another, or a list of them.
    let objects = serde_json::Deserializer::from_str(&output.stdout).into_iter::<Value>();
    let mut found = Vec::new();
    for object in objects {
        let object = object.map_err(|error| format!("{error}: {}", output.stdout))?;
        match object["items"].as_array() {
            Some(items) => found.extend(items.clone()),
            None => found.push(object),
        }
    }
    Ok(found)
}

fn ours(text: &str) -> Result<Vec<Value>, String> {
    let documents = document::read(text).map_err(|error| error.to_string())?;
    Ok(documents.iter().map(document::TreeNode::to_json).collect())
}

/// Returns whether both say the same, but for the namespace that kubectl adds and how a number is written.
fn is_same(theirs: &[Value], ours: &[Value]) -> bool {
    let level = |objects: &[Value]| -> Vec<Value> {
        let mut objects = objects.to_vec();
        for object in &mut objects {
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("namespace");
            }
            level_numbers(object);
        }
        objects
    };
    level(theirs) == level(ours)
}

fn level_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => *value = json!(number.as_f64()),
        Value::Array(items) => items.iter_mut().for_each(level_numbers),
        Value::Object(fields) => fields.values_mut().for_each(level_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

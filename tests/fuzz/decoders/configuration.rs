//! Configurations: that every problem has a place in the file, and that one which is accepted means the
//! same however it is written.

use std::str;

use bindery::config::{self, Configuration};
use bindery::document::{self, Shape, TreeNode};
use serde_json::Value;

use super::places::Lines;
use super::{Decoder, Outcome, check_reason};

/// The decoder, with words of its format.
pub(crate) const DECODER: Decoder = Decoder {
    name: "configuration",
    check,
    words: &[
        "deny",
        "warn",
        "audit",
        "off",
        "strict",
        "baseline",
        "168h",
        "1s",
        "-1h",
        "prebind-class",
        "modes",
        "rules",
        "list",
        "In",
        "2030-01-31T18:00:00Z",
        "podTemplate",
        "containers",
        "readOnly",
        "image",
        "{}",
        "[]",
    ],
};

const FILE: &str = "bindery.yaml";

/// The bytes of a configuration file.
fn check(input: &[u8]) -> Outcome {
    let read = config::read_bytes(input, FILE);
    assert_eq!(read, config::read_bytes(input, FILE), "the same bytes mean the same");
    match read {
        Ok(configuration) => {
            check_rewritten(input, &configuration);
            Outcome::Read
        }
        Err(error) => {
            let text = String::from_utf8_lossy(input);
            let is_text = str::from_utf8(input).is_ok();
            let lines = if is_text { Lines::of(&text) } else { Lines::of_bytes(&text) };
            assert!(!error.problems.is_empty(), "rejected without a reason");
            assert!(error.problems.is_sorted_by_key(|problem| problem.at), "{error}");
            for problem in &error.problems {
                check_reason(&problem.text);
                lines.check(problem.at);
            }
            assert_eq!(error.to_string().lines().count(), error.problems.len(), "{error}");
            Outcome::Rejected
        }
    }
}

/// The same as JSON, without comments or anchors. The keys keep their order: of the terms of a selector it is
/// theirs.
fn check_rewritten(input: &[u8], configuration: &Configuration) {
    let text = document::text(input.to_vec()).expect("it was read");
    let documents = document::read(&text).expect("it was read");
    let json = json(&documents[0]);
    let again = config::read(&json, FILE).unwrap_or_else(|error| panic!("{json}: {error}"));
    assert_eq!(&again, configuration, "{json}");
}

fn json(node: &TreeNode) -> String {
    match &node.shape {
        Shape::List(items) => {
            let items: Vec<String> = items.iter().map(json).collect();
            format!("[{}]", items.join(","))
        }
        Shape::Map(entries) => {
            let entries = entries.iter().map(|entry| {
                format!("{}:{}", Value::String(entry.key.clone()), json(&entry.value))
            });
            format!("{{{}}}", entries.collect::<Vec<String>>().join(","))
        }
        Shape::Null | Shape::Bool(_) | Shape::Number(_) | Shape::Text(_) => {
            node.to_json().to_string()
        }
    }
}

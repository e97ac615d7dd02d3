//! The chart's README holds the values and the rights as they are: its tables are made from the comments of
//! values.yaml and from the table that roles are compared with.
//!
//! `BINDERY_GENERATE=1` writes them. The text around them is written by hand.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use super::helm::{is_generating, root, text};
use super::rights::{RIGHTS, Scope, With};

const README: &str = "charts/bindery/README.md";

/// A value of values.yaml, as its comment documents it.
#[derive(Debug, PartialEq, Eq)]
struct Reported {
    path: String,
    default: String,
    text: String,
}

/// The values that have a comment `# -- …`, in the order of the file; `defaults` are all values.
fn reported(yaml: &str, defaults: &Value) -> Vec<Reported> {
    let mut found = Vec::new();
    let mut above: Vec<(usize, &str)> = Vec::new();
    let mut comment = None;
    for line in yaml.lines() {
        let trimmed = line.trim_start();
        let depth = line.len() - trimmed.len();
        if let Some(text) = trimmed.strip_prefix("# -- ") {
            comment = Some(text);
            continue;
        }
        let Some((key, _)) = trimmed.split_once(':').filter(|_| !trimmed.starts_with('#')) else {
            continue;
        };
        above.retain(|(other, _)| *other < depth);
        above.push((depth, key));
        if let Some(text) = comment.take() {
            let keys: Vec<&str> = above.iter().map(|(_, key)| *key).collect();
            let default = keys.iter().fold(defaults, |value, key| &value[*key]);
            found.push(Reported {
                path: keys.join("."),
                default: default.to_string(),
                text: text.to_owned(),
            });
        }
    }
    found
}

fn values() -> (String, Value) {
    let yaml = text("charts/bindery/values.yaml");
    let documents = bindery::document::read(&yaml).expect("values are YAML");
    let defaults = documents.first().expect("there are values").to_json();
    (yaml, defaults)
}

fn values_table() -> String {
    let (yaml, defaults) = values();
    let mut table = String::from("| value | default | what it does |\n|---|---|---|\n");
    for Reported { path, default, text } in reported(&yaml, &defaults) {
        // A bar inside a cell would end it.
        let _ = writeln!(table, "| `{path}` | `{default}` | {} |", text.replace('|', "\\|"));
    }
    table
}

fn rights_table() -> String {
    let mut table = String::from(
        "| what | webhook | `observe` | `prebind` | `full` | local disks | node cleanup | reporter | only with |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for right in RIGHTS {
        let names: Vec<String> = right.names.iter().map(|name| format!("`{name}`")).collect();
        let scope = if right.scope == Scope::Cluster { "" } else { " of the namespace" };
        let with = match right.with {
            With::Nothing => "",
            With::Events => "`controller.events`",
            With::SelfSigned => "`certs.mode: selfSigned`",
            With::Trash => "`trash.enabled`",
            With::Moves => "`moves.resumeAfter`",
            With::TaintRemoval => "`local.removeNodeNotReadyTaint`",
            With::Jobs => "`local.useJobForCleaning`",
            With::Probe => "`rbac.create`, `failurePolicy: Fail`",
        };
        let [webhook, observe, prebind, full, local, cleanup, reporter] =
            right.verbs.map(|verbs| verbs.join(", "));
        let what = format!("{}{scope} {}", right.resource, names.join(", "));
        let what = what.trim_end();
        let _ = writeln!(
            table,
            "| {what} | {webhook} | {observe} | {prebind} | {full} | {local} | {cleanup} | {reporter} | {with} |"
        );
    }
    table
}

/// `page` with `table` between the two marks of `name`.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->\n"));
    let (before, rest) = page.split_once(&begin).expect("the page has the mark");
    let (_, after) = rest.split_once(&end).expect("the page has the second mark");
    format!("{before}{begin}\n{table}\n{end}{after}")
}

#[test]
fn the_readme_is_current() {
    let page = text(README);
    let current = with_table(&page, "values", &values_table());
    let current = with_table(&current, "rights", &rights_table());
    if is_generating() {
        fs::write(root(README), &current).expect("it can be written");
    }
    assert!(text(README) == current, "{README} is not current; run BINDERY_GENERATE=1 make chart");
}

/// A value without a sentence is one that users cannot set.
#[test]
fn every_value_is_documented() {
    let (yaml, defaults) = values();
    let reported = reported(&yaml, &defaults);
    for Reported { path, default, text } in &reported {
        assert!(text.len() > 10 && text.ends_with('.'), "{path}: {text}");
        assert_ne!(default, "null", "{path} has no default");
    }
    let mut leaves = Vec::new();
    walk(&defaults, "", &mut leaves);
    for leaf in leaves {
        let is_reported = reported
            .iter()
            .any(|one| leaf == one.path || leaf.starts_with(&format!("{}.", one.path)));
        assert!(is_reported, "{leaf} has no comment `# -- …` in values.yaml");
    }
}

fn walk(value: &Value, path: &str, leaves: &mut Vec<String>) {
    match value.as_object().filter(|map| !map.is_empty()) {
        Some(map) => {
            for (key, inner) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                walk(inner, &path, leaves);
            }
        }
        None => leaves.push(path.to_owned()),
    }
}

#[test]
fn comments_are_read_with_their_place() {
    let yaml = "# head\na:\n  # -- One.\n  b: 1\n  # more\n  c:\n    # -- Two.\n    d: {}\n# -- Three.\ne: []\n";
    let defaults = serde_json::json!({"a": {"b": 1, "c": {"d": {}}}, "e": []});
    let found: Vec<String> = reported(yaml, &defaults)
        .into_iter()
        .map(|one| format!("{}={} {}", one.path, one.default, one.text))
        .collect();
    assert_eq!(found, ["a.b=1 One.", "a.c.d={} Two.", "e=[] Three."]);
}

//! The templates as text: nothing that depends on the cluster or on chance, nothing that only one version
//! of helm knows, and a chart that helm finds no fault with.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use bindery::document::{self, TreeNode};
use serde_json::Value;

use super::helm::{helm, root, text};

/// Functions and words of templates that helm 3 and helm 4 both know, and that render the same each time.
const KNOWN: &[&str] = &[
    // The language.
    "and",
    "define",
    "else",
    "end",
    "eq",
    "gt",
    "if",
    "include",
    "index",
    "len",
    "ne",
    "not",
    "or",
    "print",
    "printf",
    "range",
    "with",
    "list",
    "dict",
    "nil",
    // What helm adds.
    "fromJson",
    "fromYaml",
    "toJson",
    "toYaml",
    // Sprig.
    "add",
    "append",
    "atoi",
    "b64enc",
    "concat",
    "contains",
    "deepCopy",
    "default",
    "fail",
    "get",
    "has",
    "hasPrefix",
    "indent",
    "int",
    "join",
    "keys",
    "kindIs",
    "merge",
    "mul",
    "nindent",
    "quote",
    "regexFind",
    "replace",
    "rest",
    "set",
    "sha256sum",
    "sortAlpha",
    "sub",
    "ternary",
    "trimSuffix",
    "trunc",
    "uniq",
    "without",
];

fn templates(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("the chart has templates") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            templates(&path, found);
        } else {
            let text = fs::read_to_string(&path).expect("a template is text");
            found.push((path.display().to_string(), text));
        }
    }
}

fn all() -> Vec<(String, String)> {
    let mut found = Vec::new();
    templates(&root("charts/bindery/templates"), &mut found);
    assert!(found.len() > 10, "few templates were found");
    found
}

/// `template` without the actions that print what Prometheus is to expand.
fn without_quoted(template: &str) -> String {
    let mut parts = template.split("{{ `");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once("` }}").expect("it is closed").1)
}

/// The words of all actions, without literals, comments, variables and fields.
fn words(template: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let template = without_quoted(template);
    for action in template.split("{{").skip(1) {
        let action = action.split("}}").next().unwrap_or_default();
        if action.trim_start_matches('-').trim_start().starts_with("/*") {
            continue;
        }
        let code: Vec<&str> = action.split(['"', '`']).step_by(2).collect();
        let code = code.join(" \"\" ");
        for word in code.split(|c: char| !(c.is_alphanumeric() || "_$.".contains(c))) {
            let is_name = word.starts_with(|c: char| c.is_alphabetic());
            if is_name && word != "true" && word != "false" {
                found.insert(word.to_owned());
            }
        }
    }
    found
}

#[test]
fn templates_use_only_what_helm_3_and_4_know_and_what_repeats() {
    for (path, text) in all() {
        for word in words(&text) {
            assert!(
                KNOWN.contains(&word.as_str()),
                "{path}: {word} is not a function that both helm 3 and helm 4 have, or it renders \
                 another text each time; leave it out, or add it to KNOWN"
            );
        }
    }
}

#[test]
fn words_of_actions_are_found() {
    let words = words(
        "a {{- $x := lookup \"v1\" .b.c | default (genCA 1) -}} {{/* env */}} {{ `{{ no }}` }}",
    );
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(words, ["default", "genCA", "lookup"]);
}

/// Each begins with what it is; a helper is found by its name.
#[test]
fn templates_begin_with_their_purpose() {
    for (path, text) in all() {
        if path.ends_with("NOTES.txt") {
            continue;
        }
        assert!(text.starts_with("{{/*\n"), "{path}: say what the file is, and what is not here");
        for name in text.split("define \"").skip(1) {
            assert!(
                name.starts_with("bindery."),
                "{path}: a name without a prefix can be another chart's"
            );
        }
    }
}

#[test]
fn every_helper_is_used() {
    let all = all();
    for (path, text) in &all {
        for rest in text.split("define \"").skip(1) {
            let name = rest.split('"').next().unwrap_or_default();
            let is_used = all.iter().any(|(_, text)| text.contains(&format!("include \"{name}\"")));
            assert!(is_used, "{path}: no template includes {name}");
        }
    }
}

#[test]
fn helm_finds_no_fault() {
    for values in [
        None,
        Some("monitoring-full"),
        Some("policy"),
        Some("local-pools"),
        Some("webhook-only"),
        Some("reports"),
        Some("policies-instead"),
    ] {
        let file = values.map(|name| format!("tests/chart/sets/{name}.yaml"));
        let mut arguments = vec!["lint", "charts/bindery", "--strict"];
        if let Some(file) = &file {
            arguments.extend(["--values", file]);
        }
        let reported = helm(&arguments).unwrap_or_else(|reported| panic!("{values:?}: {reported}"));
        assert!(reported.contains("1 chart(s) linted, 0 chart(s) failed"), "{reported}");
        assert!(!reported.contains("[WARNING]") && !reported.contains("[ERROR]"), "{reported}");
    }
}

#[test]
fn the_chart_is_of_this_version() {
    let chart = document::read(&text("charts/bindery/Chart.yaml")).expect("it is YAML");
    let chart: Value = chart.first().map(TreeNode::to_json).expect("it is there");
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["apiVersion"], "v2");
    assert_eq!(chart["kubeVersion"], ">=1.30.0-0");
    assert_eq!(chart["annotations"]["artifacthub.io/license"], env!("CARGO_PKG_LICENSE"));
    let description = chart["description"].as_str().unwrap_or_default();
    assert!(
        env!("CARGO_PKG_DESCRIPTION")
            .starts_with(description.split(',').next().unwrap_or_default())
    );
}

/// The package is what it needs to be, and the files beside the templates are read.
#[test]
fn every_file_beside_the_templates_is_read() {
    let templates: String = all().into_iter().map(|(_, text)| text).collect();
    for entry in fs::read_dir(root("charts/bindery/files")).expect("there are files") {
        let name = entry.expect("it can be listed").file_name().into_string().expect("a name");
        assert!(templates.contains(&format!("files/{name}")), "{name} is read by no template");
    }
}

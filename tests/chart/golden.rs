//! Each set of values renders what is recorded, twice the same, on every version of Kubernetes.
//!
//! The record of `defaults` is whole. That of any other set holds what is otherwise than there, and the names
//! of what is not there, so that it shows what its values do. `BINDERY_GENERATE=1` writes the records; a
//! change of the chart is read in their difference.

use std::fmt::Write as _;
use std::fs;

use bindery::document::{self, TreeNode};

use super::helm::{Helm, is_generating, rendered, root, set, sets, template_by, text};

/// Fewer sets than this would leave branches of the templates without a record.
const SETS_COUNT_MIN: usize = 12;

#[test]
fn every_recorded_rendering_is_current() {
    assert!(sets().len() >= SETS_COUNT_MIN, "{} sets", sets().len());
    for (name, rendering) in sets() {
        let path = format!("tests/chart/golden/{name}.yaml");
        let made = record(name, &rendering.text);
        if is_generating() {
            fs::write(root(&path), &made).expect("the record can be written");
        }
        assert!(root(&path).exists(), "{path} is missing; run BINDERY_GENERATE=1 make chart");
        let recorded = text(&path);
        let differs = recorded.lines().zip(made.lines()).position(|(old, new)| old != new);
        assert!(
            recorded == made,
            "{path} is not what the chart renders, from line {}; if that is meant, run \
             BINDERY_GENERATE=1 make chart and read the difference",
            differs.unwrap_or(recorded.lines().count()) + 1
        );
    }
}

/// The text of each object, with its kind and name.
fn objects(text: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    for object in text.split("---\n").map(str::trim).filter(|object| !object.is_empty()) {
        let read = document::read(object).expect("it is YAML");
        let read = read.first().map(TreeNode::to_json).expect("it is an object");
        let part = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        found
            .push((format!("{} {}", part(&read["kind"]), part(&read["metadata"]["name"])), object));
    }
    found
}

fn record(name: &str, text: &str) -> String {
    let (these, usual) = (objects(text), objects(&set("defaults").text));
    let is_whole = name == "defaults";
    let mut out = String::new();
    for (what, _) in usual.iter().filter(|(what, _)| these.iter().all(|(other, _)| other != what)) {
        let _ = writeln!(out, "# Not there: {what}");
    }
    for (_, object) in these.iter().filter(|these| is_whole || !usual.contains(these)) {
        let _ = writeln!(out, "---\n{object}");
    }
    out
}

#[test]
fn every_record_has_its_set() {
    for entry in fs::read_dir(root("tests/chart/golden")).expect("there are records") {
        let name = entry.expect("it can be listed").file_name().into_string().expect("a name");
        let is_known = sets().iter().any(|(set, _)| format!("{set}.yaml") == name);
        assert!(is_known, "tests/chart/golden/{name} has no set of values any more; delete it");
    }
}

/// Argo CD and Flux render again and again: what differs by itself is a change for ever.
#[test]
fn two_renderings_are_the_same() {
    for (name, rendering) in sets() {
        let again = rendered(&["--values", &format!("tests/chart/sets/{name}.yaml")]);
        assert!(again.text == rendering.text, "{name} renders otherwise the second time");
    }
}

#[test]
fn helm_3_renders_the_same_objects() {
    for (name, rendering) in sets() {
        let values = format!("tests/chart/sets/{name}.yaml");
        // Without a cluster it takes Kubernetes to be as old as it says itself.
        let other = template_by(Helm::Three, &["--values", &values, "--kube-version", "1.36.0"]);
        let other = other.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(other.objects.len(), rendering.objects.len(), "{name}");
        for object in &other.objects {
            assert!(rendering.objects.contains(object), "{name}: only Helm 3 renders {object}");
        }
    }
}

#[test]
fn every_version_of_kubernetes_from_1_30_on_renders_the_same() {
    let defaults = &set("defaults").text;
    for minor in 30..=36 {
        let version = format!("1.{minor}.0");
        let rendering = rendered(&["--kube-version", &version]);
        assert!(rendering.text == *defaults, "{version}");
    }
    // What clouds append to a version does not make it an older one.
    assert!(rendered(&["--kube-version", "v1.30.4-gke.100"]).text == *defaults);
    for old in ["1.29.14", "1.28.0"] {
        let reported = super::helm::template(&["--kube-version", old]).err().unwrap_or_default();
        assert!(reported.contains("requires kubeVersion: >=1.30.0-0"), "{old}: {reported}");
    }
}

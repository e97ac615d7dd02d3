//! Each set of values renders what is recorded, twice the same, on every version of Kubernetes.
//!
//! Three records are whole: what the chart renders by itself, with everything on, and under other names. That of any
//! other set is the difference from the first, so that it shows what its values do. `BINDERY_GENERATE=1` writes the
//! records; a change of the chart is read in their difference.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use bindery::document::{self, TreeNode};
use similar::TextDiff;

use super::helm::{Helm, is_generating, rendered, root, set, sets, template_by, text};

/// Fewer sets than this would leave branches of the templates without a record.
const SETS_COUNT_MIN: usize = 12;

/// The set from which the others differ.
const BASE: &str = "defaults";
/// The sets whose renderings are recorded whole.
const WHOLE: [&str; 3] = [BASE, "monitoring-full", "named"];

/// The record of a set.
fn record_path(name: &str) -> String {
    let ending = if WHOLE.contains(&name) { "yaml" } else { "diff" };
    format!("tests/chart/golden/{name}.{ending}")
}

#[test]
fn every_recorded_rendering_is_current() {
    assert!(sets().len() >= SETS_COUNT_MIN, "{} sets", sets().len());
    for (name, rendering) in sets() {
        let path = record_path(name);
        let made = if WHOLE.contains(&name.as_str()) {
            rendering.text.clone()
        } else {
            difference(&rendering.text)
        };
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

/// The text of each object, by its kind and name.
fn objects(text: &str) -> BTreeMap<String, &str> {
    let texts = text.split("---\n").map(str::trim_end).filter(|object| !object.is_empty());
    let named = texts.map(|object| {
        let read = document::read(object).expect("it is YAML");
        let read = read.first().map(TreeNode::to_json).expect("it is an object");
        let part = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        (format!("{} {}", part(&read["kind"]), part(&read["metadata"]["name"])), object)
    });
    named.collect()
}

/// Returns what is otherwise than in [`BASE`], object by object.
fn difference(text: &str) -> String {
    let (these, usual) = (objects(text), objects(&set(BASE).text));
    let mut out = String::new();
    for what in these.keys().chain(usual.keys()).collect::<BTreeSet<_>>() {
        let of = |objects: &BTreeMap<String, &str>| {
            objects.get(what).copied().unwrap_or_default().to_owned()
        };
        let (old, new) = (of(&usual), of(&these));
        if old.is_empty() || new.is_empty() {
            let _ = writeln!(out, "{} {what}", if new.is_empty() { "Without" } else { "With" });
            for line in new.lines() {
                let _ = writeln!(out, "+{line}");
            }
        } else if old != new {
            let diff = TextDiff::from_lines(&old, &new);
            let _ = write!(out, "In {what}\n{}", diff.unified_diff().context_radius(1));
        }
    }
    out
}

#[test]
fn every_record_has_its_set() {
    for entry in fs::read_dir(root("tests/chart/golden")).expect("there are records") {
        let name = entry.expect("it can be listed").file_name().into_string().expect("a name");
        let is_known =
            sets().iter().any(|(set, _)| record_path(set).ends_with(&format!("/{name}")));
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

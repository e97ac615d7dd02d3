//! The four stages of a rollout, each a file of values in the chart: scan, audit, warn, deny.
//!
//! Not here: what the API server does in each (`tests/e2e`, `stages`).

use bindery::config::{Configuration, read};
use bindery::rules::mutations::MUTATIONS;
use bindery::rules::{Mode, RULES, Switch};
use serde_json::{Value, json};

use super::configuration::file;
use super::helm::{Rendering, rendered, set};

/// The rendering of a stage.
fn stage(name: &str) -> Rendering {
    rendered(&["--values", &format!("charts/bindery/values-{name}.yaml")])
}

fn configuration(rendering: &Rendering) -> Configuration {
    read(file(rendering), "config.yaml").unwrap_or_else(|error| panic!("{error}"))
}

/// The entries of both registrations.
fn entries(rendering: &Rendering) -> Vec<Value> {
    let kinds = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];
    let of_kind = |kind| rendering.object(kind, "rel-bindery")["webhooks"].as_array().cloned();
    kinds.into_iter().flat_map(|kind| of_kind(kind).expect("entries")).collect()
}

fn has_condition(entry: &Value, expression: &str) -> bool {
    let conditions = entry["matchConditions"].as_array().expect("conditions");
    conditions.iter().any(|one| one["expression"] == expression)
}

#[test]
fn scan_and_audit_deny_nothing_and_change_nothing() {
    for name in ["scan", "audit"] {
        let rendering = stage(name);
        let policy = configuration(&rendering).policy;
        assert!(RULES.iter().all(|rule| policy.mode(rule) == Mode::Audit), "{name}");
        assert!(MUTATIONS.iter().all(|one| policy.switch(one) == Switch::Off), "{name}");
        for entry in entries(&rendering) {
            assert_eq!(entry["failurePolicy"], "Ignore", "{name}: {}", entry["name"]);
            assert_eq!(has_condition(&entry, "false"), name == "scan", "{name}: {}", entry["name"]);
        }
    }
}

#[test]
fn warn_denies_nothing_and_depends_on_no_pod() {
    let rendering = stage("warn");
    let policy = configuration(&rendering).policy;
    assert!(RULES.iter().all(|rule| policy.mode(rule) != Mode::Deny));
    assert!(RULES.iter().any(|rule| policy.mode(rule) == Mode::Warn));
    assert!(entries(&rendering).iter().all(|entry| entry["failurePolicy"] == "Ignore"));
}

/// Who installs without values is protected as in the last stage.
#[test]
fn deny_is_what_the_chart_does_by_itself() {
    assert_eq!(stage("deny").text, set("defaults").text);
}

/// The profile counts more than what values say besides: an installation that observes must never deny a request because
/// its pods are away.
#[test]
fn the_profile_audit_fails_open_whatever_else_is_set() {
    let audit = ["--values", "tests/chart/sets/policy.yaml", "--set", "rules.profile=audit"];
    let rendering = rendered(&audit);
    for entry in entries(&rendering) {
        assert_eq!(entry["failurePolicy"], "Ignore", "{}", entry["name"]);
    }
    assert!(json!(entries(&rendering)).to_string().contains("'manual' == 'auto'"), "it labels PVs");
    let policy = configuration(&rendering).policy;
    assert!(MUTATIONS.iter().all(|one| policy.switch(one) == Switch::Off));
}

/// Nor because the API server cannot evaluate a policy.
#[test]
fn the_policies_of_the_profile_audit_fail_open() {
    let rendering = rendered(&["--set", "policies=beside,rules.profile=audit"]);
    let of_rules =
        |policy: &&&Value| policy["metadata"]["labels"]["app.kubernetes.io/component"] == "rules";
    let kind = "ValidatingAdmissionPolicy";
    let policies: Vec<_> =
        rendering.of_kind(kind).iter().copied().filter(|one| of_rules(&one)).collect();
    assert!(policies.len() >= 5, "{policies:?}");
    for policy in policies {
        assert_eq!(policy["spec"]["failurePolicy"], "Ignore", "{}", policy["metadata"]["name"]);
    }
}

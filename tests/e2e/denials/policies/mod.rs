//! The ValidatingAdmissionPolicies of `bindery generate policies` on a real API server, without the webhook.

mod audience;
mod how_to;
mod latency;
mod mutations;
mod page;
mod parameters;
mod random;
mod types;
mod verdicts;
mod volumes;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use bindery::rules::Mode;
use hyper::Method;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::rules::{Run, Stage, fire, shot};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Plane};
use crate::runner::{Case, alone, case};

use super::rules::Route;
use audience::a_policy_reads_random_marks_as_its_rule_does;
use bindery::rules::Send;
use how_to::the_page_denies_as_it_is_written;
use latency::policies_cost_a_request_less_than_the_webhook;
use mutations::mutating_policies_store_what_the_webhook_stores;
use parameters::volumes_as_parameters_cost_a_claim_by_their_number;
use random::policies_deny_random_changes_as_their_rules_do;
use types::the_types_of_every_expression_are_right;
use verdicts::each_policy_denies_what_its_form_says;
use volumes::policies_with_volumes_deny_what_their_rules_do;

pub(crate) const CASES: &[Case] = &[
    case!(each_policy_denies_what_its_form_says),
    case!(policies_with_volumes_deny_what_their_rules_do),
    case!(a_policy_reads_random_marks_as_its_rule_does),
    case!(the_page_denies_as_it_is_written),
    case!(the_types_of_every_expression_are_right),
    case!(policies_deny_random_changes_as_their_rules_do),
    case!(mutating_policies_store_what_the_webhook_stores),
    alone!(policies_cost_a_request_less_than_the_webhook),
    alone!(volumes_as_parameters_cost_a_claim_by_their_number),
];

/// The group of both kinds.
const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// Creates the policies under these modes, and returns them once they are in force.
pub(crate) fn apply(plane: &Plane, modes: &BTreeMap<&str, Mode>) -> Vec<Value> {
    apply_with(plane, modes, &[])
}

/// The same with more arguments of the command.
fn apply_with(plane: &Plane, modes: &BTreeMap<&str, Mode>, more: &[&str]) -> Vec<Value> {
    let items = generated(modes, more);
    // Backwards: the first is what is awaited.
    for item in items.iter().rev() {
        create(plane, item);
    }
    items
}

/// What the command prints.
fn generated(modes: &BTreeMap<&str, Mode>, more: &[&str]) -> Vec<Value> {
    let file = configuration(modes);
    let mut command = Command::new(env!("CARGO_BIN_EXE_bindery"));
    command.args(["generate", "policies", "-o", "json", "--config"]).arg(file.path()).args(more);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut list: Value = serde_json::from_slice(&output.stdout).unwrap();
    serde_json::from_value(list["items"].take()).unwrap()
}

/// A configuration with these modes.
fn configuration(modes: &BTreeMap<&str, Mode>) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let modes: BTreeMap<_, _> = modes.iter().map(|(id, mode)| (*id, mode.as_str())).collect();
    let text = json!({"apiVersion": "bindery.dev/v1", "kind": "Config", "rules": {"modes": modes}});
    std::fs::write(file.path(), text.to_string()).unwrap();
    file
}

/// Returns what `bindery doctor` says of the policies, where they were generated under these modes.
fn doctor(plane: &Plane, modes: &BTreeMap<&str, Mode>) -> String {
    let file = configuration(modes);
    let mut command = Command::new(env!("CARGO_BIN_EXE_bindery"));
    command.args(["doctor", "--policies=instead", "--without-controller", "--config"]);
    let output = command.arg(file.path()).arg("--kubeconfig").arg(plane.kubeconfig(ADMIN)).output();
    let report = String::from_utf8(output.unwrap().stdout).unwrap();
    let line = report.lines().find(|line| line.contains(" policies: "));
    line.unwrap_or_else(|| panic!("{report}")).to_owned()
}

/// Creates a policy or a binding.
fn create(plane: &Plane, item: &Value) {
    let path = path_of(item);
    let (collection, _) = path.rsplit_once('/').unwrap();
    plane.request(ADMIN, Method::POST, collection, Body::json(item)).expect_ok();
}

/// The path of a policy or a binding.
fn path_of(item: &Value) -> String {
    let collection = match item["kind"].as_str().unwrap() {
        "ValidatingAdmissionPolicy" => "validatingadmissionpolicies",
        "ValidatingAdmissionPolicyBinding" => "validatingadmissionpolicybindings",
        other => panic!("{other}"),
    };
    format!("{GROUP}/{collection}/{}", item["metadata"]["name"].as_str().unwrap())
}

/// Waits until the policy that was created last denies: once a second, the API server takes in all that its watches have
/// brought until then, which may be in the middle of them.
///
/// Kubernetes: `plugin/policy/generic/policy_source.go`, `refreshPolicies`.
fn await_force(stage: &mut Stage<'_>) {
    stage.set("pair pv-probe db/probe 1Gi RWO");
    eventually("the policies are in force", Duration::from_secs(30), || {
        let made = shot(stage, Send::Delete("pv/pv-probe"), Route::Delete).unwrap();
        let reply = fire(stage, ADMIN, made, Run::Dry);
        if reply.code == 403 { Ok(()) } else { Err(reply.to_string()) }
    });
}

/// The version in which the API server has `MutatingAdmissionPolicies`.
pub(crate) fn mutation_version(plane: &Plane) -> &'static str {
    let path = format!("{GROUP}/mutatingadmissionpolicies");
    if plane.get(ADMIN, &path).code == 404 { "v1beta1" } else { "v1" }
}

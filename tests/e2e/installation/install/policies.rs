//! The policies of the chart deny where nothing runs, and while the webhook is down; the doctor sees when they are edited.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use super::doctor;
use super::load::{BOUND, bind_a_pair};
use super::site::{CHART, NAME, Site, unclaimed_volume};
use crate::denials::policies::mutation_version;
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Plane, Reply};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] =
    &[case!(policies_deny_where_nothing_runs), case!(policies_deny_while_the_webhook_is_down)];

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// The policy that protects bound PVs.
const GUARD: &str = "bindery-guard-persistentvolumes-deny";

/// A policy that mutates.
const MUTATING: &str = "bindery-mutate-legacy-class-persistentvolumes";

const INSTEAD: &str = "policies=instead,controller.enabled=false";

/// What the doctor has to know of it.
const WITHOUT_PODS: &[&str] = &["--policies=instead", "--without-controller"];

fn policies_deny_where_nothing_runs() {
    let site = Site::empty();
    let mutations = mutation_version(site.plane);
    let values = format!("{INSTEAD},mutationPolicies={mutations}");
    site.helm(&["install", NAME, CHART, "-n", NAME, "--set", &values]);
    bind_a_pair(site.plane);
    await_denial(site.plane);
    until_denied("prebind-incomplete", || create_unclaimed(site.plane));
    let pods = site.plane.get(ADMIN, "/api/v1/pods").expect_ok();
    assert_eq!(pods["items"], json!([]));
    for kind in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        let registered = site.plane.get(ADMIN, &format!("{GROUP}/{kind}")).expect_ok();
        assert_eq!(registered["items"], json!([]), "{kind}");
    }
    let tested = site.helm(&["test", NAME, "-n", NAME, "--timeout", "1m"]);
    assert!(tested.contains("Succeeded"), "{tested}");
    the_doctor_sees_what_is_missing_or_edited_or_left_over(&site, mutations);
    site.helm(&["uninstall", NAME, "-n", NAME]);
    eventually("nothing denies", Duration::from_secs(30), || {
        let reply = delete_bound(site.plane);
        if reply.code == 200 { Ok(()) } else { Err(reply.to_string()) }
    });
}

fn the_doctor_sees_what_is_missing_or_edited_or_left_over(site: &Site, mutations: &str) {
    let (is_well, report) = doctor(site, WITHOUT_PODS);
    assert!(is_well && report.lines().all(|line| line.starts_with("ok ")), "{report}");
    let binding = format!("{GROUP}/validatingadmissionpolicybindings/{GUARD}");
    let policy = format!("{GROUP}/validatingadmissionpolicies/{GUARD}");
    let bad = |sentence: &str| {
        let (is_well, report) = doctor(site, WITHOUT_PODS);
        assert!(!is_well && report.contains(sentence), "{sentence}: {report}");
    };
    let patch = |path: &str, patch: Value| {
        site.plane.request(ADMIN, Method::PATCH, path, Body::merge_patch(&patch)).expect_ok();
    };
    let mut left = site.plane.get(ADMIN, &binding).expect_ok();
    left["metadata"] =
        json!({"name": format!("{GUARD}-x"), "labels": left["metadata"]["labels"].clone()});
    let bindings = format!("{GROUP}/validatingadmissionpolicybindings");
    site.plane.request(ADMIN, Method::POST, &bindings, Body::json(&left)).expect_ok();
    bad(&format!("ValidatingAdmissionPolicy {GUARD}-x is left over"));
    let left = format!("{bindings}/{GUARD}-x");
    let group = GROUP.trim_end_matches("v1");
    let mutating = format!("{group}{mutations}/mutatingadmissionpolicies/{MUTATING}");
    for path in [&left, &mutating] {
        site.plane.request(ADMIN, Method::DELETE, path, Body::none()).expect_ok();
    }
    bad(&format!("MutatingAdmissionPolicy {MUTATING} is missing;"));
    patch(&binding, json!({"spec": {"validationActions": ["Audit"]}}));
    bad(&format!("the binding of ValidatingAdmissionPolicy {GUARD} differs"));
    let selector = json!({"matchLabels": {"guarded": "yes"}});
    patch(&policy, json!({"spec": {"matchConstraints": {"objectSelector": selector}}}));
    bad(&format!("ValidatingAdmissionPolicy {GUARD} differs, the binding of"));
    for path in [&binding, &policy] {
        site.plane.request(ADMIN, Method::DELETE, path, Body::none()).expect_ok();
    }
    bad(&format!("ValidatingAdmissionPolicy {GUARD} is missing, the binding of"));
    // What the doctor says to do.
    let values = format!("{INSTEAD},mutationPolicies={mutations}");
    site.helm(&["upgrade", NAME, CHART, "-n", NAME, "--force-conflicts", "--set", &values]);
    let (is_well, report) = doctor(site, WITHOUT_PODS);
    assert!(is_well, "{report}");
    await_denial(site.plane);
}

fn policies_deny_while_the_webhook_is_down() {
    let site = Site::install(&["policies=beside", "webhook.guard.failurePolicy=Ignore"]);
    bind_a_pair(site.plane);
    await_denial(site.plane);
    let path = format!("/apis/apps/v1/namespaces/{NAME}/deployments/{NAME}");
    let none = Body::merge_patch(&json!({"spec": {"replicas": 0}}));
    site.plane.request(ADMIN, Method::PATCH, &path, none).expect_ok();
    eventually("its pods are gone", Duration::from_mins(1), || match site.pods().len() {
        0 => Ok(()),
        count => Err(format!("{count} are left")),
    });
    let reply = delete_bound(site.plane);
    assert!(is_denied(&reply, "bound-volume-delete"), "{reply}");
    assert!(reply.text.contains(&format!("ValidatingAdmissionPolicy '{GUARD}'")), "{reply}");
    // It is the policy alone that denies: without it the change passes.
    let binding = format!("{GROUP}/validatingadmissionpolicybindings/{GUARD}");
    site.plane.request(ADMIN, Method::DELETE, &binding, Body::none()).expect_ok();
    eventually("the change passes", Duration::from_secs(30), || {
        let reply = delete_bound(site.plane);
        if reply.code == 200 { Ok(()) } else { Err(reply.to_string()) }
    });
}

/// Deletes the bound volume, as a dry run.
fn delete_bound(plane: &Plane) -> Reply {
    let path = format!("/api/v1/persistentvolumes/{BOUND}?dryRun=All");
    plane.request(ADMIN, Method::DELETE, &path, Body::none())
}

/// Creates a volume with an incomplete claimRef, as a dry run.
fn create_unclaimed(plane: &Plane) -> Reply {
    let path = "/api/v1/persistentvolumes?dryRun=All";
    plane.request(ADMIN, Method::POST, path, Body::json(&unclaimed_volume()))
}

fn is_denied(reply: &Reply, rule: &str) -> bool {
    let is_by_policy = reply.text.contains("ValidatingAdmissionPolicy");
    matches!(reply.code, 403 | 422) && is_by_policy && reply.text.contains(&format!("[{rule}] "))
}

/// Waits until the policy of guard denies.
fn await_denial(plane: &Plane) {
    until_denied("bound-volume-delete", || delete_bound(plane));
}

/// Waits until a policy denies a request by this rule. Each policy is waited for: the API server may take in some of them a
/// second before the others.
fn until_denied(rule: &str, request: impl Fn() -> Reply) {
    eventually(&format!("{rule} is in force"), Duration::from_secs(30), || {
        let reply = request();
        if is_denied(&reply, rule) { Ok(()) } else { Err(reply.to_string()) }
    });
}

//! The account that issues the certificates writes `caBundle` into the registrations, and can change nothing else of them.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use super::doctor;
use super::site::{NAME, Site};
use crate::eventually::eventually;
use crate::plane::Body;
use crate::plane::persona::ADMIN;
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(the_account_of_the_certificates_changes_ca_bundle_only)];

/// The account of the pods, under which a stolen token would act.
const ACCOUNT: &str = "system:serviceaccount:bindery:bindery";

/// What somebody might do with the right to patch a registration, as JSON patches; much of it to the entry of this place.
fn misuses(place: usize) -> Vec<Value> {
    let operation = |op: &str, path: &str, value: Value| {
        let path = path.replace("/webhooks/N", &format!("/webhooks/{place}"));
        json!([{"op": op, "path": path, "value": value}])
    };
    let replace = |path: &str, value: Value| operation("replace", path, value);
    let add = |path: &str, value: Value| operation("add", path, value);
    let elsewhere = json!({"url": "https://example.com/steal"});
    vec![
        replace("/webhooks/N/clientConfig", elsewhere),
        replace("/webhooks/N/clientConfig/service/name", json!("other")),
        replace("/webhooks/N/clientConfig/service/namespace", json!("other")),
        replace("/webhooks/N/clientConfig/service/path", json!("/other")),
        replace("/webhooks/N/clientConfig/service/port", json!(8443)),
        replace("/webhooks/N/rules/0/resources", json!(["secrets"])),
        replace("/webhooks/N/failurePolicy", json!("Ignore")),
        replace("/webhooks/N/matchConditions/0/expression", json!("false")),
        replace("/webhooks/N/timeoutSeconds", json!(30)),
        add("/webhooks/N/namespaceSelector", json!({"matchLabels": {"a": "b"}})),
        add("/metadata/labels/other", json!("x")),
        add("/metadata/finalizers", json!(["example.com/kept"])),
        json!([{"op": "remove", "path": "/webhooks/0"}]),
        json!([{"op": "move", "from": "/webhooks/0", "path": "/webhooks/1"}]),
    ]
}

/// The place of an entry that fails closed.
fn fails_closed(site: &Site, kind: &str) -> usize {
    let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}s/{NAME}");
    let object = site.plane.get(ADMIN, &path).expect_ok();
    let entries = object["webhooks"].as_array().expect("entries");
    entries.iter().position(|entry| entry["failurePolicy"] == "Fail").expect("one")
}

fn the_account_of_the_certificates_changes_ca_bundle_only() {
    // Entries that fail closed and open have both policies to misuse.
    let site = Site::install(&["webhook.mutate.failurePolicy=Fail"]);
    // Renewed by the controller under the policy, or there would have been no denial.
    assert!(site.bundle().is_some_and(|bundle| bundle.contains("BEGIN CERTIFICATE")));
    for kind in ["validatingwebhookconfiguration", "mutatingwebhookconfiguration"] {
        let patch = |who: Option<&str>, patch: &Value| {
            let patch = patch.to_string();
            let who = who.map(|who| format!("--as={who}"));
            let arguments = ["patch", kind, NAME, "--type=json", "--dry-run=server", "-p", &patch];
            let arguments = [&arguments[..], who.as_deref().as_slice()].concat();
            site.plane.kubectl(ADMIN, &arguments, "")
        };
        let bundle = json!([{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": "YQ=="}]);
        let misuses = misuses(fails_closed(&site, kind));
        eventually("the policy is in force", Duration::from_secs(30), || {
            let output = patch(Some(ACCOUNT), &misuses[0]);
            if output.code == 0 { Err(format!("{output:?}")) } else { Ok(()) }
        });
        for misuse in &misuses {
            let output = patch(Some(ACCOUNT), misuse);
            let is_denied =
                output.code != 0 && output.stderr.contains("may change caBundle of the webhook");
            assert!(is_denied, "{kind}: {misuse}: {output:?}");
            // An administrator may: what is wrong with the patch is who sends it.
            let other = patch(None, misuse);
            assert_eq!(other.code, 0, "{kind}: {misuse}: {other:?}");
        }
        let allowed = patch(Some(ACCOUNT), &bundle);
        assert_eq!(allowed.code, 0, "{kind}: {allowed:?}");
    }
    the_doctor_sees_that_the_account_is_not_held(&site);
}

fn the_doctor_sees_that_the_account_is_not_held(site: &Site) {
    site.await_closed();
    let (is_well, report) = doctor(site, &[]);
    assert!(is_well && report.contains("bindery-answering, bindery-ca-bundle deny"), "{report}");
    let binding = |name: &str| {
        format!("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/{name}")
    };
    let audit = Body::merge_patch(&json!({"spec": {"validationActions": ["Audit"]}}));
    site.plane.request(ADMIN, Method::PATCH, &binding("bindery-answering"), audit).expect_ok();
    let (is_well, report) = doctor(site, &[]);
    let found = "bindery-answering is missing or edited, so that this account may create any";
    assert!(!is_well && report.contains(found), "{report}");
    let found = "bindery-ca-bundle is missing or edited, so that this account may send admission";
    let policy =
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/bindery-ca-bundle";
    let never =
        json!({"spec": {"matchConditions": [{"name": "own-account", "expression": "false"}]}});
    site.plane.request(ADMIN, Method::PATCH, policy, Body::merge_patch(&never)).expect_ok();
    let (is_well, report) = doctor(site, &[]);
    assert!(!is_well && report.contains(found), "{report}");
    let path = binding("bindery-ca-bundle");
    site.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
    let (is_well, report) = doctor(site, &[]);
    assert!(!is_well && report.contains(found), "{report}");
}

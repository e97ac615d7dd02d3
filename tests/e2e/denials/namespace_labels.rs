//! Who may label a namespace, and what of it waits for a webhook: on a real API server, whose authorizer decides.
//!
//! Not here: each way of writing one label, beside the other rules (`rules`).

use std::time::Duration;

use bindery::model::annotations::TENANT;
use bindery::model::{Selector, Term};
use bindery::rules::{Mode, Override, Policy};
use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::installed::{Installed, Registered};
use crate::plane::persona::{ADMIN, NAMESPACE_ADMIN, NAMESPACE_CONTROLLER, PLATFORM};
use crate::plane::{Body, Peers, Persona, Plane, Reply};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] =
    &[case!(only_who_may_write_volumes_sets_a_label_that_rules_rest_on)];

const NAMESPACES: &str = "/api/v1/namespaces";

/// A label by which this policy selects.
const TEAM: &str = "example.com/team";

/// One by which nothing selects.
const OTHER: &str = "example.com/floor";

fn only_who_may_write_volumes_sets_a_label_that_rules_rest_on() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let mut policy = Policy::default();
    policy.override_modes(vec![Override {
        namespaces: Selector::new(vec![Term::equals(TEAM, "qa").unwrap()]),
        modes: [("bound-volume-delete".to_owned(), Mode::Off)].into(),
    }]);
    let installed = Installed::under(policy, &plane, Registered::Everything);
    let labels = json!({TENANT: "red", TEAM: "db", OTHER: "1"});
    create(&plane, ADMIN, "red", &labels, "").expect_ok();
    eventually("the API server asks tenancy", Duration::from_secs(20), || {
        let reply =
            create(&plane, NAMESPACE_ADMIN, "probe", &json!({TENANT: "red"}), "?dryRun=All");
        if reply.code == 403 { Ok(()) } else { Err(reply.to_string()) }
    });

    let unasked = asked(&installed);
    everything_else(&plane, "unasked");
    for who in [ADMIN, PLATFORM] {
        for change in [json!({TENANT: "blue"}), json!({TENANT: "red", TEAM: "db"})] {
            labelled(&plane, who, &change).expect_ok();
        }
    }
    assert_eq!(asked(&installed), unasked, "a webhook was asked about another label");

    denied(&plane);
    assert_ne!(asked(&installed), unasked, "no webhook was asked");

    drop(installed);
    for reply in attempts(&plane) {
        assert_eq!(reply.code, 500, "{reply}");
        assert!(reply.text.contains("failed calling webhook"), "{reply}");
    }
    everything_else(&plane, "away");
    labelled(&plane, ADMIN, &json!({TENANT: "blue"})).expect_ok();
    end(&plane, "red");
}

/// Each attempt is denied by the rule, and changes nothing.
fn denied(plane: &Plane) {
    let before = plane.get(ADMIN, &path("red")).expect_ok();
    for reply in attempts(plane) {
        assert_eq!(reply.code, 403, "{reply}");
        assert!(reply.text.contains("[namespace-tenant-label] label "), "{reply}");
    }
    assert_eq!(plane.get(ADMIN, &path("red")).expect_ok(), before);
    for name in ["new", "applied"] {
        assert_eq!(plane.get(ADMIN, &path(name)).code, 404, "{name} was made");
    }
}

/// Returns what a user tries who may write namespaces and no volumes, by each request that can write a label.
fn attempts(plane: &Plane) -> Vec<Reply> {
    let mut replies = Vec::new();
    for (key, value) in [(TENANT, "blue"), (TEAM, "qa")] {
        let label = json!({key: value});
        replies.push(create(plane, NAMESPACE_ADMIN, "new", &label, ""));
        replies.push(applied(plane, "applied", &label));
        replies.push(applied(plane, "red", &label));
        replies.push(labelled(plane, NAMESPACE_ADMIN, &label));
        replies.push(labelled(plane, NAMESPACE_ADMIN, &json!({key: null})));
        let pointer = key.replace('/', "~1");
        let operations = json!([{"op": "replace", "path": format!("/metadata/labels/{pointer}"), "value": value}]);
        let body = Body::raw("application/json-patch+json", operations.to_string());
        replies.push(plane.request(NAMESPACE_ADMIN, Method::PATCH, &path("red"), body));
        let patch = Body::merge_patch(&json!({"metadata": {"labels": label}}));
        let status = format!("{}/status", path("red"));
        replies.push(plane.request(NAMESPACE_ADMIN, Method::PATCH, &status, patch));
        for part in ["", "/status", "/finalize"] {
            replies.push(put(plane, part, &label));
            replies.push(put(plane, part, &json!({key: null})));
        }
    }
    replies
}

/// What the same person does with namespaces otherwise, with or without a webhook.
fn everything_else(plane: &Plane, name: &str) {
    create(plane, NAMESPACE_ADMIN, name, &json!({OTHER: "2"}), "").expect_ok();
    applied(plane, name, &json!({OTHER: "3"})).expect_ok();
    labelled(plane, NAMESPACE_ADMIN, &json!({OTHER: name})).expect_ok();
    for part in ["", "/status", "/finalize"] {
        put(plane, part, &json!({OTHER: format!("{name}-put")})).expect_ok();
    }
    end(plane, name);
}

/// Deletes a namespace and ends it as its controller does.
fn end(plane: &Plane, name: &str) {
    plane.request(ADMIN, Method::DELETE, &path(name), Body::none()).expect_ok();
    let mut stored = plane.get(ADMIN, &path(name)).expect_ok();
    stored["spec"]["finalizers"] = json!([]);
    let finalize = format!("{}/finalize", path(name));
    plane.request(NAMESPACE_CONTROLLER, Method::PUT, &finalize, Body::json(&stored)).expect_ok();
    assert_eq!(plane.get(ADMIN, &path(name)).code, 404);
}

fn create(plane: &Plane, who: Persona, name: &str, labels: &Value, query: &str) -> Reply {
    let object = json!({"metadata": {"name": name, "labels": labels}});
    plane.request(who, Method::POST, &format!("{NAMESPACES}{query}"), Body::json(&object))
}

fn applied(plane: &Plane, name: &str, labels: &Value) -> Reply {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
    let path = format!("{}?fieldManager=e2e&force=true", path(name));
    let body = Body::raw("application/apply-patch+yaml", object.to_string());
    plane.request(NAMESPACE_ADMIN, Method::PATCH, &path, body)
}

fn labelled(plane: &Plane, who: Persona, labels: &Value) -> Reply {
    let patch = json!({"metadata": {"labels": labels}});
    plane.request(who, Method::PATCH, &path("red"), Body::merge_patch(&patch))
}

/// Replaces a part of the namespace `red` by itself with these labels.
fn put(plane: &Plane, part: &str, labels: &Value) -> Reply {
    let mut stored = plane.get(ADMIN, &path("red")).expect_ok();
    json_patch::merge(&mut stored, &json!({"metadata": {"labels": labels}}));
    let path = format!("{}{part}", path("red"));
    plane.request(NAMESPACE_ADMIN, Method::PUT, &path, Body::json(&stored))
}

fn path(name: &str) -> String {
    format!("{NAMESPACES}/{name}")
}

/// Returns how many reviews the entry has answered with yes, and how many with no.
fn asked(installed: &Installed) -> [String; 2] {
    ["allowed", "denied"].map(|decision| {
        let labels = format!("{{decision=\"{decision}\",path=\"/validate/tenancy\"}}");
        installed.metric(&format!("bindery_admission_requests_total{labels}")).to_string()
    })
}

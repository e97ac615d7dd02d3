//! Attacks that once worked on a live installation, on a real API server beside Kubernetes' own binder.
//!
//! Not here: the same without a cluster (`tests/webhook/attacks`, `tests/webhook/wire/large`).

use std::time::Duration;

use bindery::rules::Unlisted;
use bindery::rules::mutations::all_on;
use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::installed::{Installed, Registered};
use crate::plane::persona::{ADMIN, ARRANGER, NEIGHBOUR, Persona, STORAGE_ADMIN, TENANT};
use crate::plane::{Body, Peers, Plane, Reply};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(attacks_that_worked_are_denied)];

const VOLUMES: &str = "/api/v1/persistentvolumes";
const CLAIMS: &str = "/api/v1/namespaces/red/persistentvolumeclaims";

fn attacks_that_worked_are_denied() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let mut policy = all_on();
    policy.parameters.unlisted = Unlisted::Deny;
    let _installed = Installed::under(policy, &plane, Registered::Everything);
    let namespace = json!({"metadata": {"name": "red", "labels": {"bindery.dev/tenant": "red"}}});
    post(&plane, ARRANGER, "/api/v1/namespaces", &namespace).expect_ok();
    for name in ["pv-bound", "pv-blue"] {
        let tenant = if name == "pv-blue" { "blue" } else { "red" };
        post(&plane, ARRANGER, VOLUMES, &volume(name, tenant)).expect_ok();
    }
    post(&plane, ARRANGER, CLAIMS, &claim("bound", &json!({"volumeName": "pv-bound"}))).expect_ok();
    eventually("the pair is bound", Duration::from_secs(20), || {
        let volume = plane.get(ADMIN, &format!("{VOLUMES}/pv-bound")).json;
        if volume["status"]["phase"] == "Bound" { Ok(()) } else { Err(volume.to_string()) }
    });
    await_rules(&plane);

    long_selector(&plane);
    slow_owners(&plane);
    neighbour_of_the_control_plane(&plane);
    unreadable_owner(&plane);
    terminating(&plane);
}

/// 8,192 expressions do not hide what the claim names.
fn long_selector(plane: &Plane) {
    let expression =
        |number: usize| json!({"key": format!("k{number}"), "operator": "DoesNotExist"});
    let selector = json!({"matchExpressions": (0..8_192).map(expression).collect::<Value>()});
    let named = claim("long", &json!({"volumeName": "pv-blue", "selector": selector}));
    denied(&post(plane, TENANT, CLAIMS, &named), "prebind-taken");
    let mut forged = claim("long", &json!({"selector": selector}));
    forged["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
    let made = post(plane, TENANT, CLAIMS, &forged).expect_ok();
    assert_eq!(made.pointer("/metadata/annotations/pv.kubernetes.io~1bind-completed"), None);
    let tenant = made.pointer("/spec/selector/matchLabels/bindery.dev~1tenant");
    assert_eq!(tenant, Some(&json!("red")));
    // It is no burden: it can be labelled and deleted.
    let path = format!("{CLAIMS}/long");
    merge(plane, TENANT, &path, &json!({"metadata": {"labels": {"a": "b"}}})).expect_ok();
    plane.request(TENANT, Method::DELETE, &path, Body::none()).expect_ok();
}

/// A living `ConfigMap` and 4,000 absent namespaces: looking at them took longer than `advise` waits.
fn slow_owners(plane: &Plane) {
    let config_map = json!({"metadata": {"name": "alive"}});
    let made = post(plane, TENANT, "/api/v1/namespaces/red/configmaps", &config_map).expect_ok();
    let living = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "alive", "uid": made["metadata"]["uid"]});
    let absent = |number: usize| json!({"apiVersion": "v1", "kind": "Namespace", "name": format!("absent-{number}"), "uid": format!("absent-{number}")});
    let owners = std::iter::once(living).chain((0..4_000).map(absent)).collect::<Value>();
    let mut named = claim("slow", &json!({"volumeName": "pv-blue"}));
    named["metadata"]["ownerReferences"] = owners;
    denied(&post(plane, TENANT, CLAIMS, &named), "prebind-taken");
}

/// Another account in kube-system: the phase that it would write opens the way for its deletion.
fn neighbour_of_the_control_plane(plane: &Plane) {
    let path = format!("{VOLUMES}/pv-bound");
    let phase = json!({"status": {"phase": "Available"}});
    denied(&merge(plane, NEIGHBOUR, &format!("{path}/status"), &phase), "status-forgery");
    let reply = plane.request(NEIGHBOUR, Method::DELETE, &path, Body::none());
    denied(&reply, "bound-volume-delete");
}

/// The webhook may not read a `ClusterRole`: whether one lives it does not know.
fn unreadable_owner(plane: &Plane) {
    let owner = json!({"metadata": {"ownerReferences": [{"apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole", "name": "absent", "uid": "absent"}]}});
    for part in ["", "/status"] {
        let reply = merge(plane, STORAGE_ADMIN, &format!("{VOLUMES}/pv-bound{part}"), &owner);
        denied(&reply, "orphan-owner");
    }
}

/// A bound volume that is being deleted stays its claim's until that is gone.
fn terminating(plane: &Plane) {
    let path = format!("{VOLUMES}/pv-bound");
    plane.request(ARRANGER, Method::DELETE, &path, Body::none()).expect_ok();
    let reply = merge(plane, STORAGE_ADMIN, &path, &json!({"spec": {"claimRef": null}}));
    denied(&reply, "bound-volume-claim-ref");
    let volume = plane.get(ADMIN, &path).expect_ok();
    assert!(volume["metadata"]["deletionTimestamp"].is_string(), "{volume}");
    assert_eq!(volume["spec"]["claimRef"]["name"], "bound", "{volume}");
}

fn denied(reply: &Reply, rule: &str) {
    let text = reply.json["message"].as_str().unwrap_or_default();
    assert!(reply.code == 403 && text.contains(&format!("[{rule}] ")), "{reply}");
}

fn volume(name: &str, tenant: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"bindery.dev/tenant": tenant}},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "nfs": {"server": "nfs.example.com", "path": format!("/{name}")},
        },
    })
}

fn claim(name: &str, overlay: &Value) -> Value {
    let mut spec = json!({
        "accessModes": ["ReadWriteOnce"], "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
    });
    json_patch::merge(&mut spec, overlay);
    json!({"metadata": {"name": name}, "spec": spec})
}

fn post(plane: &Plane, who: Persona, path: &str, object: &Value) -> Reply {
    plane.request(who, Method::POST, path, Body::json(object))
}

fn merge(plane: &Plane, who: Persona, path: &str, patch: &Value) -> Reply {
    plane.request(who, Method::PATCH, path, Body::merge_patch(patch))
}

/// A registration takes effect within about a second.
fn await_rules(plane: &Plane) {
    let path = format!("{CLAIMS}?dryRun=All");
    let named = claim("probe", &json!({"volumeName": "pv-blue"}));
    eventually("the API server asks advise", Duration::from_secs(20), || {
        let reply = post(plane, TENANT, &path, &named);
        if reply.code == 403 { Ok(()) } else { Err(reply.to_string()) }
    });
}

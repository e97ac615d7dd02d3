//! Volumes that are labelled with the tenant for whose claim they are reserved (`tenancy.label: auto`), beside
//! Kubernetes' own binder: what is cleared goes to no other tenant.
//!
//! Not here: the same beside a provisioner (`provisioners::labelled`), and what our controller does (`tests/simulation/controller/tenancy`).

use std::time::Duration;

use bindery::model::TenantLabel;
use bindery::model::annotations::TENANT;
use bindery::rules::mutations::all_on;
use bindery::rules::{Policy, Unlisted};
use hyper::Method;
use serde_json::{Value, json};

use super::tenancy::{SETTLE, bound_to, claim, holders, send, volume, volume_of};
use crate::eventually::{eventually, wait};
use crate::installed::{Installed, Registered};
use crate::plane::persona::{ADMIN, TENANT as TENANT_USER};
use crate::plane::{Body, Peers, Plane};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(a_volume_that_is_cleared_goes_to_no_other_tenant),
    case!(what_is_cleared_serves_its_tenant_under_the_strictest_settings),
    case!(the_line_of_the_page_labels_what_is_bound_already),
];

const DENIED: &str =
    "bindery_rule_results_total{result=\"denied\",rule=\"foreign-namespace-binding\"}";

/// The longest wait: a binder looks again each second.
const PATIENCE: Duration = Duration::from_secs(30);

fn labelling() -> Policy {
    let mut policy = Policy::default();
    policy.label_volumes(TenantLabel::Auto);
    policy
}

fn namespaces(plane: &Plane) {
    for (name, tenant) in [("blue-1", "blue"), ("blue-2", "blue"), ("evil", "red"), ("none", "")] {
        let labels = if tenant.is_empty() { json!({}) } else { json!({TENANT: tenant}) };
        let namespace = json!({"metadata": {"name": name, "labels": labels}});
        send(plane, "/api/v1/namespaces", &namespace).expect_ok();
    }
}

fn path(volume: &str) -> String {
    format!("/api/v1/persistentvolumes/{volume}")
}

fn tenant_of(plane: &Plane, volume: &str) -> Value {
    plane.get(ADMIN, &path(volume)).expect_ok()["metadata"]["labels"][TENANT].clone()
}

fn patch(plane: &Plane, path: &str, patch: &Value) -> crate::plane::Reply {
    plane.request(ADMIN, Method::PATCH, path, Body::merge_patch(patch))
}

/// The registrations are in force, and the webhook has seen the namespaces. Leaves nothing behind.
fn await_labels(plane: &Plane) {
    volume_of(plane, "probe", "no-claim-has-it", &json!({}));
    let dry = format!("{}?dryRun=All", path("probe"));
    let reserve = |tenant| {
        json!({"metadata": {"labels": {TENANT: tenant}},
            "spec": {"claimRef": {"namespace": "blue-2", "name": "x"}}})
    };
    eventually("the API server asks mutate and tenancy", PATIENCE, || {
        let labelled = patch(plane, &dry, &reserve(Value::Null));
        let denied = patch(plane, &dry, &reserve(json!("red")));
        let is_labelled = labelled.json["metadata"]["labels"][TENANT] == "blue";
        if is_labelled && denied.code == 403 { Ok(()) } else { Err(format!("{labelled} {denied}")) }
    });
    plane.request(ADMIN, Method::DELETE, &path("probe"), Body::none()).expect_ok();
}

/// A tenant deletes its claim; then an administrator clears the reservation of the volume.
fn free(plane: &Plane, namespace: &str, name: &str, volume: &str) {
    let claim = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}");
    plane.request(TENANT_USER, Method::DELETE, &claim, Body::none()).expect_ok();
    eventually("the volume is released", PATIENCE, || {
        let volume = plane.get(ADMIN, &path(volume)).json;
        if volume["status"]["phase"] == "Released" { Ok(()) } else { Err(volume.to_string()) }
    });
    patch(plane, &path(volume), &json!({"spec": {"claimRef": null}})).expect_ok();
}

fn a_volume_that_is_cleared_goes_to_no_other_tenant() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let installed = Installed::under(labelling(), &plane, Registered::Everything);
    namespaces(&plane);
    await_labels(&plane);

    volume(&plane, "pv-a", &json!({"labels": {"tier": "gold"}}));
    claim(&plane, "blue-1", "data", &json!({})).expect_ok();
    bound_to(&plane, "blue-1", "data", "pv-a");
    assert_eq!(tenant_of(&plane, "pv-a"), "blue", "the binder's reservation is labelled");
    let object = plane.get(ADMIN, &path("pv-a")).expect_ok();
    assert_eq!(object["metadata"]["labels"]["tier"], "gold");

    for other in ["evil", "none"] {
        claim(&plane, other, "data", &json!({})).expect_ok();
    }
    free(&plane, "blue-1", "data", "pv-a");
    eventually("the binder tries to give it to another", PATIENCE, || {
        if installed.metric(DENIED) > 0.0 {
            Ok(())
        } else {
            Err("no request was denied".to_owned())
        }
    });
    wait(SETTLE);
    assert!(!holders(&plane).contains_key("pv-a"), "{:?}", holders(&plane));
    claim(&plane, "blue-2", "data", &json!({})).expect_ok();
    bound_to(&plane, "blue-2", "data", "pv-a");
    assert_eq!(tenant_of(&plane, "pv-a"), "blue");

    // Of a namespace without a tenant the volume stays unlabelled, and is free for any tenant afterwards.
    volume(&plane, "pv-b", &json!({}));
    bound_to_one_of(&plane, "pv-b");
    assert_eq!(tenant_of(&plane, "pv-b"), holder_tenant(&plane, "pv-b"));
}

/// One of the waiting claims gets the volume.
fn bound_to_one_of(plane: &Plane, volume: &str) {
    eventually("a waiting claim gets it", PATIENCE, || {
        let holders = holders(plane);
        if holders.contains_key(volume) { Ok(()) } else { Err(format!("{holders:?}")) }
    });
}

fn holder_tenant(plane: &Plane, volume: &str) -> Value {
    match holders(plane).get(volume).map(String::as_str) {
        Some("evil") => json!("red"),
        _ => Value::Null,
    }
}

/// Claims select their tenant's volumes, and may name no volume without a mark: what a person reserved for a claim of
/// the tenant passes both, for another namespace of the tenant as well.
fn what_is_cleared_serves_its_tenant_under_the_strictest_settings() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let mut policy = all_on();
    policy.parameters.unlisted = Unlisted::Deny;
    let _installed = Installed::under(policy, &plane, Registered::Everything);
    namespaces(&plane);
    await_labels(&plane);

    for volume in ["pv-a", "pv-b"] {
        reserved(&plane, volume);
        assert_eq!(tenant_of(&plane, volume), "blue");
        claim(&plane, "blue-1", volume, &json!({})).expect_ok();
        bound_to(&plane, "blue-1", volume, volume);
    }
    claim(&plane, "evil", "any", &json!({})).expect_ok();
    for volume in ["pv-a", "pv-b"] {
        free(&plane, "blue-1", volume, volume);
        let denied = claim(&plane, "evil", volume, &json!({"volumeName": volume}));
        assert_eq!(denied.code, 403, "{denied}");
    }
    wait(SETTLE);
    assert_eq!(holders(&plane).len(), 0, "{:?}", holders(&plane));
    claim(&plane, "blue-2", "named", &json!({"volumeName": "pv-b"})).expect_ok();
    bound_to(&plane, "blue-2", "named", "pv-b");
    let matched = claim(&plane, "blue-2", "matched", &json!({})).expect_ok();
    assert_eq!(matched["spec"]["selector"]["matchLabels"][TENANT], "blue", "{matched}");
    bound_to(&plane, "blue-2", "matched", "pv-a");
}

/// A volume that an administrator makes for the claim of its name.
fn reserved(plane: &Plane, name: &str) {
    let reference = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "namespace": "blue-1", "name": name});
    let object = json!({
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "nfs": {"server": "nfs.example.com", "path": format!("/{name}")}, "claimRef": reference,
        },
    });
    send(plane, "/api/v1/persistentvolumes", &object).expect_ok();
}

/// The command of `docs/explanation/security.md`, as a person pastes it.
fn the_line_of_the_page_labels_what_is_bound_already() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    namespaces(&plane);
    let listed = json!({"annotations": {"bindery.dev/allowed-namespaces": "blue-1"}});
    for (name, namespace, metadata) in [
        ("pv-blue", "blue-1", json!({})),
        ("pv-red", "evil", json!({})),
        ("pv-none", "none", json!({})),
        ("pv-listed", "blue-1", listed),
        ("pv-other", "blue-1", json!({"labels": {TENANT: "green"}})),
    ] {
        volume(&plane, name, &metadata);
        claim(&plane, namespace, name, &json!({"volumeName": name})).expect_ok();
        bound_to(&plane, namespace, name, name);
    }
    volume(&plane, "pv-free", &json!({}));
    let page = include_str!("../../../docs/explanation/security.md");
    let block = page.split("```\n").find(|block| block.starts_with("kubectl get pv --selector"));
    let script = block.expect("the page has the command");
    let programs = format!("{}:/usr/local/bin:/usr/bin:/bin", plane.binaries().display());
    let output = std::process::Command::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .env("PATH", programs)
        .env("HOME", plane.home())
        .env("KUBECONFIG", plane.kubeconfig(ADMIN))
        .output()
        .expect("bash runs");
    assert!(output.status.success(), "{output:?}");
    for (name, tenant) in [
        ("pv-blue", json!("blue")),
        ("pv-red", json!("red")),
        ("pv-none", Value::Null),
        ("pv-listed", Value::Null),
        ("pv-other", json!("green")),
        ("pv-free", Value::Null),
    ] {
        assert_eq!(tenant_of(&plane, name), tenant, "{name}: {output:?}");
    }
}

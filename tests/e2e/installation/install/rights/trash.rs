//! The controller with the trash: each right that it has for the trash is used, and no other is had.
//!
//! No controller of Kubernetes binds here; the case writes the phases.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use super::local::{apply, apply_again};
use super::{Right, Rights, granted, sweep, unused};
use crate::controller::{Controller, Election};
use crate::eventually::eventually;
use crate::installation::install::site::NAME;
use crate::moves::bindery;
use crate::network;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Objects, Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

const ACCOUNT: &str = "bindery-controller";

const CONFIGURATION: &str = "apiVersion: bindery.dev/v1\nkind: Config\ntrash: {keep: 1h}\n";

const PATIENCE: Duration = Duration::from_secs(30);

/// Its case.
pub(super) const TRASH_RIGHTS: Case = case!(the_trash_needs_what_the_chart_adds_for_it_and_no_more);

fn the_trash_needs_what_the_chart_adds_for_it_and_no_more() {
    network::expect_own();
    let plane = Plane::start(Peers::AuditedCluster).unwrap_or_else(|error| panic!("{error}"));
    let (values, template) = (
        "controller.mode=observe,controller.placement=deployment,certs.mode=certManager",
        ["rbac-controller.yaml"],
    );
    apply(&plane, "restricted", values, &template);
    let before = granted(&plane, &[ACCOUNT]);
    apply_again(&plane, &format!("{values},trash.enabled=true"), &template);
    let granted = granted(&plane, &[ACCOUNT]);
    let added = added(&before, &granted);
    expect_few(&added);
    let objects = plane.objects("trash");
    let controller = start(&plane);
    lives_of_volumes(&plane, &objects);
    deletions(&plane, &objects);
    eventually("every right was used", Duration::from_mins(1), || {
        let unused = unused(&plane, &added);
        if unused.is_empty() { Ok(()) } else { Err(format!("{unused}{}", controller.log())) }
    });
    assert!(!controller.log().contains("is forbidden"), "{}", controller.log());
    drop(controller);
    let denied = sweep(&plane, &granted);
    assert!(denied >= 250, "{denied}");
}

/// What is granted now and was not before.
fn added(before: &Rights, now: &Rights) -> Rights {
    let added = |account: &String| now[account].difference(&before[account]).cloned().collect();
    now.keys().map(|account| (account.clone(), added(account))).collect()
}

/// Volumes may be changed, and one `ConfigMap` of its own namespace.
#[track_caller]
fn expect_few(added: &Rights) {
    let named = |right: &Right| {
        let name = right.name.as_deref().unwrap_or("*");
        format!("{} {} {name}", right.verb, right.resource)
    };
    let named: Vec<String> = added[ACCOUNT].iter().map(named).collect();
    let expected = [
        "create configmaps bindery-deleted-volumes",
        "get configmaps bindery-deleted-volumes",
        "patch configmaps bindery-deleted-volumes",
        "patch persistentvolumes *",
    ];
    assert_eq!(named, expected);
    let is_own = |right: &Right| right.resource != "configmaps" || right.namespace.is_some();
    assert!(added[ACCOUNT].iter().all(is_own), "{added:?}");
}

fn start(plane: &Plane) -> Controller {
    let file = plane.home().join("trash.yaml");
    std::fs::write(&file, CONFIGURATION).unwrap();
    let more = ["--config", file.to_str().unwrap(), "--lease-namespace", NAME];
    let more = [&more[..], &["--lease-name", "bindery-controller"]].concat();
    Controller::keeping(&plane.account_kubeconfig(NAME, ACCOUNT), Election::Lease, &more)
}

fn patch(plane: &Plane, path: &str, patch: &Value) {
    plane.request(ADMIN, Method::PATCH, path, Body::merge_patch(patch)).expect_ok();
}

fn delete(plane: &Plane, path: &str) {
    plane.request(ADMIN, Method::DELETE, path, Body::none()).expect_ok();
}

fn until(plane: &Plane, volume: &str, what: &str, is_so: impl Fn(&Value, &Value) -> bool) {
    eventually(&format!("{volume}: {what}"), PATIENCE, || {
        let volume = plane.get(ADMIN, &volume_path(volume)).expect_ok();
        let record = volume.pointer("/metadata/annotations/bindery.dev~1trash");
        let record = record.and_then(Value::as_str).unwrap_or("null");
        let record: Value = serde_json::from_str(record).unwrap();
        if is_so(&volume, &record) { Ok(()) } else { Err(volume.to_string()) }
    });
}

/// One is held, gets into the trash, stays longer, and is let go: each with its event in the namespace.
fn lives_of_volumes(plane: &Plane, objects: &Objects<'_>) {
    let name = objects.name("data");
    objects.bound_pair("data", &of_a_driver(&name), &json!({}));
    until(plane, &name, "it is held", |volume, record| {
        record.is_object() && volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    });
    delete(plane, &claim_path(objects.namespace(), "data"));
    let status = json!({"status": {"phase": "Released"}});
    patch(plane, &format!("{}/status", volume_path(&name)), &status);
    until(plane, &name, "it is in the trash", |_, record| record["release"].is_object());
    let keep = json!({"metadata": {"annotations": {"bindery.dev/keep": "2h"}}});
    patch(plane, &volume_path(&name), &keep);
    let kubeconfig = plane.kubeconfig(ADMIN);
    let claim = format!("pvc/{}/data", objects.namespace());
    bindery(&kubeconfig, &["trash", "empty", &claim, "--yes"]).expect_ok();
    until(plane, &name, "it is let go", |volume, record| {
        record.is_null() && volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    });
    let events = format!("/api/v1/namespaces/{}/events", objects.namespace());
    eventually("its events are stored", PATIENCE, || {
        let events = plane.get(ADMIN, &events).expect_ok().to_string();
        let are_all = ["MovedToTrash", "ReclaimPolicyRestored"].map(|it| events.contains(it));
        if are_all == [true; 2] { Ok(()) } else { Err(events) }
    });
}

fn of_a_driver(name: &str) -> Value {
    json!({
        "metadata": {"annotations": {"pv.kubernetes.io/provisioned-by": "disk.example.com"}},
        "spec": {
            "persistentVolumeReclaimPolicy": "Delete", "nfs": null,
            "csi": {"driver": "disk.example.com", "volumeHandle": name},
        },
    })
}

/// Of two objects that are deleted one after another, the second is recorded where the first is.
fn deletions(plane: &Plane, objects: &Objects<'_>) {
    for (count, name) in ["first", "second"].into_iter().enumerate() {
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": name,
            "namespace": objects.namespace(), "uid": "00000000-0000-4000-8000-000000000000",
        });
        objects.volume_in_phase(name, "Released", &json!({"spec": {"claimRef": claim}}));
        delete(plane, &volume_path(&objects.name(name)));
        let path = format!("/api/v1/namespaces/{NAME}/configmaps/bindery-deleted-volumes");
        eventually("it is recorded", PATIENCE, || {
            let reply = plane.get(ADMIN, &path);
            let found = reply.json["data"].as_object().map_or(0, serde_json::Map::len);
            if found == count + 1 { Ok(()) } else { Err(reply.to_string()) }
        });
    }
}

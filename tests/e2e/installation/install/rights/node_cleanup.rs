//! The node cleanup with what the chart gives it: each right is used, and no other is had.
//!
//! No controller of Kubernetes makes volumes, claims and pods what they are here; the case does.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use super::local::apply;
use super::{granted, sweep, unused};
use crate::eventually::eventually;
use crate::installation::install::site::NAME;
use crate::local_disks::node_cleanup::NodeCleanup;
use crate::network;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

const ACCOUNT: &str = "bindery-local-node-cleanup";

/// Its case.
pub(super) const NODE_CLEANUP_RIGHTS: Case =
    case!(the_node_cleanup_needs_what_the_chart_gives_it_and_no_more);

fn the_node_cleanup_needs_what_the_chart_gives_it_and_no_more() {
    network::expect_own();
    let plane = Plane::start(Peers::AuditedCluster).unwrap_or_else(|error| panic!("{error}"));
    let set = "local.enabled=true,local.classes.fast.hostDir=/mnt,local.onNodeLoss.fast=keep,\
               local.onNodeLoss.gone=release";
    // Without the Lease of state.yaml, which some deployment tools leave out.
    let templates = ["rbac-local-node-cleanup.yaml", "local-node-cleanup.yaml"];
    apply(&plane, "restricted", set, &templates);
    let kubeconfig = plane.account_kubeconfig(NAME, ACCOUNT);
    let start = || {
        let lease = [format!("--lease-namespace={NAME}"), format!("--lease-name={ACCOUNT}")];
        NodeCleanup::start(&kubeconfig, &["fast=keep", "gone=release"], &lease)
    };
    let claim = replica(&plane);
    lone_claim(&plane);
    post(&plane, "/api/v1/persistentvolumes", &volume("released", "gone", "away", "uid"));
    phase(&plane, "released", "Released");
    let cleanup = start();
    for path in [claim_path("default", "data-db-0"), volume_path("released")] {
        eventually(&format!("{path} is gone"), Duration::from_secs(30), || {
            let reply = plane.get(ADMIN, &path);
            let is_gone =
                reply.code == 404 || reply.json["metadata"]["deletionTimestamp"].is_string();
            if is_gone { Ok(()) } else { Err(cleanup.log()) }
        });
    }
    let kept = plane.get(ADMIN, &volume_path("kept")).expect_ok();
    assert_eq!(kept["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{claim}");
    // The same again by another process: the event exists, and the Lease is there.
    drop(cleanup);
    let cleanup = start();
    let granted = granted(&plane, &[ACCOUNT]);
    eventually("every right was used", Duration::from_mins(1), || {
        let unused = unused(&plane, &granted);
        if unused.is_empty() { Ok(()) } else { Err(format!("{unused}{}", cleanup.log())) }
    });
    assert!(!cleanup.log().contains("is forbidden"), "{}", cleanup.log());
    drop(cleanup);
    let denied = sweep(&plane, &granted);
    assert!(denied >= 250, "{denied}");
}

#[track_caller]
fn post(plane: &Plane, collection: &str, object: &Value) -> Value {
    plane.request(ADMIN, Method::POST, collection, Body::json(object)).expect_ok()
}

#[track_caller]
fn phase(plane: &Plane, volume: &str, phase: &str) {
    let path = format!("{}/status", volume_path(volume));
    let status = Body::merge_patch(&json!({"status": {"phase": phase}}));
    plane.request(ADMIN, Method::PATCH, &path, status).expect_ok();
}

/// A volume of a node that is gone, reserved for a claim of the namespace `default`.
fn volume(name: &str, class: &str, claim: &str, uid: &str) -> Value {
    let host = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": ["lost"]});
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by":
            "local-volume-provisioner-lost-11111111-2222-4333-8444-555555555555"}},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "persistentVolumeReclaimPolicy": "Delete", "local": {"path": format!("/mnt/{name}")},
            "claimRef": {"namespace": "default", "name": claim, "uid": uid},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}},
        },
    })
}

/// A claim that is bound to a volume of the lost node. Returns it.
fn bound(plane: &Plane, claim: &str, name: &str) -> Value {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": claim},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeName": name,
            "resources": {"requests": {"storage": "1Gi"}}},
    });
    let made = post(plane, "/api/v1/namespaces/default/persistentvolumeclaims", &claim);
    let metadata = &made["metadata"];
    let (claim, uid) = (metadata["name"].as_str().unwrap(), metadata["uid"].as_str().unwrap());
    post(plane, "/api/v1/persistentvolumes", &volume(name, "fast", claim, uid));
    phase(plane, name, "Bound");
    made
}

/// A StatefulSet of two replicas: the pod of one waits for a node, that of the other is ready.
fn replica(plane: &Plane) -> Value {
    let containers = json!([{"name": "main", "image": "none.example/none"}]);
    let labels = json!({"app": "db"});
    let template = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
        "resources": {"requests": {"storage": "1Gi"}}});
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {
            "serviceName": "db", "replicas": 2, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": template}],
        },
    });
    let set = post(plane, "/apis/apps/v1/namespaces/default/statefulsets", &set);
    let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db",
        "uid": set["metadata"]["uid"], "controller": true});
    eventually("the account of pods is there", Duration::from_secs(30), || {
        let reply = plane.get(ADMIN, "/api/v1/namespaces/default/serviceaccounts/default");
        if reply.code == 200 { Ok(()) } else { Err(reply.to_string()) }
    });
    let ready = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    let node =
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "alive"}, "status": ready});
    post(plane, "/api/v1/nodes", &node);
    let pod = |name: &str, node: &Value| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
            "spec": {
                "nodeName": node, "containers": containers,
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": format!("data-{name}")}}],
                "tolerations": [{"operator": "Exists"}],
            },
        })
    };
    let claim = bound(plane, "data-db-0", "kept");
    let pods = "/api/v1/namespaces/default/pods";
    post(plane, pods, &pod("db-0", &Value::Null));
    post(plane, pods, &pod("db-1", &json!("alive")));
    let status = Body::merge_patch(&json!({"status": ready}));
    plane.request(ADMIN, Method::PATCH, &format!("{pods}/db-1/status"), status).expect_ok();
    claim
}

/// A claim that no StatefulSet would make again: an event reports it, by each process.
fn lone_claim(plane: &Plane) {
    bound(plane, "lone", "lone");
}

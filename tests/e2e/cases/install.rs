//! The chart installed by helm on a real control plane, its pods run as processes, and the API server calling them
//! through their service.
//!
//! Not here: what the chart renders for which values (`tests/chart`).

use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::json;

use crate::eventually::eventually;
use crate::network;
use crate::node::Node;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(helm_installs_what_refuses)];

const NAMESPACE: &str = "bindery";

fn plane() -> &'static Plane {
    network::expect_own();
    // Lives as long as the process: its pods speak of it.
    Box::leak(Box::new(Plane::start(Peers::Cluster).unwrap_or_else(|error| panic!("{error}"))))
}

/// Runs helm against the plane.
#[track_caller]
fn helm(plane: &Plane, arguments: &[&str]) -> String {
    let output = std::process::Command::new(plane.binaries().join("helm"))
        .args(arguments)
        .env_clear()
        .env("HOME", plane.home())
        .env("KUBECONFIG", plane.kubeconfig(ADMIN))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "helm {}: {told}", arguments.join(" "));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn helm_installs_what_refuses() {
    let plane = plane();
    let restricted = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    plane.request(ADMIN, Method::POST, "/api/v1/namespaces", Body::json(&restricted)).expect_ok();
    let node = Node::start(plane, NAMESPACE);
    let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/charts/bindery");
    let began = Instant::now();
    helm(plane, &["install", "bindery", chart, "-n", NAMESPACE]);
    eventually("two pods run and are ready", Duration::from_secs(60), || {
        let pods = plane.get(ADMIN, &format!("/api/v1/namespaces/{NAMESPACE}/pods")).expect_ok();
        let ready = pods["items"].as_array().into_iter().flatten().filter(|pod| {
            let conditions = pod.pointer("/status/conditions").and_then(|it| it.as_array());
            conditions
                .into_iter()
                .flatten()
                .any(|it| it["type"] == "Ready" && it["status"] == "True")
        });
        let count = ready.count();
        if count == 2 {
            Ok(())
        } else {
            Err(format!("{count} of {}\n{}", pods["items"], node.logs()))
        }
    });
    println!("ready {:?} after helm install", began.elapsed());
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "canary"},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "",
                 "claimRef": {"namespace": "canary"}, "nfs": {"server": "192.0.2.1", "path": "/x"}},
    });
    eventually("a volume for nobody is refused", Duration::from_secs(15), || {
        let path = "/api/v1/persistentvolumes?dryRun=All";
        let reply = plane.request(ADMIN, Method::POST, path, Body::json(&volume));
        if reply.text.contains("[prebind-incomplete]") { Ok(()) } else { Err(reply.to_string()) }
    });
    println!("the first refusal {:?} after helm install", began.elapsed());
    let doctor = std::process::Command::new(env!("CARGO_BIN_EXE_bindery"))
        .args(["doctor", "--installation", "bindery/bindery", "--kubeconfig"])
        .arg(plane.kubeconfig(ADMIN))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&doctor.stdout);
    assert!(doctor.status.success() && !told.contains("BAD"), "{told}");
    println!("{told}");
    helm(plane, &["uninstall", "bindery", "-n", NAMESPACE]);
}

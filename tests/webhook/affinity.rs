//! The node affinity of a bound volume: who may change it, and to what.

use bindery::rules::{Endpoint, Policy, RULES, Send, Trusted};
use bindery_sim::{ApiRequest, Method, Phase, RequestUser};
use serde_json::{Value, json};

use crate::stage::{Scene, Stage};

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const DRIVER: &str = "system:serviceaccount:csi:disk-controller";

/// Nodes as a cloud labels them, by zone and region.
const NODES: [(&str, &str, &str); 4] =
    [("n1", "r-1a", "r-1"), ("n2", "r-1b", "r-1"), ("n3", "r-2a", "r-2"), ("n4", "shared", "r-1")];

fn affinity(key: &str, values: &[&str]) -> Value {
    json!({"required": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": key, "operator": "In", "values": values}]},
    ]}})
}

fn put(scene: &Scene, path: &str, object: Value) {
    let request = ApiRequest::new(Method::Post, path, object);
    let response = scene.server.with(|cluster| cluster.handle(request));
    assert!(response.code < 300, "{response:?}");
}

/// A zonal disk that a claim has, of a cluster with nodes and a node of a zone in two regions.
fn scene(zones: &[&str]) -> Scene {
    let scene = Scene::of("pair pv-a db/data 10Gi RWO csi=disk.example.com");
    scene.patch("pv/pv-a", json!({"spec": {"nodeAffinity": affinity(ZONE, zones)}}));
    for (name, zone, region) in NODES.into_iter().chain([("n5", "shared", "r-2")]) {
        let labels = json!({
            ZONE: zone, "topology.gke.io/zone": zone, REGION: region, "kubernetes.io/hostname": name,
        });
        put(&scene, "/api/v1/nodes", json!({"metadata": {"name": name, "labels": labels}}));
    }
    scene
}

/// Returns what guard answers to `user`, who gives the volume this affinity: as an API server with the gate
/// `MutablePVNodeAffinity` asks it.
async fn changed(scene: &Scene, policy: Policy, user: &RequestUser, new: &Value) -> Value {
    let stage = Stage::under(policy, scene, RULES).await;
    let touched = r#"{"metadata":{"labels":{"a":"b"}}}"#;
    let send = Send::Merge { target: "pv/pv-a", patch: touched };
    let mut sent = scene.begin_by(&send, user.clone(), "").review();
    if sent.phase() == Phase::Mutating {
        sent = scene.admit(sent, None).review();
    }
    let mut body = sent.body().clone();
    body["request"]["object"]["spec"]["nodeAffinity"] = new.clone();
    stage.validate(Endpoint::Guard, &body).await
}

#[tokio::test]
async fn an_affinity_may_grow_to_the_region_of_its_zone_and_nowhere_else() {
    for (zones, new, is_allowed) in [
        (&["r-1a"][..], affinity(REGION, &["r-1"]), true),
        (&["r-1a", "r-1b"], affinity(REGION, &["r-1"]), true),
        (&["r-1a"], affinity(ZONE, &["r-1a", "r-1b"]), true),
        (&["r-1a"], affinity("topology.gke.io/zone", &["r-1a"]), true),
        // Moved to another region or zone.
        (&["r-1a"], affinity(REGION, &["r-2"]), false),
        (&["r-1a"], affinity(ZONE, &["r-1b"]), false),
        (&["r-1a"], affinity("topology.gke.io/zone", &["r-1b"]), false),
        // Narrowed.
        (&["r-1a", "r-1b"], affinity(ZONE, &["r-1a"]), false),
        (&["r-1a"], affinity("kubernetes.io/hostname", &["n1"]), false),
        // One node of the zone is in another region.
        (&["shared"], affinity(REGION, &["r-1"]), false),
        // A zone that no node is in: nothing shows its region.
        (&["r-1z"], affinity(REGION, &["r-1"]), false),
    ] {
        let answer = changed(&scene(zones), Policy::default(), &RequestUser::admin(), &new).await;
        assert_eq!(answer["allowed"], is_allowed, "{zones:?} to {new}: {answer}");
        assert_eq!(answer["warnings"], Value::Null, "{zones:?} to {new}: {answer}");
    }
}

/// The driver has moved the disk: the affinity says where it is now.
#[tokio::test]
async fn the_known_driver_says_where_its_disk_is() {
    let trusting = Policy {
        trusted: Trusted { provisioners: vec![DRIVER.to_owned()], ..Trusted::default() },
        ..Policy::default()
    };
    let account =
        RequestUser::named(DRIVER, &["system:serviceaccounts", "system:serviceaccounts:csi"]);
    let person = RequestUser::named("jane", &["system:authenticated"]);
    for (policy, lease, user, is_allowed) in [
        (Policy::default(), None, &account, false),
        (trusting, None, &account, true),
        (Policy::default(), Some("csi"), &account, true),
        (Policy::default(), Some("tapes"), &account, false),
        (Policy::default(), Some("csi"), &person, false),
    ] {
        let scene = scene(&["r-1a"]);
        if let Some(namespace) = lease {
            scene.ensure_namespace(namespace);
            let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
            put(&scene, &path, json!({"metadata": {"name": "disk-example-com"}}));
        }
        let answer = changed(&scene, policy, user, &affinity(ZONE, &["r-1b"])).await;
        assert_eq!(answer["allowed"], is_allowed, "{lease:?} {}: {answer}", user.name);
    }
}

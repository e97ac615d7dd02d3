//! What `plan --without` and `--drain` predict is what the scheduler then does: in random clusters, nodes are deleted or
//! cordoned, and the pods that replace theirs get a node or not.
//!
//! Many clusters share one plane, a batch at a time, and one command predicts for all of a batch.

mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use self::scene::{Fate, NodeSpec, Scene, plain_pod};
use crate::eventually::{eventually, poll, wait};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane};
use crate::runner::{Case, case, extent};

pub(crate) const CASES: &[Case] = &[case!(what_cannot_come_back_does_not)];

/// Clusters in all, and in an everyday run.
const CLUSTERS_FULL: u64 = 1_000;
const CLUSTERS: u64 = 50;

/// Clusters at a time.
const BATCH: usize = 25;

/// How long the machine may take to schedule the pods of a batch.
const PATIENCE: Duration = Duration::from_mins(2);

const NODES: &str = "/api/v1/nodes";
const VOLUMES: &str = "/api/v1/persistentvolumes";
const PODS: &str = "/api/v1/pods";
const CLAIMS: &str = "/api/v1/persistentvolumeclaims";

/// Namespace and name of a pod.
type PodName = (String, String);

fn what_cannot_come_back_does_not() {
    let plane = Plane::start(Peers::Everyone).unwrap_or_else(|error| panic!("{error}"));
    post(&plane, "/apis/storage.k8s.io/v1/csidrivers", &Scene::pooled_driver());
    let count = if extent().is_full { CLUSTERS_FULL } else { CLUSTERS };
    let scenes: Vec<Scene> = (0..count).map(Scene::new).collect();
    let (mut tally, mut wrong) = (BTreeMap::<String, usize>::new(), Vec::new());
    for batch in scenes.chunks(BATCH) {
        for scene in batch {
            create(&plane, scene);
        }
        await_bound(&plane, batch);
        let predicted = predict(&plane, batch);
        count_outcomes(&predicted, &mut tally);
        lose(&plane, batch);
        let expected = replace(&plane, batch, &predicted);
        wrong.extend(contradictions(&plane, &expected));
        clear(&plane, batch);
    }
    println!("{count} clusters: {tally:?}");
    assert!(wrong.is_empty(), "{} contradictions:\n{}", wrong.len(), wrong.join("\n"));
    for outcome in [
        "returns",
        "volume_gone",
        "volume_cordoned",
        "volumes_apart",
        "no_free_volume",
        "attach_limit",
        "claim_in_use",
        "no_capacity",
    ] {
        assert!(tally.contains_key(outcome), "no pod or claim is {outcome}: {tally:?}");
    }
    assert!(!tally.contains_key("unknown"), "everything was listed: {tally:?}");
}

fn post(plane: &Plane, path: &str, object: &Value) {
    plane.request(ADMIN, Method::POST, path, Body::json(object)).expect_ok();
}

fn patch(plane: &Plane, path: &str, change: &Value) {
    plane.request(ADMIN, Method::PATCH, path, Body::merge_patch(change)).expect_ok();
}

fn delete(plane: &Plane, path: &str) {
    let now = Body::json(&json!({"gracePeriodSeconds": 0}));
    plane.request(ADMIN, Method::DELETE, path, now).expect_ok();
}

fn in_namespace(scene: &Scene, resource: &str) -> String {
    format!("/api/v1/namespaces/{}/{resource}", scene.name)
}

/// Makes the objects of a cluster. Its pods bypass the scheduler.
fn create(plane: &Plane, scene: &Scene) {
    for (path, object) in scene.frame() {
        post(plane, path, &object);
    }
    let capacities =
        format!("/apis/storage.k8s.io/v1/namespaces/{}/csistoragecapacities", scene.name);
    scene.capacities().iter().for_each(|capacity| post(plane, &capacities, capacity));
    for node in &scene.nodes {
        post(plane, NODES, &scene.node(node));
        post(plane, "/apis/storage.k8s.io/v1/csinodes", &Scene::csi_node(node));
        make_ready(plane, node);
    }
    scene.volumes().iter().for_each(|volume| post(plane, VOLUMES, volume));
    let claims = in_namespace(scene, "persistentvolumeclaims");
    scene.claims().iter().for_each(|claim| post(plane, &claims, claim));
    for pod in &scene.pods {
        post(plane, &in_namespace(scene, "pods"), &scene.running(pod, false));
    }
}

/// Says what its kubelet would; whether it is cordoned from the beginning.
fn make_ready(plane: &Plane, node: &NodeSpec) {
    let room = json!({"cpu": "64", "memory": "64Gi", "pods": "500"});
    let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady"});
    let status = json!({"status": {"capacity": room, "allocatable": room, "conditions": [ready]}});
    let path = format!("{NODES}/{}", node.name);
    patch(plane, &format!("{path}/status"), &status);
    let is_cordoned = node.fate == Fate::Cordoned;
    patch(plane, &path, &json!({"spec": {"taints": null, "unschedulable": is_cordoned}}));
}

/// The objects at a path.
fn items(plane: &Plane, path: &str) -> Vec<Value> {
    plane.get(ADMIN, path).expect_ok()["items"].as_array().cloned().unwrap_or_default()
}

/// Namespace and name of an object.
fn name_of(object: &Value) -> PodName {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

/// Waits until the binder has bound each claim that names a volume.
fn await_bound(plane: &Plane, batch: &[Scene]) {
    let names: BTreeSet<&str> = batch.iter().map(|scene| &*scene.name).collect();
    eventually("the claims are bound", PATIENCE, || {
        let open = items(plane, CLAIMS).into_iter().filter(|claim| {
            let is_ours = names.contains(&*name_of(claim).0);
            is_ours
                && claim["spec"]["volumeName"].is_string()
                && claim["status"]["phase"] != "Bound"
        });
        let open: Vec<PodName> = open.map(|claim| name_of(&claim)).collect();
        if open.is_empty() { Ok(()) } else { Err(format!("{open:?}")) }
    });
}

/// Returns what `plan` says of the live cluster.
fn predict(plane: &Plane, batch: &[Scene]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bindery"));
    command.args(["plan", "-o", "json", "--kubeconfig"]).arg(plane.kubeconfig(ADMIN));
    for scene in batch {
        for (option, fate) in [("--without", Fate::Gone), ("--drain", Fate::Drained)] {
            let nodes = scene.nodes_of(fate).map(|node| format!("node/{node}"));
            nodes.for_each(|node| {
                command.args([option, &node]);
            });
        }
    }
    let output = command.output().expect("bindery runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// Counts the outcomes and the labels of reasons.
fn count_outcomes(predicted: &Value, tally: &mut BTreeMap<String, usize>) {
    let mut count = |text: &Value| {
        *tally.entry(text.as_str().expect("a text").to_owned()).or_default() += 1;
    };
    for pod in predicted["pods"].as_array().expect("a list") {
        count(&pod["outcome"]);
        pod["reasons"].as_array().expect("a list").iter().for_each(|one| count(&one["label"]));
    }
    for claim in predicted["claims"].as_array().expect("a list") {
        count(&claim["outcome"]);
    }
}

/// Deletes the nodes that go, cordons those that are drained, and deletes the pods of both.
fn lose(plane: &Plane, batch: &[Scene]) {
    for scene in batch {
        for node in scene.nodes_of(Fate::Gone) {
            delete(plane, &format!("{NODES}/{node}"));
        }
        for node in scene.nodes_of(Fate::Drained) {
            patch(plane, &format!("{NODES}/{node}"), &json!({"spec": {"unschedulable": true}}));
        }
        for pod in scene.pods.iter().filter(|pod| scene.is_affected(&pod.node)) {
            delete(plane, &format!("{}/{}", in_namespace(scene, "pods"), pod.name));
        }
    }
    // The scheduler learns of nodes by another watch than of pods.
    wait(Duration::from_secs(1));
}

/// Creates the pods that replace those of lost nodes, and one for each claim that no node is left for. Returns which of
/// them are predicted to get a node.
fn replace(plane: &Plane, batch: &[Scene], predicted: &Value) -> BTreeMap<PodName, bool> {
    let outcomes = predicted["pods"].as_array().expect("a list").iter();
    let returns: BTreeMap<PodName, bool> = outcomes
        .map(|pod| {
            let text = |field: &str| pod[field].as_str().expect("a text").to_owned();
            ((text("namespace"), text("name")), pod["outcome"] == "returns")
        })
        .collect();
    let mut expected = BTreeMap::new();
    for scene in batch {
        let pods = in_namespace(scene, "pods");
        for pod in &scene.pods {
            let name = (scene.name.clone(), pod.name.clone());
            if let Some(outcome) = returns.get(&name) {
                post(plane, &pods, &scene.running(pod, true));
                expected.insert(name, *outcome);
            }
        }
        let claims = predicted["claims"].as_array().expect("a list").iter();
        for claim in claims.filter(|claim| claim["namespace"] == *scene.name) {
            let claim = claim["name"].as_str().expect("a name").to_owned();
            let name = format!("probe-{claim}");
            post(plane, &pods, &plain_pod(&name, &[claim]));
            expected.insert((scene.name.clone(), name), false);
        }
    }
    expected
}

/// What the scheduler decided for each pod, if it did: the node, or why there is none.
fn decided(plane: &Plane) -> BTreeMap<PodName, Result<String, String>> {
    let selected: BTreeMap<PodName, String> = items(plane, CLAIMS)
        .iter()
        .filter_map(|claim| {
            let node = &claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"];
            Some((name_of(claim), node.as_str()?.to_owned()))
        })
        .collect();
    let decision = |pod: &Value| {
        let (namespace, name) = name_of(pod);
        let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
        // There is no provisioner: that a node was selected for its volume is the decision.
        let selected = volumes.clone().find_map(|volume| {
            let claim = volume["persistentVolumeClaim"]["claimName"].as_str()?.to_owned();
            selected.get(&(namespace.clone(), claim)).cloned()
        });
        let node = pod["spec"]["nodeName"].as_str().map(str::to_owned).or(selected);
        let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        let denied = conditions.find(|condition| condition["reason"] == "Unschedulable");
        let denied = || Some(Err(denied?["message"].as_str().unwrap_or_default().to_owned()));
        Some(((namespace, name), node.map(Ok).or_else(denied)?))
    };
    items(plane, PODS).iter().filter_map(decision).collect()
}

/// Where the scheduler decides otherwise than predicted.
fn contradictions(plane: &Plane, expected: &BTreeMap<PodName, bool>) -> Vec<String> {
    let differences = |decided: &BTreeMap<PodName, Result<String, String>>| {
        let wrong = expected.iter().filter_map(|(name, returns)| {
            let found = decided.get(name);
            let is_as_predicted = found.is_some_and(|found| found.is_ok() == *returns);
            (!is_as_predicted).then(|| format!("{name:?}: predicted {returns}: {found:?}"))
        });
        wrong.collect::<Vec<String>>()
    };
    // A pod may wait for another that takes its time; what is decided for good stays.
    let settled = poll(PATIENCE, || {
        let wrong = differences(&decided(plane));
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    });
    settled.err().map_or_else(|| differences(&decided(plane)), |last| vec![last])
}

/// Removes what the scheduler would look at again for the next batch.
fn clear(plane: &Plane, batch: &[Scene]) {
    for scene in batch {
        delete(plane, &in_namespace(scene, "pods"));
        for fate in [Fate::Stays, Fate::Cordoned, Fate::Drained] {
            for node in scene.nodes_of(fate) {
                delete(plane, &format!("{NODES}/{node}"));
            }
        }
    }
}

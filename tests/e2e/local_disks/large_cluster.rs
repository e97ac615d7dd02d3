//! What a node's provisioner asks of the API server in a cluster of 5,000 nodes with eight disks each; and how long a round
//! of the node cleanup takes there.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;

use super::node_cleanup::NodeCleanup;
use super::scene::Scene;
use crate::eventually::{eventually, wait};
use crate::metrics::{scrape, sum};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane};
use crate::runner::{Case, case, extent};

pub(super) const CASES: &[Case] = &[case!(what_a_node_asks_for_does_not_grow_with_the_cluster)];

/// Disks of a node.
const DISKS: usize = 8;

/// A tenth of the nodes in a run that is not full: the rest of the cluster is not to be seen at all.
fn nodes() -> usize {
    if extent().is_full { 5_000 } else { 500 }
}

/// How long the machine may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// So long requests are counted after the last disk is offered: a watch that goes on asks for nothing.
const QUIET: Duration = Duration::from_secs(5);

fn what_a_node_asks_for_does_not_grow_with_the_cluster() {
    let plane = Plane::start(Peers::Alone).unwrap();
    fill(&plane);
    let events_before = watch_events(&plane);
    let begun = Instant::now();
    let requests = requests_of_a_node(&plane, "crowded");
    let events = watch_events(&plane) - events_before;
    println!("{DISKS} disks of one of {} nodes: {requests:?}, {events} watch events", nodes());
    // Of each disk its volume, and, some disks together, those of another name; the Node; the StorageClass, at most every five seconds.
    let disks = DISKS as u64;
    let gets = 2 * disks + 2 + begun.elapsed().as_secs() / 5;
    assert!(requests["get"] <= gets, "{requests:?}");
    assert_eq!((requests["post"], requests["patch"], requests["delete"]), (disks, disks, 0));
    // Each volume is created, gets its phase, and is offered.
    assert!((disks..=3 * disks).contains(&events), "{events} events of PersistentVolumes");
    a_round_of_the_node_cleanup(&plane);
}

/// The requests by method that a provisioner makes until its disks are offered.
fn requests_of_a_node(plane: &Plane, case: &str) -> BTreeMap<String, u64> {
    let mut scene = Scene::new(plane, case);
    for number in 0..DISKS {
        scene.disks.file_system(&format!("vol{number}"), 8);
    }
    let local = scene.start();
    let class = json!(scene.class("fast"));
    eventually("all disks are offered", PATIENCE, || {
        let ready = sum(&scrape(&local.log()), "bindery_local_ready", &[]);
        if ready == 1 { Ok(()) } else { Err(local.log()) }
    });
    wait(QUIET);
    let metrics = scrape(&local.log());
    let offered = ["state=\"offered\"", &format!("storage_class={class}")];
    assert_eq!(sum(&metrics, "bindery_local_disks", &offered), DISKS as u64);
    let name = "local_volume_provisioner_apiserver_requests_total";
    let count =
        |method: &str| (method.to_owned(), sum(&metrics, name, &[&format!("method=\"{method}\"")]));
    ["get", "post", "patch", "delete"].into_iter().map(count).collect()
}

/// The events of PersistentVolumes that the API server has sent to all watches: nothing else watches them here.
fn watch_events(plane: &Plane) -> u64 {
    let metrics = plane.get(ADMIN, "/metrics").text.to_lowercase();
    sum(&metrics, "apiserver_watch_events_total", &["\"persistentvolume"])
}

/// The other nodes and the volumes of their disks.
fn fill(plane: &Plane) {
    let threads = 8;
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for number in (thread..nodes()).step_by(threads) {
                    let name = format!("other-{number}");
                    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name,
                        "labels": {"kubernetes.io/hostname": name}}, "status": {"conditions":
                        [{"type": "Ready", "status": "True"}]}});
                    plane
                        .request(ADMIN, Method::POST, "/api/v1/nodes", Body::json(&node))
                        .expect_ok();
                    for disk in 0..DISKS {
                        create_volume(plane, &name, disk);
                    }
                }
            });
        }
    });
}

fn create_volume(plane: &Plane, node: &str, disk: usize) {
    let host = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": format!("{node}-{disk}"), "labels": {"bindery.dev/local-node": node},
            "annotations": {"pv.kubernetes.io/provisioned-by": format!("local-volume-provisioner-{node}")}},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "others",
            "persistentVolumeReclaimPolicy": "Delete", "local": {"path": format!("/mnt/disks/{disk}")},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}},
        },
    });
    let volumes = "/api/v1/persistentvolumes";
    plane.request(ADMIN, Method::POST, volumes, Body::json(&volume)).expect_ok();
}

/// All nodes are well: a round is one list of them.
fn a_round_of_the_node_cleanup(plane: &Plane) {
    let cleanup = NodeCleanup::start(&plane.kubeconfig(ADMIN), &["others=keep"], &[]);
    let rounds = "bindery_local_node_cleanup_rounds_total";
    let count = || sum(&scrape(&cleanup.log()), rounds, &["outcome=\"ok\""]);
    let await_round = |number: u64| {
        eventually("a round is complete", PATIENCE, || {
            if count() >= number { Ok(()) } else { Err(cleanup.log()) }
        });
    };
    await_round(1);
    let (before, begun) = (count(), Instant::now());
    await_round(before + 3);
    let took = begun.elapsed() / 3;
    let metrics = scrape(&cleanup.log());
    let well = ["storage_class=\"others\"", "state=\"node_serves\""];
    let volumes = sum(&metrics, "bindery_local_node_cleanup_persistentvolumes", &well);
    println!("a round over {volumes} PersistentVolumes: {} ms, with its pause", took.as_millis());
    assert_eq!(volumes, (nodes() * DISKS) as u64);
}

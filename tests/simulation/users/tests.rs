//! The users by themselves: they repeat under a seed, do everything, and the robots come to an end.

use std::collections::BTreeSet;
use std::sync::Arc;

use bindery_sim::{ClusterState, Method};
use serde_json::{Value, json};

use super::{Action, Users, all, annotation, claims_path, send, text};

fn cluster() -> ClusterState {
    let mut cluster = ClusterState::new(9, "2026-11-21T05:00:00Z".parse().expect("a time"));
    cluster.keep_history();
    Users::found(&mut cluster);
    cluster
}

/// A cluster after so many actions, and what was done.
fn cluster_after(seed: u64, actions: usize) -> (ClusterState, BTreeSet<Action>) {
    let (mut cluster, mut users, mut done) = (cluster(), Users::new(seed), BTreeSet::new());
    for _ in 0..actions {
        done.insert(users.act(&mut cluster));
        users.run_robots(&mut cluster);
    }
    (cluster, done)
}

#[test]
fn a_seed_repeats_and_another_differs() {
    let line = |seed| {
        let (cluster, _) = cluster_after(seed, 60);
        cluster.objects().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(line(1), line(1));
    assert_ne!(line(1), line(2));
}

#[test]
fn every_action_occurs() {
    let (_, done) = cluster_after(3, 300);
    assert_eq!(done.len(), 17, "{done:?}");
}

#[test]
fn the_provisioner_answers_who_asks_and_deletes_what_is_released() {
    let mut cluster = cluster();
    let mut users = Users::new(1);
    let claim = json!({"metadata": {"name": "data"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "fast"}});
    let path = claims_path("default");
    send(&mut cluster, "tenant", Method::Post, &path, claim).expect("created");
    assert!(!users.run_robots(&mut cluster), "no work is left");
    let asked = json!({"metadata": {"annotations": {
        "volume.kubernetes.io/storage-provisioner": super::DRIVER}}});
    let path = format!("{path}/data");
    let claim = send(&mut cluster, "binder", Method::Patch, &path, asked).expect("asked");
    assert!(users.run_robots(&mut cluster));
    assert!(!users.run_robots(&mut cluster), "twice");
    let volumes = all(&cluster, "PersistentVolume");
    let volume = volumes.first().expect("a volume");
    assert_eq!(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"]);
    assert_eq!(annotation(volume, "pv.kubernetes.io/provisioned-by"), super::DRIVER);
    let released = json!({"status": {"phase": "Released"}});
    let path = format!("{}/status", super::volume_path(volume));
    send(&mut cluster, "binder", Method::Patch, &path, released).expect("released");
    assert!(users.run_robots(&mut cluster));
    assert!(users.run_robots(&mut cluster), "its protection comes off at the next look");
    let left = all(&cluster, "PersistentVolume");
    let is_it = |other: &Arc<Value>| other["metadata"]["uid"] == volume["metadata"]["uid"];
    assert!(!left.iter().any(is_it), "another may have come: the claim still asks");
}

#[test]
fn the_scheduler_reserves_for_a_delayed_claim_and_places_the_pod_when_it_is_bound() {
    let mut cluster = cluster();
    let mut users = Users::new(1);
    let claim = json!({"metadata": {"name": "data-0"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "later"}});
    let path = claims_path("default");
    send(&mut cluster, "tenant", Method::Post, &path, claim).expect("created");
    for (name, size) in [("large", "5Gi"), ("small", "1Gi")] {
        let volume = json!({"metadata": {"name": name}, "spec": {
            "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "later", "nfs": {"server": "a", "path": "/"}}});
        let volume = send(&mut cluster, "admin", Method::Post, super::VOLUMES, volume);
        let path = format!("{}/status", super::volume_path(&volume.expect("created")));
        let free = json!({"status": {"phase": "Available"}});
        send(&mut cluster, "binder", Method::Patch, &path, free).expect("free");
    }
    let of = |cluster: &ClusterState, kind: &str, name: &str| {
        let found = all(cluster, kind).into_iter().find(|one| super::name(one) == name);
        found.expect("there")
    };
    let pod = json!({"metadata": {"name": "mine"}, "spec": {
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data-0"}}]}});
    send(&mut cluster, "tenant", Method::Post, &super::pods_path("default"), pod);
    while users.run_robots(&mut cluster) {}
    let small = of(&cluster, "PersistentVolume", "small");
    assert_eq!(text(&small, "/spec/claimRef/name"), "data-0");
    assert!(of(&cluster, "PersistentVolume", "large")["spec"]["claimRef"].is_null());
    assert_eq!(text(&of(&cluster, "Pod", "mine"), "/spec/nodeName"), "");
    let done = json!({"spec": {"volumeName": "small"}, "metadata": {"annotations": {
        "pv.kubernetes.io/bind-completed": "yes"}}});
    send(&mut cluster, "binder", Method::Patch, &format!("{path}/data-0"), done).expect("named");
    while users.run_robots(&mut cluster) {}
    assert_ne!(text(&of(&cluster, "Pod", "mine"), "/spec/nodeName"), "");
    // While the pod is there, the claim stays; afterwards it goes.
    send(&mut cluster, "tenant", Method::Delete, &format!("{path}/data-0"), Value::Null);
    while users.run_robots(&mut cluster) {}
    let claim = of(&cluster, "PersistentVolumeClaim", "data-0");
    assert!(super::is_terminating(&claim));
    for pod in all(&cluster, "Pod") {
        let at_once = json!({"gracePeriodSeconds": 0});
        send(&mut cluster, "kubelet", Method::Delete, &super::pod_path(&pod), at_once);
    }
    while users.run_robots(&mut cluster) {}
    let left = all(&cluster, "PersistentVolumeClaim");
    assert!(!left.iter().any(|one| super::name(one) == "data-0"));
}

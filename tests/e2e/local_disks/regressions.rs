//! What the local static provisioner got wrong about names and deletions, each by its issue.

use std::fs;

use http::Method;
use rustix::fs::removexattr;
use serde_json::{Value, json};

use super::scene::Scene;
use crate::eventually::wait;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, volume_path};
use crate::runner::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_node_whose_hostname_is_not_its_name_offers_its_disks),
    case!(a_released_volume_deleted_while_nothing_runs_leaves_its_data_to_no_other),
    case!(a_bound_volume_that_is_being_deleted_keeps_its_data),
    case!(a_volume_of_the_same_name_holds_up_its_disk_only),
];

fn name(volume: &Value) -> &str {
    volume["metadata"]["name"].as_str().unwrap()
}

/// sig-storage-local-static-provisioner#434: volumes were tied to a hostname that no node had.
fn a_node_whose_hostname_is_not_its_name_offers_its_disks() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "hostname");
    scene.hostname = format!("{}.example.com", scene.node);
    let label = json!({"metadata": {"labels": {"kubernetes.io/hostname": scene.hostname}}});
    let path = format!("/api/v1/nodes/{}", scene.node);
    plane.request(ADMIN, Method::PATCH, &path, Body::merge_patch(&label)).expect_ok();
    let _local = scene.start();
    scene.disks.file_system("vol1", 32);
    let volume = scene.volume("fast/vol1", "Available", "");
    assert_eq!(volume["metadata"]["labels"]["bindery.dev/local-node"], json!(scene.node));
    scene.bind("data", &volume);
    scene.write_as_pod("fast/vol1");
    scene.delete_claim("data");
    scene.volume("fast/vol1", "Available", volume["metadata"]["uid"].as_str().unwrap());
    assert!(scene.names("fast/vol1").is_empty());
}

/// sig-storage-local-static-provisioner, pull request 174: a volume was deleted before its disk was cleaned, and the next
/// tenant got the data.
fn a_released_volume_deleted_while_nothing_runs_leaves_its_data_to_no_other() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "uncleaned");
    let local = scene.start();
    let volume = scene.written("vol1", "data");
    local.kill();
    scene.delete_claim("data");
    scene.volume("fast/vol1", "Released", "");
    scene.delete_volume_by_hand(&volume);
    let local = scene.start();
    scene.event(&local, "VolumeDeletedByHand");
    wait(super::doubtful::QUIET);
    assert!(scene.volumes().is_empty() && scene.names("fast/vol1").len() == 3);
}

/// sig-storage-local-static-provisioner, pull request 465: a disk was cleaned as soon as its volume was being deleted.
fn a_bound_volume_that_is_being_deleted_keeps_its_data() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "terminating");
    let local = scene.start();
    let volume = scene.written("vol1", "data");
    let path = volume_path(name(&volume));
    plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
    wait(super::doubtful::QUIET);
    let stored = plane.get(ADMIN, &path).expect_ok();
    assert!(!stored["metadata"]["deletionTimestamp"].is_null(), "{stored}");
    assert_eq!(stored["status"]["phase"], "Bound");
    assert_eq!(scene.names("fast/vol1").len(), 3, "its PVC is there: {}", local.log());
    scene.delete_claim("data");
    scene.volume_is_gone(&volume);
    wait(super::doubtful::QUIET);
    let is_offered = !scene.volumes().is_empty();
    assert!(!is_offered || scene.names("fast/vol1").is_empty(), "it is never offered with data");
}

/// sig-storage-local-static-provisioner#209: "already exists" came again and again, and other disks waited.
fn a_volume_of_the_same_name_holds_up_its_disk_only() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "taken");
    scene.disks.file_system("vol1", 32);
    // It gives the volume the name; then it is somebody else's.
    let local = scene.start();
    let made = scene.volume("fast/vol1", "Available", "");
    local.kill();
    scene.delete_volume_by_hand(&made);
    removexattr(scene.disks.path("fast/vol1"), "trusted.bindery.mark").unwrap();
    let other = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name(&made)},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "nfs": {"server": "nfs.example.com", "path": "/"},
        },
    });
    scene.objects.create("/api/v1/persistentvolumes", &other);
    let local = scene.start();
    let reported = scene.event(&local, "VolumeNameTaken");
    assert!(reported.contains("rename the entry of the discovery folder"), "{reported}");
    scene.disks.file_system("vol2", 32);
    scene.volume("fast/vol2", "Available", "");
    assert_eq!(plane.get(ADMIN, &volume_path(name(&made))).expect_ok()["spec"]["nfs"]["path"], "/");
    // As the event says.
    let (from, to) = (scene.disks.path("fast/vol1"), scene.disks.path("fast/vol1-renamed"));
    scene.disks.unmount(&from);
    fs::rename(&from, &to).unwrap();
    let device = scene.disks.device("vol1");
    scene.disks.mount(&[&device], &to);
    scene.volume("fast/vol1-renamed", "Available", "");
}

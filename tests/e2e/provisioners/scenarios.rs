//! A disk is attached, expanded (once without success), modified, snapshotted, restored and cloned, and goes.

use std::thread;

use serde_json::{Value, json};

use super::scene::{Beside, Scene, play, sweep};
use crate::plane::persona::{ARRANGER, TENANT};
use crate::plane::volume_path;
use crate::runner::extent;
use crate::sidecars::{DRIVER, Sidecar};
use crate::storage_lifecycle::scenarios::{node, pod};

const GROUP: &str = "snapshot.storage.k8s.io/v1";

/// Returns how many pairs go through it.
fn count() -> usize {
    if extent().is_full { 300 } else { 4 }
}

pub(super) fn disks_live_as_without_bindery() {
    let without = play(Beside::Nothing, all);
    for beside in Beside::due(&[
        Beside::Baseline,
        Beside::Strict,
        Beside::Full,
        Beside::Ended,
        Beside::Policies,
    ]) {
        play(beside, all).expect_same(&without, beside);
    }
}

/// How many go through it side by side.
const HANDS: usize = 10;

fn all(scene: &Scene<'_>) {
    prepare(scene);
    thread::scope(|scope| {
        for hand in 0..HANDS {
            scope.spawn(move || {
                for number in (hand..count()).step_by(HANDS) {
                    lifecycle(scene, &format!("d{number}"), number);
                }
            });
        }
    });
    scene.until_left(&[], &[]);
    scene.await_that("no snapshot is left", || {
        let left = scene.storage.snapshots();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
}

/// The node with the driver on it, and the classes of snapshots and attributes.
pub(super) fn prepare(scene: &Scene<'_>) {
    let world = &scene.world;
    node(world, "worker");
    // Without this the attach-detach controller leaves the node to its kubelet.
    let controlled = json!({"metadata": {"annotations":
        {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}}});
    world.patch(ARRANGER, "/api/v1/nodes/worker", &controlled).expect_ok();
    let drivers = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "worker"},
        "spec": {"drivers": [{"name": DRIVER, "nodeID": "worker", "topologyKeys": null}]},
    });
    world.post(ARRANGER, "/apis/storage.k8s.io/v1/csinodes", &drivers).expect_ok();
    let attributes = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": {"name": "fast"},
        "driverName": DRIVER, "parameters": {"iops": "9000"},
    });
    let path = "/apis/storage.k8s.io/v1/volumeattributesclasses";
    world.post(ARRANGER, path, &attributes).expect_ok();
    let snapshots = json!({
        "apiVersion": GROUP, "kind": "VolumeSnapshotClass", "metadata": {"name": "snapshots"},
        "driver": DRIVER, "deletionPolicy": "Delete",
    });
    world.post(ARRANGER, &format!("/apis/{GROUP}/volumesnapshotclasses"), &snapshots).expect_ok();
}

/// The whole of it; the order in which disk, copies and snapshot go differs by number.
fn lifecycle(scene: &Scene<'_>, claim: &str, number: usize) {
    scene.world.claim(claim, &json!({}));
    let volume = scene.bound(claim);
    attach(scene, claim, &volume);
    expand(scene, claim, &volume);
    modify(scene, claim, &volume);
    let (restored, cloned) = (format!("{claim}-restored"), format!("{claim}-cloned"));
    take(scene, claim);
    await_taken(scene, claim);
    let copies = [
        copy(scene, &restored, "VolumeSnapshot", claim),
        copy(scene, &cloned, "PersistentVolumeClaim", claim),
    ];
    for copy in &copies {
        assert_eq!(
            scene.storage.disks()[copy].content,
            volume,
            "a copy holds what its source holds"
        );
    }
    detach(scene, claim, &volume);
    let mut endings: Vec<Box<dyn Fn()>> = vec![
        Box::new(|| scene.give_up(claim)),
        Box::new(|| scene.give_up(&restored)),
        Box::new(|| scene.give_up(&cloned)),
        Box::new(|| sweep(scene, &snapshot_path(scene, claim))),
    ];
    let places = endings.len();
    endings.rotate_left(number % places);
    for end in endings {
        end();
    }
    for volume in copies.iter().chain([&volume]) {
        scene.until_gone(volume);
    }
    scene.world.until_gone(&snapshot_path(scene, claim));
}

/// The scheduler puts a pod on the node, and the attach-detach controller asks for the disk there.
fn attach(scene: &Scene<'_>, claim: &str, volume: &str) {
    pod(&scene.world, claim, &json!({}));
    await_attached(scene, volume);
}

/// Waits until the disk is attached to the node, and the volume says so.
pub(super) fn await_attached(scene: &Scene<'_>, volume: &str) {
    await_nodes(scene, volume, &["worker"]);
    scene.world.await_that(&volume_path(volume), "the attacher's", |volume| {
        volume["metadata"]["finalizers"].to_string().contains("external-attacher/disk-example-com")
    });
}

/// The pod goes, and the disk leaves the node.
fn detach(scene: &Scene<'_>, claim: &str, volume: &str) {
    end_pod(scene, claim);
    await_nodes(scene, volume, &[]);
}

/// Deletes the pod that uses a claim.
pub(super) fn end_pod(scene: &Scene<'_>, claim: &str) {
    let path = format!("/api/v1/namespaces/{}/pods/{claim}", scene.world.name);
    scene.world.delete(TENANT, &path).expect_ok();
}

/// Waits until a disk is attached to these nodes.
pub(super) fn await_nodes(scene: &Scene<'_>, volume: &str, wanted: &[&str]) {
    scene.await_that(&format!("{volume} is attached to {wanted:?}"), || {
        let nodes = scene.storage.disks()[volume].nodes.clone();
        if nodes == wanted { Ok(()) } else { Err(format!("{nodes:?}")) }
    });
}

/// The tenant asks for so much.
pub(super) fn ask(scene: &Scene<'_>, claim: &str, size: &str) {
    let request = json!({"spec": {"resources": {"requests": {"storage": size}}}});
    scene.world.patch(TENANT, &scene.world.claim_path(claim), &request).expect_ok();
}

/// Ten times as much is more than a disk can have; twice as much is had in the end.
fn expand(scene: &Scene<'_>, claim: &str, volume: &str) {
    ask(scene, claim, "10Gi");
    scene.world.await_that(&scene.world.claim_path(claim), "infeasible", |claim| {
        claim["status"]["allocatedResourceStatuses"]["storage"] == "ControllerResizeInfeasible"
    });
    // Until then it may put its own write into its cache over what the tenant asks for next, which waits for a resync
    // then, with or without Bindery (external-resizer: `markControllerExpansionInfeasible`).
    let put_off = format!("skipping volume expansion for pvc {}/{claim}, ", scene.world.name);
    scene.await_that("the resizer leaves it at that", || {
        let log = scene.storage.log(Sidecar::Resizer);
        if log.contains(&put_off) { Ok(()) } else { Err(put_off.clone()) }
    });
    ask(scene, claim, "2Gi");
    await_size(scene, claim, volume, "2Gi", 2 << 30);
}

/// Waits until claim, volume and disk are of a size.
pub(super) fn await_size(scene: &Scene<'_>, claim: &str, volume: &str, size: &str, bytes: u64) {
    let path = scene.world.claim_path(claim);
    scene.world.await_that(&path, size, |claim| claim["status"]["capacity"]["storage"] == size);
    let volume_now = scene.world.get(&volume_path(volume));
    assert_eq!(volume_now["spec"]["capacity"]["storage"], size);
    assert_eq!(scene.storage.disks()[volume].capacity, bytes);
}

/// The claim is given other attributes.
fn modify(scene: &Scene<'_>, claim: &str, volume: &str) {
    ask_for_speed(scene, claim);
    await_speed(scene, claim, volume);
}

/// The tenant chooses another class of attributes.
pub(super) fn ask_for_speed(scene: &Scene<'_>, claim: &str) {
    let fast = json!({"spec": {"volumeAttributesClassName": "fast"}});
    scene.world.patch(TENANT, &scene.world.claim_path(claim), &fast).expect_ok();
}

/// Waits until volume, disk and claim have the attributes.
pub(super) fn await_speed(scene: &Scene<'_>, claim: &str, volume: &str) {
    let is_fast = |object: &Value| object["spec"]["volumeAttributesClassName"] == "fast";
    scene.world.await_that(&volume_path(volume), "fast", is_fast);
    assert_eq!(scene.storage.disks()[volume].parameters["iops"], "9000");
    scene.world.await_that(&scene.world.claim_path(claim), "known to be fast", |claim| {
        claim["status"]["currentVolumeAttributesClassName"] == "fast"
    });
}

pub(super) fn snapshot_path(scene: &Scene<'_>, claim: &str) -> String {
    format!("/apis/{GROUP}/namespaces/{}/volumesnapshots/{claim}", scene.world.name)
}

/// Takes a snapshot that has the claim's name; returns what the driver will call it.
pub(super) fn take(scene: &Scene<'_>, claim: &str) -> String {
    let snapshot = json!({
        "apiVersion": GROUP, "kind": "VolumeSnapshot", "metadata": {"name": claim},
        "spec": {"volumeSnapshotClassName": "snapshots", "source": {"persistentVolumeClaimName": claim}},
    });
    let path = snapshot_path(scene, claim);
    let collection = path.rsplit_once('/').unwrap().0;
    let made = scene.world.post(ARRANGER, collection, &snapshot).expect_ok();
    format!("snapshot-{}", made["metadata"]["uid"].as_str().unwrap())
}

/// Waits until the snapshot of a claim can be used.
pub(super) fn await_taken(scene: &Scene<'_>, claim: &str) {
    let is_ready = |snapshot: &Value| snapshot["status"]["readyToUse"] == true;
    scene.world.await_that(&snapshot_path(scene, claim), "ready", is_ready);
}

/// A claim that is filled from a snapshot or a claim; returns its volume.
fn copy(scene: &Scene<'_>, name: &str, kind: &str, source: &str) -> String {
    let group =
        if kind == "VolumeSnapshot" { json!("snapshot.storage.k8s.io") } else { Value::Null };
    let overlay = json!({"spec": {
        "dataSource": {"apiGroup": group, "kind": kind, "name": source},
        "resources": {"requests": {"storage": "2Gi"}},
    }});
    scene.world.claim(name, &overlay);
    scene.bound(name)
}

//! A disk is found, offered, bound by the real scheduler, written to, released, cleaned and offered again.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt as _;

use bindery::model::annotations::TENANT;
use bindery::model::{ClaimKey, TenantLabel, VolumeName};
use bindery::rules::Policy;
use http::Method;
use rustix::fs::OFlags;
use serde_json::{Value, json};

use super::disks::run;
use super::scene::{PATIENCE, SECRET, Scene, WAITING_COMMAND};
use crate::eventually::eventually;
use crate::installed::{Installed, Registered};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, claim_path};
use crate::runner::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_local_disk_is_found_offered_written_cleaned_and_offered_again),
    case!(a_disk_that_was_scanned_while_it_was_cleaned_is_offered_at_once),
    case!(the_disks_of_a_tenant_are_offered_beside_the_webhook),
];

pub(super) const LENGTHY: &[Case] = &[
    case!(nothing_is_left_on_fifty_disks_after_a_life),
    case!(no_file_is_left_on_a_disk_with_xfs_after_a_life),
];

/// `mkfs.xfs` makes no smaller one.
const XFS_MIB: u64 = 320;

fn no_file_is_left_on_a_disk_with_xfs_after_a_life() {
    let plane = Plane::start(Peers::Everyone).unwrap();
    let mut scene = Scene::new(&plane, "xfs");
    let local = scene.start();
    scene.disks.xfs("vol1", XFS_MIB);
    let volume = scene.volume("fast/vol1", "Available", "");
    let device = scene.disks.device("vol1");
    let uuid = run("blkid", &["--match-tag", "UUID", "--output", "value", &device]);
    assert_eq!(volume["metadata"]["annotations"]["bindery.dev/disk-file-system"], uuid);
    live(&mut scene, "fast/vol1", "Filesystem", &|scene| scene.write_as_pod("fast/vol1"));
    assert!(scene.names("fast/vol1").is_empty(), "{:?}", scene.names("fast/vol1"));
    let free = scene.volume("fast/vol1", "Available", "");
    local.kill();

    // What XFS keeps back is not overwritten: such a disk is not offered where that is demanded.
    scene.keys = ", overwriteFreeSpace: true";
    let local = scene.start();
    let reported = scene.event(&local, "DiskUnusable");
    assert!(reported.contains("the file system xfs keeps a part of its free space"), "{reported}");
    scene.volume_is_gone(&free);
}

/// Half of them file systems, half block devices.
const DISKS: usize = 50;

fn nothing_is_left_on_fifty_disks_after_a_life() {
    let plane = Plane::start(Peers::Everyone).unwrap();
    let mut scene = Scene::new(&plane, "fifty");
    scene.keys = ", overwriteFreeSpace: true";
    let local = scene.start();
    let mut entries = Vec::new();
    for number in 0..DISKS / 2 {
        scene.disks.file_system(&format!("vol{number}"), 16);
        scene.disks.block_device(&format!("disk{number}"), 16);
        entries.push((format!("fast/vol{number}"), "Filesystem"));
        entries.push((format!("raw/disk{number}"), "Block"));
    }
    let mut pods = Vec::new();
    let offered: Vec<Value> =
        entries.iter().map(|(entry, _)| scene.volume(entry, "Available", "")).collect();
    // Which claim gets which volume is the scheduler's choice.
    for ((entry, mode), volume) in entries.iter().zip(&offered) {
        let claim = entry.replace('/', "-");
        claim_of(&scene, &claim, &volume["spec"]["storageClassName"], mode);
        pods.push((claim.clone(), pod(&scene, &claim, mode)));
    }
    let uids: Vec<Value> = entries
        .iter()
        .map(|(entry, _)| scene.volume(entry, "Bound", "")["metadata"]["uid"].clone())
        .collect();
    for (entry, mode) in &entries {
        if *mode == "Block" {
            fs::write(scene.disks.path(entry), SECRET.repeat(200_000)).unwrap();
        } else {
            scene.write_as_pod(entry);
        }
    }
    for (claim, pod) in &pods {
        delete_pod(&scene, pod);
        scene.delete_claim(claim);
    }
    for ((entry, _), uid) in entries.iter().zip(&uids) {
        scene.volume(entry, "Available", uid.as_str().unwrap());
        let disk = entry.rsplit('/').next().unwrap();
        assert!(!scene.disks.holds(disk, SECRET), "{entry} {}", local.log());
    }
}

fn claim_of(scene: &Scene<'_>, name: &str, class: &Value, mode: &str) {
    let spec = json!({"spec": {"storageClassName": class, "volumeMode": mode,
        "resources": {"requests": {"storage": "1Mi"}}}});
    scene.objects.claim(name, &spec);
}

fn delete_pod(scene: &Scene<'_>, path: &str) {
    let now = Body::json(&json!({"gracePeriodSeconds": 0}));
    scene.plane.request(ADMIN, Method::DELETE, path, now).expect_ok();
}

fn pod(scene: &Scene<'_>, name: &str, mode: &str) -> String {
    let namespace = scene.objects.namespace();
    let mut container = json!({"name": "c", "image": "registry.example.com/db:1"});
    if mode == "Block" {
        container["volumeDevices"] = json!([{"name": "data", "devicePath": "/dev/data"}]);
    } else {
        container["volumeMounts"] = json!([{"name": "data", "mountPath": "/data"}]);
    }
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "containers": [container],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
        },
    });
    scene.objects.create(&format!("/api/v1/namespaces/{namespace}/pods"), &pod);
    format!("/api/v1/namespaces/{namespace}/pods/{name}")
}

/// One life of a disk: what its pod writes is written by `write`, as the kubelet would have it.
fn live(scene: &mut Scene<'_>, entry: &str, mode: &str, write: &dyn Fn(&mut Scene<'_>)) {
    let volume = scene.volume(entry, "Available", "");
    let name = volume["metadata"]["name"].clone();
    let claim = entry.replace('/', "-");
    claim_of(scene, &claim, &volume["spec"]["storageClassName"], mode);
    let pod = pod(scene, &claim, mode);
    let path = claim_path(scene.objects.namespace(), &claim);
    eventually("the scheduler and the binder bind it", PATIENCE, || {
        let claim = scene.plane.get(ADMIN, &path).expect_ok();
        if claim["spec"]["volumeName"] == name { Ok(()) } else { Err(claim.to_string()) }
    });
    write(scene);
    delete_pod(scene, &pod);
    scene.delete_claim(&claim);
    let again = scene.volume(entry, "Available", volume["metadata"]["uid"].as_str().unwrap());
    assert_eq!(again["metadata"]["name"], name, "it has its name again");
    assert_eq!(again["spec"], without_reservation(&volume));
}

fn without_reservation(volume: &Value) -> Value {
    let mut spec = volume["spec"].clone();
    spec.as_object_mut().unwrap().remove("claimRef");
    spec
}

fn a_local_disk_is_found_offered_written_cleaned_and_offered_again() {
    let plane = Plane::start(Peers::Everyone).unwrap();
    let mut scene = Scene::new(&plane, "disks");
    scene.keys = ", overwriteFreeSpace: true";
    let local = scene.start();
    fs::create_dir(scene.disks.path("fast/folder")).unwrap();
    scene.disks.file_system("vol1", 32);
    let volume = scene.volume("fast/vol1", "Available", "");
    assert_eq!(volume["metadata"]["labels"]["bindery.dev/local-node"], json!(scene.node));
    live(&mut scene, "fast/vol1", "Filesystem", &|scene| scene.write_as_pod("fast/vol1"));
    assert!(scene.names("fast/vol1").is_empty(), "{:?}", scene.names("fast/vol1"));
    assert!(!scene.disks.holds("vol1", SECRET), "the bytes of removed files are overwritten");

    let device = scene.disks.block_device("disk1", 32);
    live(&mut scene, "raw/disk1", "Block", &|scene| {
        fs::write(&device, SECRET.repeat(200_000)).unwrap();
        assert!(scene.disks.holds("disk1", SECRET));
    });
    assert!(!scene.disks.holds("disk1", SECRET), "{}", local.log());
    assert_eq!(scene.volumes().len(), 2, "a folder is no disk: {}", local.log());
    let reported = scene.event(&local, "DiskNotMounted");
    assert!(reported.contains("fast/folder: nothing is mounted on the folder"), "{reported}");
}

/// A cleaning has the disk for itself, and so a scan meanwhile finds it in use. The next regular scan comes after the case.
fn a_disk_that_was_scanned_while_it_was_cleaned_is_offered_at_once() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "scanned");
    scene.arguments = &["--discovery-period=10m"];
    scene.keys = WAITING_COMMAND;
    let local = scene.start();
    let device = scene.disks.block_device("disk1", 32);
    let volume = scene.volume("raw/disk1", "Available", "");
    scene.bind("data", &volume);
    scene.delete_claim("data");
    eventually("the cleaning has begun", PATIENCE, || {
        if scene.disks.bytes("began").exists() { Ok(()) } else { Err(local.log()) }
    });
    let mut options = File::options();
    options.read(true).custom_flags(i32::try_from(OFlags::EXCL.bits()).unwrap());
    let alone = options.open(&device).unwrap();
    // A new disk is offered after the second scan that finds it.
    scene.disks.file_system("vol1", 32);
    scene.volume("fast/vol1", "Available", "");
    drop(alone);
    fs::write(scene.disks.bytes("go"), "").unwrap();
    scene.volume("raw/disk1", "Available", volume["metadata"]["uid"].as_str().unwrap());
    assert!(scene.events("DiskInUse").is_empty(), "{}", local.log());
}

/// A new volume is reserved for a PVC that cannot exist: no rule takes that for another tenant's, or for two volumes' PVC.
fn the_disks_of_a_tenant_are_offered_beside_the_webhook() {
    let plane = Plane::start(Peers::WithBinder).unwrap();
    let mut policy = Policy::default();
    policy.label_volumes(TenantLabel::Auto);
    let _installed = Installed::under(policy, &plane, Registered::Everything);
    let mut scene = Scene::new(&plane, "tenant");
    scene.files = vec![("labelsForPV", "bindery.dev/tenant: red\n")];
    // Of a node whose provisioner has ended before it offered its disk.
    let claim = ClaimKey::before_offer(&VolumeName::new("local-pv-1"));
    let waiting = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": claim.name.as_str(), "labels": {TENANT: "red"}},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": claim.namespace.as_str(), "name": claim.name.as_str(),
            },
            "hostPath": {"path": "/mnt/disks/other"},
        },
    });
    scene.objects.create("/api/v1/persistentvolumes", &waiting);
    for number in 0..4 {
        scene.disks.file_system(&format!("vol{number}"), 16);
        scene.disks.block_device(&format!("disk{number}"), 16);
    }
    let local = scene.start();
    for number in 0..4 {
        for entry in [format!("fast/vol{number}"), format!("raw/disk{number}")] {
            let volume = scene.volume(&entry, "Available", "");
            assert_eq!(volume["metadata"]["labels"][TENANT], "red", "{volume}");
        }
    }
    assert!(!local.log().contains("a step for a disk failed"), "{}", local.log());
}

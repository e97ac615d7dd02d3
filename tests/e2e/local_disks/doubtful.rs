//! What the local static provisioner got wrong, and what is in doubt: each is held, and nothing is lost.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use bindery::model::{ClaimKey, VolumeName};
use http::Method;
use rustix::fs::removexattr;
use serde_json::{Value, json};

use super::scene::{PATIENCE, SECRET, Scene, is_before_offer};
use crate::eventually::{eventually, wait};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane};
use crate::runner::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_volume_of_the_local_static_provisioner_is_taken_over_unchanged),
    case!(another_disk_under_the_same_path_is_neither_offered_nor_cleaned),
    case!(a_disk_whose_volume_was_deleted_by_hand_is_held_and_its_data_stays),
    case!(a_creation_that_is_carried_out_late_offers_no_data),
    case!(a_disk_that_is_not_empty_is_held_until_it_is_emptied),
    case!(a_disk_is_not_cleaned_while_a_pod_has_it_mounted),
    case!(a_node_of_a_former_name_gets_its_own_disk_back_and_no_other),
    case!(what_is_no_disk_is_reported_and_never_offered),
    case!(a_disk_that_does_not_answer_holds_up_no_other),
    case!(a_node_loses_its_taint_once_its_disks_are_offered),
];

fn name(volume: &Value) -> String {
    volume["metadata"]["name"].as_str().unwrap().to_owned()
}

fn uid(volume: &Value) -> String {
    volume["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// How long to see that nothing happens: a scan follows a change within half a second.
pub(super) const QUIET: Duration = Duration::from_secs(2);

/// As sig-storage-local-static-provisioner creates it: no label and no annotation of ours.
fn a_volume_of_the_local_static_provisioner_is_taken_over_unchanged() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "takeover");
    scene.disks.file_system("vol1", 32);
    // Ours gives it the name; then it is made as the other one does.
    let local = scene.start();
    let made = scene.volume("fast/vol1", "Available", "");
    local.kill();
    scene.delete_volume_by_hand(&made);
    removexattr(scene.disks.path("fast/vol1"), "trusted.bindery.mark").unwrap();
    let mut theirs = made.clone();
    let provisioner = &made["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"];
    theirs["metadata"] = json!({"name": name(&made), "annotations": {"pv.kubernetes.io/provisioned-by": provisioner}});
    theirs.as_object_mut().unwrap().remove("status");
    scene.objects.create("/api/v1/persistentvolumes", &theirs);
    let theirs = scene.volume("fast/vol1", "Available", "");
    scene.bind("data", &theirs);
    scene.write_as_pod("fast/vol1");
    let local = scene.start();
    let adopted = eventually("it gets its identity", PATIENCE, || {
        let volume = scene.volume("fast/vol1", "Bound", "");
        let size = &volume["metadata"]["annotations"]["bindery.dev/disk-size"];
        if *size == json!("33554432") { Ok(volume) } else { Err(local.log()) }
    });
    assert_eq!(
        (uid(&adopted), &adopted["spec"]["local"]),
        (uid(&theirs), &theirs["spec"]["local"])
    );
    assert_eq!(scene.names("fast/vol1").len(), 3, "its data is there");
    scene.delete_claim("data");
    scene.volume("fast/vol1", "Available", &uid(&theirs));
    assert!(scene.names("fast/vol1").is_empty());
}

/// local-storage-operator#423: the path of a disk was another disk after a restart.
fn another_disk_under_the_same_path_is_neither_offered_nor_cleaned() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "exchanged");
    let local = scene.start();
    let volume = scene.written("vol1", "data");
    let point = scene.disks.path("fast/vol1");
    scene.disks.unmount(&point);
    let other = scene.disks.format("other", 32);
    scene.disks.mount(&[&other], &point);
    fs::write(point.join("of-someone"), SECRET).unwrap();
    scene.delete_claim("data");
    let reported = scene.event(&local, "DiskReplaced");
    assert!(reported.contains("differs from that of the disk"), "{reported}");
    wait(QUIET);
    assert!(scene.names("fast/vol1").contains(&"of-someone".to_owned()));
    assert_eq!(
        scene.volume("fast/vol1", "Released", "")["metadata"]["uid"],
        volume["metadata"]["uid"]
    );
    // The former disk is put back, and cleaned.
    scene.disks.unmount(&point);
    let former = scene.disks.device("vol1");
    scene.disks.mount(&[&former], &point);
    scene.volume("fast/vol1", "Available", &uid(&volume));
    assert!(scene.names("fast/vol1").is_empty());
}

/// sig-storage-local-static-provisioner#143: the next tenant got what the former one had written.
fn a_disk_whose_volume_was_deleted_by_hand_is_held_and_its_data_stays() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "byhand");
    let local = scene.start();
    let volume = scene.written("vol1", "data");
    scene.delete_volume_by_hand(&volume);
    let reported = scene.event(&local, "VolumeDeletedByHand");
    assert!(
        reported.contains("create the PersistentVolume again with reclaim policy Retain"),
        "{reported}"
    );
    wait(QUIET);
    assert!(scene.volumes().is_empty() && scene.names("fast/vol1").len() == 3);
    // As the event says: the data is moved away.
    for file in [".hidden", "folder/file"] {
        fs::remove_file(scene.disks.path("fast/vol1").join(file)).unwrap();
    }
    fs::remove_dir(scene.disks.path("fast/vol1/folder")).unwrap();
    fs::remove_dir(scene.disks.path("fast/vol1/lost+found")).unwrap();
    // It is Lost, and would bind the new volume, which has the former one's name.
    scene.delete_claim("data");
    drop(local);
    let _local = scene.start();
    scene.volume("fast/vol1", "Available", &uid(&volume));
}

/// The API server carries out a creation after its sender has ended, and after the volume was created again, used and deleted.
fn a_creation_that_is_carried_out_late_offers_no_data() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "late");
    let local = scene.start();
    let volume = scene.written("vol1", "data");
    local.kill();
    scene.delete_volume_by_hand(&volume);
    let mut late = volume.clone();
    late.as_object_mut().unwrap().remove("status");
    let Value::Object(metadata) = &volume["metadata"] else { panic!("{volume}") };
    let kept = ["name", "labels", "annotations"].map(|key| (key.to_owned(), metadata[key].clone()));
    late["metadata"] = kept.into_iter().collect();
    let claim = ClaimKey::before_offer(&VolumeName::new(name(&volume)));
    late["spec"]["claimRef"] = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": &*claim.namespace, "name": &*claim.name,
    });
    scene.objects.create("/api/v1/persistentvolumes", &late);
    // Kubernetes gives it to no PVC, not even to one that names it.
    let spec = &volume["spec"];
    let next = json!({"spec": {
        "storageClassName": spec["storageClassName"], "volumeName": name(&volume),
        "resources": {"requests": {"storage": "1Mi"}},
    }});
    scene.objects.claim("next", &next);
    eventually("the PVC is rejected", PATIENCE, || {
        let events = format!("/api/v1/namespaces/{}/events", scene.objects.namespace());
        let events = plane.get(ADMIN, &events).expect_ok();
        let is_rejected = events["items"].as_array().unwrap().iter().any(|event| {
            event["reason"] == "FailedBinding" && event["involvedObject"]["name"] == "next"
        });
        if is_rejected { Ok(()) } else { Err(events.to_string()) }
    });
    let local = scene.start();
    scene.event(&local, "VolumeDeletedByHand");
    wait(QUIET);
    assert!(scene.volumes().is_empty() && scene.names("fast/vol1").len() == 3, "{}", local.log());
}

fn a_disk_that_is_not_empty_is_held_until_it_is_emptied() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "full");
    scene.disks.file_system("vol1", 32);
    let device = scene.disks.block_device("disk1", 32);
    fs::write(&device, SECRET).unwrap();
    let file = scene.disks.path("fast/vol1/.hidden");
    fs::write(&file, SECRET).unwrap();
    let local = scene.start();
    let reported = scene.event(&local, "DiskNotEmpty");
    assert!(reported.contains("empty it, or set onContent: offer"), "{reported}");
    wait(QUIET);
    assert!(scene.volumes().is_empty());
    local.kill();
    fs::remove_file(&file).unwrap();
    scene.keys = ", onContent: offer";
    let _local = scene.start();
    scene.volume("fast/vol1", "Available", "");
    scene.volume("raw/disk1", "Available", "");
}

fn a_disk_is_not_cleaned_while_a_pod_has_it_mounted() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "mounted");
    let local = scene.start();
    let volume = scene.written("vol1", "data");
    let (source, point) = (scene.disks.path("fast/vol1"), scene.pod_mount());
    scene.disks.mount(&["--bind", &source.to_string_lossy()], &point);
    scene.delete_claim("data");
    let reported = scene.event(&local, "DiskInUse");
    assert!(reported.contains("neither cleaned nor offered while it is in use"), "{reported}");
    wait(QUIET);
    assert_eq!(scene.names("fast/vol1").len(), 3);
    scene.disks.unmount(&point);
    scene.volume("fast/vol1", "Available", &uid(&volume));
    assert!(scene.names("fast/vol1").is_empty());
}

/// sig-storage-local-static-provisioner#201: a node was made again under its name.
fn a_node_of_a_former_name_gets_its_own_disk_back_and_no_other() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "rebuilt");
    let local = scene.start();
    for disk in ["vol1", "vol2"] {
        scene.disks.file_system(disk, 32);
        let volume = scene.volume(&format!("fast/{disk}"), "Available", "");
        scene.bind(disk, &volume);
    }
    scene.write_as_pod("fast/vol1");
    local.kill();
    let path = format!("/api/v1/nodes/{}", scene.node);
    scene.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
    scene.create_node();
    let point = scene.disks.path("fast/vol2");
    scene.disks.unmount(&point);
    let other = scene.disks.format("other", 32);
    scene.disks.mount(&[&other], &point);
    let local = scene.start();
    let volume = scene.volume("fast/vol1", "Bound", "");
    scene.event(&local, "DiskReplaced");
    scene.delete_claim("vol1");
    scene.volume("fast/vol1", "Available", &uid(&volume));
    let replaced = scene.volume("fast/vol2", "Bound", "");
    assert!(replaced["metadata"]["deletionTimestamp"].is_null());
}

/// sig-storage-local-static-provisioner#6 among others: a folder that is no mount, links, one disk twice.
fn what_is_no_disk_is_reported_and_never_offered() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "nodisk");
    let device = scene.disks.block_device("disk1", 8);
    symlink(fs::canonicalize(&device).unwrap(), scene.disks.path("raw/same")).unwrap();
    fs::write(scene.disks.path("raw/file"), SECRET).unwrap();
    let own = scene.disks.path("own");
    fs::create_dir(&own).unwrap();
    symlink(&own, scene.disks.path("fast/link")).unwrap();
    let again = scene.disks.path("fast/again");
    fs::create_dir(&again).unwrap();
    scene.disks.mount(&["--bind", &own.to_string_lossy()], &again);
    let local = scene.start();
    for (entry, said) in [
        ("raw/disk1", "is the same disk"),
        ("raw/same", "is the same disk"),
        ("raw/file", "it is neither a folder nor a block device"),
        ("fast/link", "a symbolic link to a folder"),
        ("fast/again", "the folder is a part of the node's own disk"),
    ] {
        let path = scene.disks.path(entry).display().to_string();
        eventually(&format!("an event about {entry}"), PATIENCE, || {
            let texts = scene.events("DiskUnusable");
            let is_said = texts.iter().any(|text| text.starts_with(&path) && text.contains(said));
            if is_said { Ok(()) } else { Err(format!("{texts:?} {}", local.log())) }
        });
    }
    assert!(scene.volumes().is_empty());
    // The one entry that is left is the disk.
    fs::remove_file(scene.disks.path("raw/same")).unwrap();
    scene.volume("raw/disk1", "Available", "");
}

fn a_node_loses_its_taint_once_its_disks_are_offered() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "tainted");
    scene.files = vec![
        ("removeNodeNotReadyTaint", "true"),
        ("provisionerNotReadyNodeTaintKey", "disks.example.com/not-ready"),
    ];
    let path = format!("/api/v1/nodes/{}", scene.node);
    let taint = |key: &str| json!({"key": key, "effect": "NoSchedule"});
    let taints = json!({"spec": {"taints": [taint("disks.example.com/not-ready"), taint("example.com/other")]}});
    plane.request(ADMIN, Method::PATCH, &path, Body::merge_patch(&taints)).expect_ok();
    scene.disks.file_system("vol1", 32);
    let local = scene.start();
    eventually("the taint is gone", PATIENCE, || {
        let node = plane.get(ADMIN, &path).expect_ok();
        let taints = &node["spec"]["taints"];
        if *taints == json!([taint("example.com/other")]) { Ok(()) } else { Err(local.log()) }
    });
    let offered = scene.volumes().iter().filter(|volume| !is_before_offer(volume)).count();
    assert_eq!(offered, 1, "pods find the disks that they wait for");
}

/// A call on a disk that hangs does not return: the scan goes on without it, and the others are offered, used and cleaned.
fn a_disk_that_does_not_answer_holds_up_no_other() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "silent");
    let point = scene.disks.path("fast/silent");
    fs::create_dir(&point).unwrap();
    let silent = scene.disks.mount_silent(&point);
    let local = scene.start();
    scene.disks.file_system("vol1", 32);
    let volume = scene.volume("fast/vol1", "Available", "");
    let reported = scene.event(&local, "DiskUnusable");
    assert!(reported.contains("the disk does not answer"), "{reported}");
    scene.bind("data", &volume);
    scene.write_as_pod("fast/vol1");
    scene.delete_claim("data");
    scene.volume("fast/vol1", "Available", &uid(&volume));
    assert!(scene.names("fast/vol1").is_empty());
    drop(silent);
}

//! A disk that is mounted on another node: it is proposed as a move, which a person makes.

use std::fs;
use std::process::Command;

use http::Method;
use serde_json::{Value, json};

use super::doubtful::QUIET;
use super::scene::{PATIENCE, SECRET, Scene};
use crate::eventually::{eventually, wait};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_disk_on_another_node_is_moved_by_a_person_with_its_data),
    case!(a_disk_that_has_another_volume_is_not_cleaned_whatever_its_mark_says),
];

/// What `bindery local moves` prints.
#[track_caller]
fn moves(plane: &Plane, more: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_bindery"))
        .args(["local", "moves", "--kubeconfig"])
        .arg(plane.kubeconfig(ADMIN))
        .args(more)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Performs the commands that were printed: those of kubectl as they stand.
fn follow(plane: &Plane, printed: &str, volume: &str) {
    let manifest = moves(plane, &["--manifest", volume]);
    let file = format!("{volume}.yaml");
    let commands = printed.lines().map(|line| line.trim().trim_end_matches(" &&"));
    let mut count = 0;
    for command in commands.filter_map(|line| line.strip_prefix("kubectl ")) {
        let words = command.split(' ').map(|word| word.trim_matches('\''));
        let words: Vec<&str> = words.map(|word| if word == file { "-" } else { word }).collect();
        plane.kubectl(ADMIN, &words, if words.contains(&"-") { &manifest } else { "" }).expect_ok();
        count += 1;
    }
    assert_eq!(count, 5, "{printed}");
}

fn a_disk_on_another_node_is_moved_by_a_person_with_its_data() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut former = Scene::new(plane, "former");
    let mut new = Scene::new(plane, "new");
    // Both nodes offer one StorageClass.
    new.classes_of = Some(former.objects.name(""));
    let (local, other) = (former.start(), new.start());
    former.disks.format("disk", 32);
    let device = former.disks.device("disk");
    let (here, there) = (former.disks.path("fast/a"), new.disks.path("fast/b"));
    for point in [&here, &there] {
        fs::create_dir(point).unwrap();
    }
    former.disks.mount(&[&device], &here);
    let volume = former.volume("fast/a", "Available", "");
    let name = volume["metadata"]["name"].as_str().unwrap().to_owned();
    former.bind("data", &volume);
    former.write_as_pod("fast/a");
    assert_eq!(moves(plane, &[]), "no disk was found elsewhere than its PersistentVolume has it\n");
    former.disks.unmount(&here);
    new.disks.mount(&[&device], &there);
    let printed = eventually("the move is proposed", PATIENCE * 3, || {
        let printed = moves(plane, &[]);
        let is_it = printed.contains(&name) && printed.contains(&there.display().to_string());
        if is_it { Ok(printed) } else { Err(format!("{printed}{}{}", local.log(), other.log())) }
    });
    assert!(new.volumes().is_empty(), "its data has an owner");
    follow(plane, &printed, &name);
    let moved = new.volume("fast/b", "Bound", "");
    assert_eq!(moved["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    assert_eq!(plane.get(ADMIN, &volume_path(&name)).code, 404);
    let claim = plane.get(ADMIN, &claim_path(former.objects.namespace(), "data")).expect_ok();
    assert_eq!(claim["spec"]["volumeName"], moved["metadata"]["name"]);
    assert_eq!(fs::read_to_string(there.join("folder/file")).unwrap(), SECRET);
    // It is the new node's: once its data is not needed, it is cleaned and offered there.
    let marked = |volume: &Value| volume["metadata"]["name"].as_str().unwrap().to_owned();
    let delete = Body::merge_patch(&json!({"spec": {"persistentVolumeReclaimPolicy": "Delete"}}));
    plane.request(ADMIN, Method::PATCH, &volume_path(&marked(&moved)), delete).expect_ok();
    former.delete_claim("data");
    new.volume("fast/b", "Available", moved["metadata"]["uid"].as_str().unwrap());
    assert!(new.names("fast/b").is_empty());
    assert!(former.volumes().is_empty(), "{:?}", former.volumes());
}

/// It was moved to another node, got a volume there, and came back with the mark of its former one.
fn a_disk_that_has_another_volume_is_not_cleaned_whatever_its_mark_says() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "back");
    scene.keys = ", onManualDelete: clean";
    let local = scene.start();
    let volume = scene.written("vol1", "data");
    local.kill();
    scene.delete_claim("data");
    scene.volume("fast/vol1", "Released", "");
    scene.delete_volume_by_hand(&volume);
    let metadata = &volume["metadata"];
    let mut elsewhere = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": scene.objects.name("elsewhere"),
            "labels": metadata["labels"], "annotations": metadata["annotations"]},
        "spec": volume["spec"],
    });
    let values = "/spec/nodeAffinity/required/nodeSelectorTerms/0/matchExpressions/0/values/0";
    *elsewhere.pointer_mut(values).unwrap() = json!("another");
    scene.objects.create("/api/v1/persistentvolumes", &elsewhere);
    let local = scene.start();
    let reported = scene.event(&local, "DiskMoved");
    assert!(reported.contains(&scene.objects.name("elsewhere")), "{reported}");
    wait(QUIET);
    assert_eq!(scene.names("fast/vol1").len(), 3, "{}", local.log());
}

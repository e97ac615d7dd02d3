//! A disk is found, offered, bound by the real scheduler, written to, released, cleaned and offered again.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::disks::NodeDisks;
use super::process::LocalProvisioner;
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Objects, Peers, Plane, claim_path};
use crate::runner::{Case, case};
use http::Method;

pub(super) const CASES: &[Case] =
    &[case!(a_local_disk_is_found_offered_written_cleaned_and_offered_again)];

/// How long the machine may take to do what takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

const SECRET: &str = "what the former tenant wrote";

/// A node that the scheduler can use.
fn node(plane: &Plane, name: &str) {
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    plane.request(ADMIN, Method::POST, "/api/v1/nodes", Body::json(&node)).expect_ok();
    let untainted = Body::merge_patch(&json!({"spec": {"taints": null}}));
    plane.request(ADMIN, Method::PATCH, &format!("/api/v1/nodes/{name}"), untainted).expect_ok();
}

fn class(objects: &Objects<'_>, name: &str) {
    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer",
    });
    objects.create("/apis/storage.k8s.io/v1/storageclasses", &class);
}

/// The volume of the class in this phase, once there is one with another uid.
fn offered(plane: &Plane, class: &str, phase: &str, not: &str) -> Value {
    eventually(&format!("a volume of {class} is {phase}"), PATIENCE, || {
        let list = plane.get(ADMIN, "/api/v1/persistentvolumes").expect_ok();
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let mut of_class = items.into_iter().filter(|item| {
            item["spec"]["storageClassName"] == class && item["metadata"]["uid"] != not
        });
        let volume = of_class.next().ok_or("none")?;
        if volume["status"]["phase"] == phase {
            Ok(volume)
        } else {
            Err(volume["status"].to_string())
        }
    })
}

fn pod(objects: &Objects<'_>, name: &str, mode: &str) -> String {
    let namespace = objects.namespace();
    let mut container = json!({"name": "c", "image": "registry.example.com/db:1"});
    match mode {
        "Block" => {
            container["volumeDevices"] = json!([{"name": "data", "devicePath": "/dev/data"}]);
        }
        _ => container["volumeMounts"] = json!([{"name": "data", "mountPath": "/data"}]),
    }
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "containers": [container],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
        },
    });
    objects.create(&format!("/api/v1/namespaces/{namespace}/pods"), &pod);
    format!("/api/v1/namespaces/{namespace}/pods/{name}")
}

/// One life of the disk of a class: what the pod writes is written by `write`, as the kubelet would have it.
fn life(
    plane: &Plane,
    objects: &Objects<'_>,
    class: &str,
    mode: &str,
    write: &mut dyn FnMut(&Value),
) {
    let volume = offered(plane, class, "Available", "");
    let name = volume["metadata"]["name"].as_str().unwrap().to_owned();
    let spec = json!({"spec": {"storageClassName": class, "volumeMode": mode,
        "resources": {"requests": {"storage": "1Mi"}}}});
    objects.claim(class, &spec);
    let pod = pod(objects, class, mode);
    let claim = claim_path(objects.namespace(), class);
    eventually("the scheduler and the binder bind it", PATIENCE, || {
        let claim = plane.get(ADMIN, &claim).expect_ok();
        if claim["spec"]["volumeName"] == name { Ok(()) } else { Err(claim.to_string()) }
    });
    write(&volume);
    let now = Body::json(&json!({"gracePeriodSeconds": 0}));
    plane.request(ADMIN, Method::DELETE, &pod, now).expect_ok();
    plane.request(ADMIN, Method::DELETE, &claim, Body::none()).expect_ok();
    let uid = volume["metadata"]["uid"].as_str().unwrap();
    let again = offered(plane, class, "Available", uid);
    assert_eq!(again["metadata"]["name"], name, "it has its name again");
    assert_eq!(again["spec"], without_reservation(&volume), "{again}");
}

fn without_reservation(volume: &Value) -> Value {
    let mut spec = volume["spec"].clone();
    spec.as_object_mut().unwrap().remove("claimRef");
    spec
}

fn a_local_disk_is_found_offered_written_cleaned_and_offered_again() {
    let plane = Plane::start(Peers::Everyone).unwrap();
    let objects = plane.objects("disks");
    let mut disks = NodeDisks::new();
    node(&plane, "node-1");
    for name in ["fast", "raw"] {
        class(&objects, name);
    }
    let folder = |name: &str| disks.path(name).display().to_string();
    let (fast, raw) = (folder("fast"), folder("raw"));
    let classes = format!(
        "fast: {{hostDir: {fast}, mountDir: {fast}}}\nraw: {{hostDir: {raw}, mountDir: {raw}, volumeMode: Block}}\n"
    );
    let local = LocalProvisioner::start(&plane, &disks, "node-1", &classes);
    fs::create_dir(disks.path("fast/folder")).unwrap();
    let begun = Instant::now();
    disks.file_system("vol1", 32);
    let volume = offered(&plane, "fast", "Available", "");
    eprintln!("from mkfs to Available: {:?}", begun.elapsed());
    assert_eq!(volume["spec"]["local"]["path"], json!(disks.path("fast/vol1")));
    assert_eq!(volume["metadata"]["labels"]["bindery.dev/local-node"], "node-1");
    let kubelet = disks.path("kubelet/pods/p/volumes/kubernetes.io~local-volume/v");
    fs::create_dir_all(&kubelet).unwrap();
    let point: PathBuf = disks.path("fast/vol1");
    life(&plane, &objects, "fast", "Filesystem", &mut |_| {
        disks.mount(&["--bind", &point.to_string_lossy()], &kubelet);
        fs::write(kubelet.join(".hidden"), SECRET.repeat(1000)).unwrap();
        fs::create_dir(kubelet.join("folder")).unwrap();
        fs::write(kubelet.join("folder/file"), SECRET).unwrap();
        disks.unmount(&kubelet);
    });
    let left: Vec<_> = fs::read_dir(&point).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");

    let device = disks.block_device("disk1", 32);
    life(&plane, &objects, "raw", "Block", &mut |_| {
        fs::write(&device, SECRET.repeat(200_000)).unwrap();
        assert!(disks.holds("disk1", SECRET));
    });
    assert!(!disks.holds("disk1", SECRET), "{}", local.log());
    let volumes = plane.get(ADMIN, "/api/v1/persistentvolumes").expect_ok();
    assert_eq!(
        volumes["items"].as_array().map(Vec::len),
        Some(2),
        "a folder is no disk: {}",
        local.log()
    );
}

//! The local static provisioner with what the chart gives it: each right and each capability is needed, and no other.
//!
//! Not here: what keeps containers that are not privileged from opening block devices; that is the container runtime's.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hyper::Method;
use rustix::fs::getxattr;
use serde_json::{Value, json};

use super::super::site::{CHART, NAME};
use super::{granted, sweep, unused};
use crate::eventually::eventually;
use crate::local_disks::job_pods::{job, pod, start};
use crate::local_disks::process::{Identity, LocalProvisioner};
use crate::local_disks::scene::{PATIENCE, SECRET, Scene, is_before_offer};
use crate::network;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, volume_path};
use crate::runner::{Case, case};

const ACCOUNT: &str = "bindery-local";
const TAINT: &str = "disks.example.com/not-ready";
/// A user of a container, and its group.
const TENANT: u32 = 1000;

/// Its case.
pub(super) const LOCAL_RIGHTS: Case =
    case!(the_local_static_provisioner_needs_what_the_chart_gives_it_and_no_more);

fn the_local_static_provisioner_needs_what_the_chart_gives_it_and_no_more() {
    network::expect_own();
    let plane = Plane::start(Peers::AuditedCluster).unwrap_or_else(|error| panic!("{error}"));
    let given = install(&plane);
    let mut scene = Scene::new(&plane, "given");
    scene.keys = ", onManualDelete: clean";
    NAME.clone_into(&mut scene.pod_namespace);
    scene.files = vec![
        ("removeNodeNotReadyTaint", "true"),
        ("provisionerNotReadyNodeTaintKey", TAINT),
        ("useJobForCleaning", "true"),
    ];
    let taints = json!({"spec": {"taints": [{"key": TAINT, "effect": "NoSchedule"}]}});
    let node = format!("/api/v1/nodes/{}", scene.node);
    plane.request(ADMIN, Method::PATCH, &node, Body::merge_patch(&taints)).expect_ok();
    fs::create_dir(scene.disks.path("fast/folder")).unwrap();
    for name in ["vol1", "vol2"] {
        scene.disks.file_system(name, 16);
    }
    let local = scene.start_as(&given);
    lives_of_disks(&mut scene, &local);
    life_of_block_device(&mut scene, &local);
    eventually("the taint is gone", PATIENCE, || {
        let node = plane.get(ADMIN, &node).expect_ok();
        if node["spec"]["taints"].is_null() { Ok(()) } else { Err(local.log()) }
    });
    scene.event(&local, "DiskNotMounted");
    // The same again by another process: the event exists.
    local.kill();
    let local = scene.start_as(&given);
    let granted = granted(&plane, &[ACCOUNT]);
    eventually("every right was used", Duration::from_mins(1), || {
        let unused = unused(&plane, &granted);
        if unused.is_empty() { Ok(()) } else { Err(format!("{unused}{}", local.log())) }
    });
    assert!(!local.log().contains("is forbidden"), "{}", local.log());
    local.kill();
    let denied = sweep(&plane, &granted);
    assert!(denied >= 250, "{denied}");
    each_capability_is_needed(&mut scene, &given);
}

/// The API server takes what these templates of the chart make, in a namespace of a Pod Security level.
pub(crate) fn apply(plane: &Plane, level: &str, set: &str, templates: &[&str]) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": NAME, "labels": {"pod-security.kubernetes.io/enforce": level}}});
    plane.request(ADMIN, Method::POST, "/api/v1/namespaces", Body::json(&namespace)).expect_ok();
    // Other cases run Bindery under these names; here one account alone has rights.
    for binding in ["e2e:bindery:e2e:storage", "e2e:bindery-controller:e2e:binds"] {
        let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{binding}");
        plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
    }
    apply_again(plane, set, templates);
}

/// The same once the namespace is there, with other values.
pub(super) fn apply_again(plane: &Plane, set: &str, templates: &[&str]) {
    let shown = templates.iter().map(|template| format!("--show-only=templates/{template}"));
    let rendered = Command::new(plane.binaries().join("helm"))
        .args(["template", NAME, CHART, "-n", NAME, "--set", set])
        .args(shown)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&rendered.stderr);
    assert!(rendered.status.success(), "{errors}");
    let objects = String::from_utf8_lossy(&rendered.stdout);
    plane.kubectl(ADMIN, &["apply", "-f", "-"], &objects).expect_ok();
}

/// What the chart makes for the provisioner: its account, and the capabilities of its container.
fn install(plane: &Plane) -> Identity {
    let set = format!(
        "local.enabled=true,local.classes.fast.hostDir=/mnt,local.removeNodeNotReadyTaint=true,\
         local.useJobForCleaning=true,local.provisionerNotReadyNodeTaintKey={TAINT}"
    );
    apply(plane, "privileged", &set, &["rbac-local.yaml", "local.yaml"]);
    let path = format!("/apis/apps/v1/namespaces/{NAME}/daemonsets/{ACCOUNT}");
    let daemon = plane.get(ADMIN, &path).expect_ok();
    let pod = &daemon["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], ACCOUNT);
    let added = &pod["containers"][0]["securityContext"]["capabilities"]["add"];
    let added = added.as_array().into_iter().flatten().filter_map(Value::as_str);
    let capabilities: Vec<String> = added.map(str::to_lowercase).collect();
    assert_eq!(capabilities.len(), 3, "{capabilities:?}");
    Identity {
        kubeconfig: plane.account_kubeconfig(NAME, ACCOUNT),
        capabilities: Some(capabilities),
    }
}

/// One disk is released, the PV of the other one is deleted by a person; both are cleaned and offered again.
fn lives_of_disks(scene: &mut Scene<'_>, local: &LocalProvisioner) {
    let first = volume(scene, local, "fast/vol1", "");
    let other = volume(scene, local, "fast/vol2", "");
    write_as_tenant(&scene.disks.path("fast/vol1"));
    write_as_tenant(&scene.disks.path("fast/vol2"));
    release(scene.plane, &first);
    scene.delete_volume_by_hand(&other);
    for (entry, before) in [("fast/vol1", first), ("fast/vol2", other)] {
        volume(scene, local, entry, before["metadata"]["uid"].as_str().unwrap());
        assert!(scene.names(entry).is_empty(), "{entry}: {:?}", scene.names(entry));
        assert!(is_marked(&scene.disks.path(entry)), "{entry}: no mark is on the disk");
    }
}

/// A Job cleans it, under an account that the chart gives no right.
fn life_of_block_device(scene: &mut Scene<'_>, local: &LocalProvisioner) {
    let device = scene.disks.block_device("disk1", 16);
    let offered = volume(scene, local, "raw/disk1", "");
    fs::write(device, SECRET).unwrap();
    release(scene.plane, &offered);
    let pod = pod(scene, &job(scene, &offered, &Value::Null));
    assert_eq!(start(&pod).end().0, Some(0));
    volume(scene, local, "raw/disk1", offered["metadata"]["uid"].as_str().unwrap());
    assert!(!scene.disks.holds("disk1", SECRET));
}

/// The PV of an entry once it is offered, with another uid than `not`.
#[track_caller]
fn volume(scene: &Scene<'_>, local: &LocalProvisioner, entry: &str, not: &str) -> Value {
    let path = json!(scene.disks.path(entry));
    eventually(&format!("a PersistentVolume of {entry}"), PATIENCE, || {
        let is_it = |volume: &Value| {
            volume["spec"]["local"]["path"] == path
                && volume["metadata"]["uid"] != not
                && volume["metadata"]["deletionTimestamp"].is_null()
                && !is_before_offer(volume)
        };
        scene.volumes().into_iter().find(is_it).ok_or_else(|| local.log())
    })
}

/// As the binder leaves a PV whose PVC was deleted: no binder runs here.
fn release(plane: &Plane, volume: &Value) {
    let path = volume_path(volume["metadata"]["name"].as_str().unwrap());
    let uid = "00000000-0000-4000-8000-000000000000";
    let reserved =
        json!({"spec": {"claimRef": {"namespace": "default", "name": "gone", "uid": uid}}});
    plane.request(ADMIN, Method::PATCH, &path, Body::merge_patch(&reserved)).expect_ok();
    let released = Body::merge_patch(&json!({"status": {"phase": "Released"}}));
    plane.request(ADMIN, Method::PATCH, &format!("{path}/status"), released).expect_ok();
}

/// What a pod leaves whose user is not root: a folder of its own, and files in one with the sticky bit.
fn write_as_tenant(root: &Path) {
    let (private, shared) = (root.join("private"), root.join("shared"));
    for (folder, mode) in [(&private, 0o700), (&shared, 0o1777)] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("file"), "x").unwrap();
        chown(folder.join("file"), Some(TENANT), Some(TENANT)).unwrap();
        chown(folder, Some(TENANT), Some(TENANT)).unwrap();
        fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
    }
}

fn is_marked(root: &Path) -> bool {
    getxattr(root, "trusted.bindery.mark", &mut [0; 512]).is_ok()
}

/// Without one of them, a disk is not cleaned, or its mark is not on it.
fn each_capability_is_needed(scene: &mut Scene<'_>, given: &Identity) {
    let all = given.capabilities.clone().unwrap_or_default();
    for (number, missing) in all.iter().enumerate() {
        let entry = format!("fast/less{number}");
        scene.disks.file_system(&format!("less{number}"), 16);
        let others = all.iter().filter(|name| *name != missing).cloned().collect();
        let local = scene.start_as(&Identity { capabilities: Some(others), ..given.clone() });
        let offered = volume(scene, &local, &entry, "");
        write_as_tenant(&scene.disks.path(&entry));
        release(scene.plane, &offered);
        if missing == "sys_admin" {
            volume(scene, &local, &entry, offered["metadata"]["uid"].as_str().unwrap());
            assert!(
                !is_marked(&scene.disks.path(&entry)),
                "the mark can be written without {missing}"
            );
        } else {
            let path = scene.disks.path(&entry).display().to_string();
            let reported = eventually("cleaning fails", PATIENCE, || {
                let events = scene.events("VolumeFailedDelete");
                events.into_iter().find(|text| text.starts_with(&path)).ok_or_else(|| local.log())
            });
            let is_denied = ["Permission denied", "Operation not permitted"];
            let is_denied = is_denied.iter().any(|text| reported.contains(text));
            assert!(is_denied, "without {missing}: {reported}");
            assert!(!scene.names(&entry).is_empty(), "it is cleaned without {missing}");
        }
    }
}

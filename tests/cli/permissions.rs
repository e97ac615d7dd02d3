//! `bindery explain` with an account that may not list everything: it names the permission that is missing and what is
//! unknown without it, and goes on.

use serde_json::{Value, json};

use super::attach::{attached, event};
use super::cluster::run_against;
use crate::Output;

/// What holds storage.
const STORAGE: &[&str] = &["/persistentvolumes", "/persistentvolumeclaims", "/storageclasses"];

/// What is said of the volume of the pod without seeing it.
const UNSEEN: &str = "whether PV \"disk\" is attached to node \"n2\" is not known: the PV was not read; the kubelet last \
    said: MountVolume.SetUp failed";

/// An object to explain, the ends of the paths that are denied, and what the explanation says.
type Row = (&'static str, &'static [&'static str], &'static [&'static str]);

/// What a cluster with these objects answers to an account that may not read `denied`.
fn answer(state: &Value, denied: &[&str], path: &str) -> (u16, Value) {
    let status = |code: u16, message: &str| {
        (code, json!({"kind": "Status", "status": "Failure", "code": code, "message": message}))
    };
    if denied.iter().any(|part| path.ends_with(part)) {
        return status(403, "you cannot list this");
    }
    let items = state["items"].as_array().expect("a list");
    let of_kind =
        |kind: &str| -> Vec<&Value> { items.iter().filter(|item| item["kind"] == kind).collect() };
    let name = path.rsplit('/').next().unwrap_or_default();
    let kind = match name.split('?').next().unwrap_or_default() {
        "persistentvolumes" => "PersistentVolume",
        "persistentvolumeclaims" => "PersistentVolumeClaim",
        "storageclasses" => "StorageClass",
        "volumeattachments" => "VolumeAttachment",
        "csidrivers" => "CSIDriver",
        "csinodes" => "CSINode",
        "nodes" => "Node",
        "pods" => "Pod",
        "events" => "Event",
        "web" => return (200, of_kind("Pod")[0].clone()),
        "data" => return (200, of_kind("PersistentVolumeClaim")[0].clone()),
        _ => return status(404, "not found"),
    };
    (200, json!({"kind": format!("{kind}List"), "items": of_kind(kind)}))
}

/// The explanation for an account that may not read `denied`: a pod whose volume is attached and cannot be mounted.
fn explained(target: &str, denied: &'static [&'static str]) -> Output {
    let text = format!(
        "{}{}",
        attached("n2", "{attached: true}"),
        event("FailedMount", "MountVolume.SetUp failed for volume \"disk\" : wrong fs type")
    );
    let state = bindery::document::read(&text).expect("YAML")[0].to_json();
    let arguments = ["explain", target, "-n", "db"];
    run_against(move |path| answer(&state, denied, path), &arguments).0
}

/// Each explanation says so and ends with this code.
#[track_caller]
fn expect(rows: &[Row], code: i32) {
    for (target, denied, said) in rows {
        let run = explained(target, denied);
        for part in *said {
            assert!(run.stdout.contains(part), "{target} without {denied:?}: {part}\n{run:?}");
        }
        assert_eq!(run.code, code, "{target} without {denied:?}\n{run:?}");
    }
}

#[test]
fn what_volumes_rest_on_is_unknown_without_their_lists() {
    let rows: [Row; 5] = [
        (
            "pod/web",
            &["/persistentvolumes"],
            &[UNSEEN, "may not list the PersistentVolumes of the cluster"],
        ),
        (
            "pod/web",
            STORAGE,
            &[UNSEEN, "PersistentVolumes and PersistentVolumeClaims and StorageClasses of the"],
        ),
        (
            "pvc/data",
            &["/persistentvolumes"],
            &["is bound to PV \"disk\"; its pod waits on node \"n2\"", UNSEEN],
        ),
        (
            "pod/web",
            &["/storageclasses"],
            &["what depends on StorageClasses is not known: the cluster denies access to \
               /apis/storage.k8s.io/v1/storageclasses: you cannot list this"],
        ),
        (
            "node/n2",
            STORAGE,
            &["what depends on PersistentVolumes is not known", "PVC \"db/data\" cannot be judged"],
        ),
    ];
    expect(&rows, 1);
}

#[test]
fn each_list_that_attaching_rests_on_is_named() {
    const PODS: &str =
        "whether its PV is on its way to a node is not known: the cluster denies access";
    let rows: [Row; 6] = [
        (
            "pod/web",
            &["/volumeattachments"],
            &["not all VolumeAttachments are known", "volumeattachments: you cannot list this"],
        ),
        (
            "pod/web",
            &["/csidrivers"],
            &["not all CSIDrivers are known", "csidrivers: you cannot list this"],
        ),
        (
            "pod/web",
            &["/csinodes"],
            &["not all CSINodes are known", "csinodes: you cannot list this"],
        ),
        (
            "pod/web",
            &["/api/v1/nodes", "%3Dweb"],
            &["the Node was not read", "access to /api/v1/nodes: you cannot list this"],
        ),
        (
            "pod/web",
            &["/db/pods"],
            &["which other pods use its PVCs is not known: the cluster denies access"],
        ),
        (
            "node/n2",
            &["/volumeattachments"],
            &["how many volumes are attached is not known", "not all VolumeAttachments are known"],
        ),
    ];
    expect(&rows, 1);
    // A PVC is bound, whatever its pods do.
    expect(&[("pvc/data", &["/db/pods"], &[PODS])], 0);
}

#[test]
fn an_object_that_may_not_be_read_itself_is_not_explained() {
    let rows: [(&str, &[&str]); 3] = [
        ("pv/disk", &["/persistentvolumes"]),
        ("node/n2", &["/api/v1/nodes"]),
        ("statefulset/web", &["/db/pods"]),
    ];
    for (target, denied) in rows {
        let run = explained(target, denied);
        assert_eq!((run.code, run.stdout.as_str()), (4, ""), "{target}: {run:?}");
        assert!(run.stderr.contains("use an account with the permission, or a dump"), "{run:?}");
    }
}

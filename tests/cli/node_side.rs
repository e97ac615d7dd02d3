//! What `check` says of the deletion of nodes, attachments, classes and drivers, of taints, and of snapshots.

use serde_json::{Value, json};

use crate::cluster::run_against;
use crate::{Folder, Output};

/// A bound pair on a disk of node n1, of class fast, and a PVC that has nothing to do with it in another namespace.
fn pair() -> Value {
    let on_n1 = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]});
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-a", "uid": "pv-1"},
        "spec": {
            "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
            "csi": {"driver": "disk.example.com", "volumeHandle": "a"},
            "claimRef": {"namespace": "db", "name": "data", "uid": "c-1"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_n1]}]}},
        },
        "status": {"phase": "Bound"},
    });
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": "db", "name": "data", "uid": "c-1"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeName": "pv-a",
            "resources": {"requests": {"storage": "10Gi"}},
        },
        "status": {"phase": "Bound"},
    });
    let elsewhere = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": "web", "name": "data", "uid": "c-2"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "slow",
            "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Pending"},
    });
    json!([volume, claim, elsewhere])
}

fn class() -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
        "provisioner": "disk.example.com"})
}

fn node(ready: &str, taints: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "n1", "uid": "n-1", "labels": {"kubernetes.io/hostname": "n1"}},
        "spec": {"taints": taints}, "status": {"conditions": [{"type": "Ready", "status": ready}]}})
}

fn attachment() -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "csi-a", "uid": "a-1"},
        "spec": {"attacher": "disk.example.com", "nodeName": "n1", "source": {"persistentVolumeName": "pv-a"}},
        "status": {"attached": true}})
}

fn content(policy: &str) -> Value {
    json!({"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
        "metadata": {"name": "snap-a", "uid": "s-1"},
        "spec": {"deletionPolicy": policy, "driver": "disk.example.com", "source": {"snapshotHandle": "s"},
            "volumeSnapshotRef": {"namespace": "db", "name": "nightly"}}})
}

/// A dump of the pair, and of these besides.
fn dump(others: &[Value]) -> String {
    let items: Vec<Value> =
        pair().as_array().into_iter().flatten().chain(others).cloned().collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// Result and the beginning of the message of each finding.
fn reported(output: &Output) -> Vec<String> {
    let report: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let findings = report["findings"].as_array().expect("findings").iter();
    let line = |finding: &Value| {
        let message = finding["message"].as_str().expect("text");
        let rule = finding["rule"].as_str();
        let what = rule.unwrap_or_else(|| message.split(" is not known").next().expect("a part"));
        format!("{} {what}", finding["result"].as_str().expect("text"))
    };
    findings.map(line).collect()
}

fn check(live: &str, arguments: &[&str]) -> Vec<String> {
    let folder = Folder::new();
    folder.write("live.json", live);
    let common = ["check", "--live", "live.json", "-o", "json"];
    reported(&folder.run(&[&common[..], arguments].concat()))
}

#[test]
fn a_deletion_is_judged_by_what_the_dump_shows_and_is_not_clean_where_it_does_not() {
    let whole = dump(&[class(), node("True", &json!([])), attachment()]);
    let delete = |live: &str, target: &str| check(live, &["--delete", target]);
    assert_eq!(delete(&whole, "node/n1"), ["warned node-delete-local-data"]);
    assert_eq!(delete(&whole, "sc/fast"), ["warned storage-class-delete-in-use"]);
    assert_eq!(delete(&whole, "volumeattachment/csi-a"), ["denied volume-attachment-delete"]);
    assert_eq!(delete(&whole, "csidriver/disk.example.com"), ["warned csi-driver-delete-in-use"]);
    assert_eq!(delete(&whole, "csidriver/other.example.com"), [""; 0]);
    let off = json!([{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]);
    let declared = dump(&[node("Unknown", &off), attachment()]);
    assert_eq!(delete(&declared, "volumeattachment/csi-a"), [""; 0]);
    // Of what the dump has no list, nothing is known.
    let less = dump(&[]);
    assert_eq!(
        delete(&less, "node/n1"),
        ["unverified whether node/n1 conflicts with stored objects"]
    );
    assert_eq!(
        delete(&less, "volumeattachment/csi-a"),
        ["unverified whether volumeattachment/csi-a conflicts with stored objects"]
    );
    let no_nodes = dump(&[attachment()]);
    let unsure = delete(&no_nodes, "volumeattachment/csi-a");
    assert_eq!(unsure, ["unverified volume-attachment-delete"]);
    let no_storage =
        json!({"apiVersion": "v1", "kind": "NodeList", "items": [node("True", &json!([]))]});
    assert_eq!(
        delete(&no_storage.to_string(), "node/n1"),
        ["unverified whether node/n1 conflicts with stored objects"]
    );
    assert!(delete(&whole, "node/n2")[0].starts_with("api node/n2 does not exist"));
}

#[test]
fn a_deletion_is_not_clean_where_the_input_is_all_there_is() {
    let folder = Folder::new();
    for target in ["node/n1", "sc/fast", "csidriver/d", "volumeattachment/csi-a"] {
        let output = folder.run(&["check", "--delete", target, "-o", "json"]);
        let expected = format!("unverified whether the deletion of {target} harms bound PVs");
        assert_eq!(reported(&output), [expected]);
    }
}

/// A class and a driver belong to what is applied from a repository.
#[test]
fn a_manifest_that_goes_is_a_deletion() {
    let folder = Folder::new();
    folder.write("live.json", dump(&[class()]));
    folder.write("old/class.json", class().to_string());
    let driver = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
        "metadata": {"name": "disk.example.com"}, "spec": {}});
    folder.write("old/driver.json", driver.to_string());
    folder.write("new/class.json", class().to_string().replace("\"fast\"", "\"slow\""));
    let arguments = ["check", "--old", "old", "-f", "new", "--live", "live.json", "-o", "json"];
    let mut found = reported(&folder.run(&arguments));
    found.sort();
    assert_eq!(found, ["warned csi-driver-delete-in-use", "warned storage-class-delete-in-use"]);
}

#[test]
fn a_manifest_is_compared_with_what_is_stored() {
    let folder = Folder::new();
    let off = json!([{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]);
    let mut manifest = node("True", &off);
    manifest.as_object_mut().expect("a map").remove("status");
    let check = |live: &[Value], manifest: &Value| {
        folder.write("live.json", dump(live));
        folder.write("new.json", manifest.to_string());
        reported(&folder.run(&["check", "-f", "new.json", "--live", "live.json", "-o", "json"]))
    };
    assert_eq!(check(&[node("True", &json!([]))], &manifest), ["denied out-of-service-taint"]);
    assert_eq!(check(&[node("Unknown", &json!([]))], &manifest), [""; 0]);
    assert_eq!(check(&[node("True", &off)], &manifest), [""; 0]);
    assert_eq!(check(&[], &manifest), ["unverified whether node/n1 conflicts with stored objects"]);
    let (kept, lost) = (content("Retain"), content("Delete"));
    assert_eq!(check(std::slice::from_ref(&kept), &lost), ["warned snapshot-content-policy"]);
    assert_eq!(check(std::slice::from_ref(&lost), &lost), [""; 0]);
    assert_eq!(check(&[lost], &kept), [""; 0]);
    assert_eq!(check(&[], &kept), [""; 0]);
    assert_eq!(
        check(&[], &content("Delete")),
        ["unverified whether volumesnapshotcontent/snap-a conflicts with stored objects"]
    );
}

/// Of a cluster, which lists neither, the two objects that matter are read.
#[test]
fn a_cluster_is_asked_for_the_attachment_and_its_node() {
    let answer = |code: u16, machine: Value| {
        move |path: &str| match path {
            "/apis/storage.k8s.io/v1/volumeattachments/csi-a" => (200, attachment()),
            "/api/v1/nodes/n1" => (code, machine.clone()),
            _ => (200, json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []})),
        }
    };
    let status = |code: u16| {
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": "no",
            "reason": if code == 404 { "NotFound" } else { "Forbidden" }})
    };
    let arguments =
        ["check", "--delete", "volumeattachment/csi-a", "--live", "cluster", "-o", "json"];
    let checked = |code: u16, machine: Value| run_against(answer(code, machine), &arguments).0;
    let ready = node("True", &json!([]));
    assert_eq!(reported(&checked(200, ready)), ["denied volume-attachment-delete"]);
    assert_eq!(reported(&checked(404, status(404))), ["warned volume-attachment-delete"]);
    assert_eq!(reported(&checked(403, status(403))), ["unverified volume-attachment-delete"]);
}

/// Other API groups have kinds of these names: Longhorn its nodes and attachments, Rancher its nodes.
#[test]
fn a_kind_of_another_group_is_something_else() {
    let folder = Folder::new();
    let foreign = |kind: &str| {
        json!({"apiVersion": "longhorn.io/v1beta2", "kind": kind,
            "metadata": {"namespace": "longhorn-system", "name": "n1"}, "spec": {"taints": "none"}})
    };
    for kind in ["Node", "VolumeAttachment"] {
        folder.write("new.json", foreign(kind).to_string());
        let output = folder.run(&["check", "-f", "new.json", "-o", "json"]);
        assert_eq!((output.code, reported(&output)), (0, Vec::new()), "{kind}: {output:?}");
    }
    // Those of a dump prove nothing about the cluster's own.
    let list = json!({"apiVersion": "longhorn.io/v1beta2", "kind": "NodeList", "metadata": {},
        "items": [{"metadata": {"name": "n1"}}]});
    let mixed = dump(&[attachment(), foreign("Node")]);
    for live in [mixed, format!("{}\n{list}", dump(&[attachment()]))] {
        let found = check(&live, &["--delete", "volumeattachment/csi-a"]);
        assert_eq!(found, ["unverified volume-attachment-delete"]);
    }
}

#[test]
fn what_a_deletion_removes_counts_for_the_next() {
    let live = dump(&[node("True", &json!([])), attachment()]);
    let both = ["--delete", "node/n1", "--delete", "volumeattachment/csi-a"];
    let found = check(&live, &both);
    assert_eq!(found, ["warned node-delete-local-data", "warned volume-attachment-delete"]);
}

#[test]
fn a_hazard_is_not_clean_where_the_input_is_all_there_is() {
    let folder = Folder::new();
    let off = json!([{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]);
    let mut manifest = node("True", &off);
    manifest.as_object_mut().expect("a map").remove("status");
    let delete = |resource: &str, group: &str, object: &Value| {
        let resource = json!({"group": group, "version": "v1", "resource": resource});
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "resource": resource, "operation": "DELETE", "name": object["metadata"]["name"],
            "oldObject": object, "userInfo": {"username": "admin"}}})
    };
    for object in [
        manifest,
        content("Delete"),
        delete("nodes", "", &node("True", &json!([]))),
        delete("storageclasses", "storage.k8s.io", &class()),
        delete("volumeattachments", "storage.k8s.io", &attachment()),
    ] {
        folder.write("new.json", object.to_string());
        let found = reported(&folder.run(&["check", "-f", "new.json", "-o", "json"]));
        assert!(
            matches!(&found[..], [one] if one.starts_with("unverified ")),
            "{object}: {found:?}"
        );
    }
}

//! What people, pods and the controllers of Kubernetes do to the volumes of a node's disks.

use bindery::disks::volume_name;
use bindery_sim::{ApiRequest, ApiServer, Method, RequestUser};
use serde_json::{Value, json};

use super::media::file_name;
use super::process::{CLASS, NODE};

pub(super) const ADMIN: &str = "admin";
const BINDER: &str = "binder";
const TENANT: &str = "tenant";

const VOLUMES: &str = "/api/v1/persistentvolumes";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";

/// Sends a request; what was stored, if it was carried out.
pub(super) fn send(
    server: &ApiServer,
    user: &str,
    method: Method,
    path: &str,
    body: Value,
) -> Option<Value> {
    let mut request = ApiRequest::new(method, path, body).by(RequestUser::named(user, &[]));
    if method == Method::Patch {
        "application/merge-patch+json".clone_into(&mut request.content_type);
    }
    let response = server.with(|cluster| cluster.handle(request));
    (response.code < 300).then(|| response.object().cloned()).flatten()
}

/// The node and the StorageClass.
pub(super) fn found(server: &ApiServer, policy: &str) {
    let node = json!({
        "metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE}},
    });
    let class = json!({
        "metadata": {"name": CLASS},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
        "reclaimPolicy": policy,
    });
    let classes = "/apis/storage.k8s.io/v1/storageclasses";
    for (path, object) in [("/api/v1/nodes", node), (classes, class)] {
        send(server, ADMIN, Method::Post, path, object).expect("created");
    }
}

/// The path of the volume of a slot.
pub(super) fn volume_path(slot: usize) -> String {
    format!("{VOLUMES}/{}", volume_name(&file_name(slot), NODE, CLASS))
}

pub(super) fn volume(server: &ApiServer, slot: usize) -> Option<Value> {
    send(server, ADMIN, Method::Get, &volume_path(slot), Value::Null)
}

pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn patch(server: &ApiServer, user: &str, path: &str, body: Value) -> bool {
    send(server, user, Method::Patch, path, body).is_some()
}

/// Creates a claim for the volume of a slot and reserves that, if it is free. The claim's name and uid.
pub(super) fn bind(server: &ApiServer, slot: usize, number: u64) -> Option<(String, String)> {
    let volume = volume(server, slot)?;
    let is_free = text(&volume, "/status/phase") == "Available"
        && volume["spec"]["claimRef"].is_null()
        && volume["metadata"]["deletionTimestamp"].is_null();
    if !is_free {
        return None;
    }
    let name = format!("claim-{number}");
    let claim = json!({
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": "Block",
            "storageClassName": CLASS,
            "volumeName": text(&volume, "/metadata/name"),
            "resources": {"requests": {"storage": "1Mi"}},
        },
    });
    let claim = send(server, TENANT, Method::Post, CLAIMS, claim).expect("created");
    let uid = text(&claim, "/metadata/uid").to_owned();
    let reference = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "namespace": "default", "name": name, "uid": uid,
    });
    let body = json!({"spec": {"claimRef": reference}});
    assert!(patch(server, "scheduler", &volume_path(slot), body), "{volume}");
    Some((name, uid))
}

/// Deletes a claim, which no pod uses or whose finalizer a person has removed.
pub(super) fn delete_claim(server: &ApiServer, name: &str) {
    let path = format!("{CLAIMS}/{name}");
    send(server, TENANT, Method::Delete, &path, Value::Null).expect("deleted");
    patch(server, ADMIN, &path, json!({"metadata": {"finalizers": null}}));
}

/// Deletes the volume of a slot at once, whatever has it. What a person has saved of it before.
pub(super) fn delete_volume(server: &ApiServer, slot: usize) -> Option<Value> {
    let mut saved = volume(server, slot)?;
    let path = volume_path(slot);
    send(server, ADMIN, Method::Delete, &path, Value::Null);
    patch(server, ADMIN, &path, json!({"metadata": {"finalizers": null}}));
    for field in ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "finalizers"]
    {
        saved["metadata"].as_object_mut().expect("an object").remove(field);
    }
    Some(saved)
}

/// Creates a volume that a person has saved again. Whether there was none of its name.
pub(super) fn restore_volume(server: &ApiServer, saved: &Value) -> bool {
    send(server, ADMIN, Method::Post, VOLUMES, saved.clone()).is_some()
}

pub(super) fn set_policy(server: &ApiServer, slot: usize, policy: &str) -> bool {
    let body = json!({"spec": {"persistentVolumeReclaimPolicy": policy}});
    patch(server, ADMIN, &volume_path(slot), body)
}

/// Makes a released volume available again.
pub(super) fn clear_claim_ref(server: &ApiServer, slot: usize) {
    if volume(server, slot).is_some_and(|volume| text(&volume, "/status/phase") == "Released") {
        patch(server, ADMIN, &volume_path(slot), json!({"spec": {"claimRef": null}}));
    }
}

/// Does once what the controllers of Kubernetes do: phases of volumes, and the finalizers of volumes that are not bound.
pub(super) fn run_controllers(server: &ApiServer, slots: usize) {
    for slot in 0..slots {
        let Some(volume) = volume(server, slot) else { continue };
        let path = volume_path(slot);
        let claim = format!("{CLAIMS}/{}", text(&volume, "/spec/claimRef/name"));
        let claim = || send(server, ADMIN, Method::Get, &claim, Value::Null);
        let uid = text(&volume, "/spec/claimRef/uid");
        let phase = if uid.is_empty() {
            "Available"
        } else if claim().is_some_and(|claim| text(&claim, "/metadata/uid") == uid) {
            "Bound"
        } else {
            "Released"
        };
        if text(&volume, "/status/phase") != phase {
            let path = format!("{path}/status");
            patch(server, BINDER, &path, json!({"status": {"phase": phase}}));
        }
        if phase != "Bound" && !volume["metadata"]["deletionTimestamp"].is_null() {
            patch(server, "pv-protection", &path, json!({"metadata": {"finalizers": null}}));
        }
    }
}

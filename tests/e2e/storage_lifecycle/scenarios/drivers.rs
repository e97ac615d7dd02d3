//! Volumes of a driver: provisioned, attached, grown and deleted again, and handed over by a populator.
//!
//! Provisioner, resizer, attacher, kubelet and populator are played; the order of their requests is that of
//! the sidecars of CSI and of `lib-volume-populator`.

use serde_json::{Value, json};

use super::pairs::numbered;
use super::{Scenarios, lock};
use crate::no_false_denials::world::{VOLUMES, World};
use crate::plane::persona::{ARRANGER, ATTACHER, NODE, POPULATOR, PROVISIONER, RESIZER, TENANT};
use crate::plane::{Body, claim_path, volume_path};

const DRIVER: &str = "disk.example.com";
const FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";
const ATTACHED: &str = "external-attacher/disk-example-com";

/// Of so many claims one is deleted while its disk is being made.
const HASTY: usize = 4;

/// From the claim to the end of the disk.
pub(super) fn provisioned(scenarios: &Scenarios<'_>, count: usize) {
    let world = World::of_class(scenarios.plane, "provisioned", DRIVER, "Immediate");
    elect(&world);
    let names = numbered("d", count);
    for name in &names {
        world.claim(name, &json!({}));
    }
    let mut lasting = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let claim = asked_for(&world, &world.claim_path(name));
        let is_hasty = number % HASTY == HASTY - 1;
        if is_hasty {
            world.delete(TENANT, &world.claim_path(name)).expect_ok();
            world.until_gone(&world.claim_path(name));
        }
        let volume = provision(scenarios, &world, &claim);
        if is_hasty {
            world.until(&volume_path(&volume), "Released");
            unprovision(scenarios, &world, &volume);
        } else {
            lasting.push((name, volume));
        }
    }
    for (name, volume) in &lasting {
        let now = world.until(&world.claim_path(name), "Bound");
        assert_eq!(now["spec"]["volumeName"], volume.as_str());
        attach(&world, volume);
        grow(&world, name, volume);
        detach(&world, volume);
        world.delete(TENANT, &world.claim_path(name)).expect_ok();
    }
    for (_, volume) in &lasting {
        world.until(&volume_path(volume), "Released");
        unprovision(scenarios, &world, volume);
    }
}

/// Holds the Lease by which the driver's provisioners elect their leader, in the namespace of their account.
///
/// Kubernetes: external-provisioner, `cmd/csi-provisioner/csi-provisioner.go`; `csi-lib-utils/leaderelection`.
fn elect(world: &World<'_>) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "csi"}});
    let made = world.post(ARRANGER, "/api/v1/namespaces", &namespace);
    assert!(made.code == 201 || made.code == 409, "{made}");
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "disk-example-com"}, "spec": {"holderIdentity": "csi-provisioner-0"},
    });
    let path = "/apis/coordination.k8s.io/v1/namespaces/csi/leases";
    world.post(PROVISIONER, path, &lease).expect_ok();
}

/// Waits until the binder asks the provisioner.
fn asked_for(world: &World<'_>, path: &str) -> Value {
    world.await_that(path, "handed to the provisioner", |claim| {
        claim["metadata"]["annotations"]["volume.kubernetes.io/storage-provisioner"] == DRIVER
    })
}

/// Makes a disk and registers it, twice: the first answer is taken for lost.
fn provision(scenarios: &Scenarios<'_>, world: &World<'_>, claim: &Value) -> String {
    let metadata = &claim["metadata"];
    let name = format!("pvc-{}", metadata["uid"].as_str().unwrap());
    lock(&scenarios.disks).insert(name.clone());
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "name": name, "finalizers": [FINALIZER],
            "annotations": {"pv.kubernetes.io/provisioned-by": DRIVER},
        },
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Delete", "storageClassName": world.name,
            "csi": {"driver": DRIVER, "volumeHandle": name, "fsType": "ext4"},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": metadata["uid"],
                "resourceVersion": metadata["resourceVersion"],
                "namespace": metadata["namespace"], "name": metadata["name"],
            },
        },
    });
    world.post(PROVISIONER, VOLUMES, &volume).expect_ok();
    let again = world.post(PROVISIONER, VOLUMES, &volume);
    // The volume may have come and gone in between only if a user has deleted it.
    assert_eq!((again.code, &again.json["reason"]), (409, &json!("AlreadyExists")), "{again}");
    name
}

/// Deletes a disk, then its volume, then lets go of it.
fn unprovision(scenarios: &Scenarios<'_>, world: &World<'_>, volume: &str) {
    let path = volume_path(volume);
    let seen = world.get(&path);
    assert_eq!(seen["status"]["phase"], "Released", "the driver deletes nothing else: {seen}");
    lock(&scenarios.disks).remove(volume);
    world.delete(PROVISIONER, &path).expect_ok();
    change_finalizers(world, PROVISIONER, &path, |names| names.retain(|name| *name != FINALIZER));
    world.until_gone(&path);
}

fn attach(world: &World<'_>, volume: &str) {
    let path = volume_path(volume);
    change_finalizers(world, ATTACHER, &path, |names| names.push(json!(ATTACHED)));
}

fn detach(world: &World<'_>, volume: &str) {
    let path = volume_path(volume);
    change_finalizers(world, ATTACHER, &path, |names| names.retain(|name| *name != ATTACHED));
}

/// As the sidecars do: the whole list, read and patched. Another writer may have changed it in between, and
/// then they read it again.
fn change_finalizers(
    world: &World<'_>,
    who: crate::plane::Persona,
    path: &str,
    change: impl Fn(&mut Vec<Value>),
) {
    crate::eventually::eventually("finalizers change", std::time::Duration::from_secs(20), || {
        let object = world.get(path);
        let mut names = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        change(&mut names);
        let version = &object["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"finalizers": names, "resourceVersion": version}});
        let reply = world.patch(who, path, &patch);
        if reply.code == 409 { Err(reply.to_string()) } else { Ok(reply) }
    })
    .expect_ok();
}

/// The tenant asks for more, the resizer grows the disk, the kubelet the file system.
fn grow(world: &World<'_>, claim: &str, volume: &str) {
    let path = world.claim_path(claim);
    let more = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
    world.patch(TENANT, &path, &more).expect_ok();
    let status = format!("{path}/status");
    let begun = json!({"status": {
        "allocatedResources": {"storage": "2Gi"},
        "allocatedResourceStatuses": {"storage": "ControllerResizeInProgress"},
        "conditions": [{"type": "Resizing", "status": "True"}],
    }});
    world.patch(RESIZER, &status, &begun).expect_ok();
    let noted = json!({"metadata": {"annotations":
        {"volume.alpha.kubernetes.io/pre-resize-capacity": "1Gi"}}});
    world.patch(RESIZER, &volume_path(volume), &noted).expect_ok();
    let grown = json!({"spec": {"capacity": {"storage": "2Gi"}}});
    world.patch(RESIZER, &volume_path(volume), &grown).expect_ok();
    let half = json!({"status": {
        "allocatedResourceStatuses": {"storage": "NodeResizePending"},
        "conditions": [{"type": "FileSystemResizePending", "status": "True"}],
    }});
    world.patch(RESIZER, &status, &half).expect_ok();
    let done = json!({"status": {
        "capacity": {"storage": "2Gi"}, "allocatedResourceStatuses": null, "conditions": null,
    }});
    world.patch(NODE, &status, &done).expect_ok();
    let forgotten = json!({"metadata": {"annotations":
        {"volume.alpha.kubernetes.io/pre-resize-capacity": null}}});
    world.patch(RESIZER, &volume_path(volume), &forgotten).expect_ok();
    assert_eq!(world.get(&path)["status"]["phase"], "Bound");
}

/// The volume of a helper claim is handed over to the claim that is to be filled.
pub(super) fn populated(scenarios: &Scenarios<'_>, count: usize) {
    const HELPERS: &str = "populators";
    let world = World::of_class(scenarios.plane, "populated", DRIVER, "Immediate");
    world.namespace(HELPERS);
    let names = numbered("f", count);
    for name in &names {
        let source =
            json!({"apiGroup": "populator.example.com", "kind": "Image", "name": "debian"});
        let claim = world.claim(name, &json!({"spec": {"dataSourceRef": source}}));
        asked_for(&world, &world.claim_path(name));
        let helper = format!("prime-{}", claim["metadata"]["uid"].as_str().unwrap());
        let overlay = json!({"metadata": {"namespace": HELPERS}});
        let path = format!("/api/v1/namespaces/{HELPERS}/persistentvolumeclaims");
        world.post(POPULATOR, &path, &world.claim_of(&helper, &overlay)).expect_ok();
        let helper_path = claim_path(HELPERS, &helper);
        let volume = provision(scenarios, &world, &asked_for(&world, &helper_path));
        world.until(&helper_path, "Bound");
        let seen = world.get(&world.claim_path(name));
        let target = json!({"spec": {"claimRef": {
            "namespace": world.name, "name": name, "uid": seen["metadata"]["uid"],
            "resourceVersion": seen["metadata"]["resourceVersion"],
        }}});
        let strategic = Body::raw("application/strategic-merge-patch+json", target.to_string());
        let moved = hyper::Method::PATCH;
        let path = volume_path(&volume);
        scenarios.plane.request(POPULATOR, moved, &path, strategic).expect_ok();
        let filled = world.until(&world.claim_path(name), "Bound");
        assert_eq!(filled["spec"]["volumeName"], volume.as_str());
        world.until(&helper_path, "Lost");
        world.delete(POPULATOR, &helper_path).expect_ok();
        world.until_gone(&helper_path);
        scenarios.keep(&volume);
    }
}

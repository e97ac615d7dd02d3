//! Thirteen faults of attaching and mounting, each made on a real control plane with the real external-attacher, and each
//! named by `bindery explain`: the step, whose turn it is, and what is safe.
//!
//! Played are the kubelets: a node's status, and the event of a mount that failed (kubernetes `pkg/kubelet/events`).

use std::time::Duration;

use serde_json::{Value, json};

use super::scenarios::{await_nodes, end_pod};
use super::scene::{Beside, Scene, play};
use crate::eventually::eventually;
use crate::plane::persona::{ADMIN, ARRANGER};
use crate::predictions::explain::explain;
use crate::sidecars::{DRIVER, Sidecar};
use crate::storage_lifecycle::scenarios::{node, pod};

const DRIVER_TURN: (&str, bool) = ("driver", true);

/// How long the attach/detach controller waits at most after a failure before it tries again.
///
/// Kubernetes: `pkg/util/goroutinemap/exponentialbackoff`, `maxDurationBeforeRetry`.
const BACK_OFF: Duration = Duration::from_secs(122);

pub(super) fn each_fault_of_attaching_and_mounting_is_named() {
    play(Beside::Nothing, |scene| {
        for name in ["one", "two"] {
            node_with_driver(scene, name, &json!(null));
        }
        of_the_controller_and_the_attacher(scene);
        of_the_driver(scene);
        of_the_kubelet(scene);
        of_another_node(scene);
    });
}

/// A node that is ready, whose volumes the controller attaches, and on which the driver is registered; `count` is how many
/// volumes it can have.
fn node_with_driver(scene: &Scene<'_>, name: &str, count: &Value) {
    node(&scene.world, name);
    let controlled = json!({"metadata": {"annotations":
        {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}}});
    scene.world.patch(ARRANGER, &format!("/api/v1/nodes/{name}"), &controlled).expect_ok();
    let driver = json!({"name": DRIVER, "nodeID": name, "topologyKeys": null,
        "allocatable": {"count": count}});
    register(scene, name, &json!([driver]));
}

fn register(scene: &Scene<'_>, node: &str, drivers: &Value) {
    let registered = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": node},
        "spec": {"drivers": drivers}});
    scene.world.post(ARRANGER, "/apis/storage.k8s.io/v1/csinodes", &registered).expect_ok();
}

/// A claim with its volume, and a pod of its name on the node.
fn pod_on(scene: &Scene<'_>, name: &str, node: &str) -> String {
    scene.world.claim(name, &json!({}));
    let volume = scene.bound(name);
    pod(&scene.world, name, &json!({"spec": {"nodeName": node}}));
    volume
}

/// Another pod that uses the claim.
fn second_pod(scene: &Scene<'_>, name: &str, claim: &str, node: &str) {
    let uses = json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
    pod(&scene.world, name, &json!({"spec": {"nodeName": node, "volumes": uses}}));
}

/// Waits until the explanation of the pod names the step, and whose turn it is; it says `parts`.
fn expect(
    scene: &Scene<'_>,
    pod: &str,
    step: &str,
    (turn, is_stuck): (&str, bool),
    parts: &[&str],
) {
    let world = &scene.world;
    eventually(&format!("pod {pod} is explained as {step}"), BACK_OFF * 2, || {
        let (explanation, code) = explain(world.plane, ADMIN, world.name, &format!("pod/{pod}"));
        let one = &explanation["attachments"][0];
        let message = one["message"].as_str().unwrap_or_default();
        let is_it = one["step"] == step
            && one["turn"] == turn
            && explanation["stuck"] == is_stuck
            && code == Some(i32::from(is_stuck))
            && parts.iter().all(|part| message.contains(part));
        if is_it { Ok(()) } else { Err(format!("{code:?} {explanation:#}")) }
    });
}

/// 1 a node whose kubelet attaches by itself; 2 a node without the driver; 3 an attacher that does not run; 4 a node whose
/// status lost what is attached to it.
fn of_the_controller_and_the_attacher(scene: &Scene<'_>) {
    node(&scene.world, "alone");
    register(scene, "alone", &json!([{"name": DRIVER, "nodeID": "alone", "topologyKeys": null}]));
    pod_on(scene, "alone", "alone");
    let controller = ("attach/detach controller", false);
    expect(
        scene,
        "alone",
        "to_create",
        controller,
        &["has no VolumeAttachment for node \"alone\""],
    );
    node(&scene.world, "bare");
    let controlled = json!({"metadata": {"annotations":
        {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}}});
    scene.world.patch(ARRANGER, "/api/v1/nodes/bare", &controlled).expect_ok();
    pod_on(scene, "bare", "bare");
    let part = "driver \"disk.example.com\" is not registered on node \"bare\"";
    expect(scene, "bare", "not_registered", ("administrator", true), &[part]);
    scene.storage.kill(Sidecar::Attacher);
    let volume = pod_on(scene, "unattended", "one");
    let part = "check that the external-attacher of driver \"disk.example.com\" runs";
    expect(scene, "unattended", "to_attach", ("driver", false), &[part]);
    scene.storage.restart(Sidecar::Attacher);
    await_nodes(scene, &volume, &["one"]);
    expect(scene, "unattended", "to_mount", ("kubelet", false), &["its kubelet mounts it"]);
    let unrecorded = json!({"status": {"volumesAttached": null}});
    scene.world.patch(ARRANGER, "/api/v1/nodes/one/status", &unrecorded).expect_ok();
    let part = "does not list it in status.volumesAttached yet";
    expect(scene, "unattended", "to_record", controller, &[part]);
}

/// 5 a driver that fails to attach; 6 on a node that is full; 7 a driver that fails to detach.
fn of_the_driver(scene: &Scene<'_>) {
    scene.storage.command("ControllerPublishVolume.before", "UNAVAILABLE");
    pod_on(scene, "failing", "one");
    let part = "commanded by ControllerPublishVolume.before; it tries again";
    expect(scene, "failing", "attach_failed", DRIVER_TURN, &[part]);
    scene.storage.release("ControllerPublishVolume.before");
    expect(scene, "failing", "to_mount", ("kubelet", false), &[]);
    node_with_driver(scene, "small", &json!(1));
    let first = pod_on(scene, "first", "small");
    await_nodes(scene, &first, &["small"]);
    scene.storage.command("ControllerPublishVolume.before", "RESOURCE_EXHAUSTED");
    pod_on(scene, "second", "small");
    let part = "the node can have 1 volumes of that driver and has them";
    expect(scene, "second", "attach_failed", DRIVER_TURN, &[part]);
    scene.storage.release("ControllerPublishVolume.before");
    scene.storage.command("ControllerUnpublishVolume.before", "INTERNAL");
    end_pod(scene, "first");
    scene.await_call("ControllerUnpublishVolume", &first, "Internal");
    second_pod(scene, "again", "first", "small");
    let part = "cannot detach PV";
    expect(scene, "again", "detaching", DRIVER_TURN, &[part, "leave the VolumeAttachment"]);
    scene.storage.release("ControllerUnpublishVolume.before");
    expect(scene, "again", "to_mount", ("kubelet", false), &[]);
}

/// 8 a file system that cannot be mounted.
fn of_the_kubelet(scene: &Scene<'_>) {
    let volume = pod_on(scene, "unmountable", "one");
    await_nodes(scene, &volume, &["one"]);
    let namespace = scene.world.name;
    let said = format!("MountVolume.MountDevice failed for volume \"{volume}\" : wrong fs type");
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "unmountable"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": "unmountable"},
        "reason": "FailedMount", "message": said, "type": "Warning", "source": {"component": "kubelet"}});
    let path = format!("/api/v1/namespaces/{namespace}/events");
    scene.world.post(ARRANGER, &path, &event).expect_ok();
    expect(scene, "unmountable", "mount_failed", ("kubelet", true), &["wrong fs type"]);
}

/// A disk that another node has: 9 a pod uses it there; 10 its kubelet still unmounts it; 11 the node is not ready; 12 it is
/// out of service; 13 it is gone. Force is advised of the last only.
fn of_another_node(scene: &Scene<'_>) {
    node_with_driver(scene, "holder", &json!(null));
    let volume = pod_on(scene, "old", "holder");
    await_nodes(scene, &volume, &["holder"]);
    let mounted =
        json!({"status": {"volumesInUse": [format!("kubernetes.io/csi/{DRIVER}^{volume}")]}});
    scene.world.patch(ARRANGER, "/api/v1/nodes/holder/status", &mounted).expect_ok();
    second_pod(scene, "new", "old", "two");
    let (step, administrator) = ("held_elsewhere", ("administrator", true));
    let used = format!("by pod \"{}/old\"", scene.world.name);
    expect(scene, "new", step, administrator, &[&used, "leave VolumeAttachment"]);
    let condition = |status: &str| {
        let one = json!([{"type": "Ready", "status": status, "reason": "x"}]);
        let status = json!({"status": {"conditions": one}});
        scene.world.patch(ARRANGER, "/api/v1/nodes/holder/status", &status).expect_ok();
    };
    condition("Unknown");
    expect(scene, "new", step, administrator, &["switch that machine off, then set the taint"]);
    condition("True");
    end_pod(scene, "old");
    let mounted = ["where no pod uses it any more", "reports it in status.volumesInUse"];
    expect(scene, "new", step, ("kubelet", false), &mounted);
    condition("Unknown");
    let path = "/api/v1/nodes/holder";
    second_pod(scene, "stuck", "old", "holder");
    let taint = json!([{"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}]);
    scene.world.patch(ARRANGER, path, &json!({"spec": {"taints": taint}})).expect_ok();
    let controller = ("attach/detach controller", false);
    expect(scene, "new", step, controller, &["once the pods there are deleted"]);
    scene.world.delete(ARRANGER, path).expect_ok();
    let gone = ["which no longer exists", "and the machine is off, delete VolumeAttachment"];
    expect(scene, "new", step, controller, &gone);
    assert_eq!(scene.storage.disks()[&volume].nodes, ["holder"], "no second node had it");
}

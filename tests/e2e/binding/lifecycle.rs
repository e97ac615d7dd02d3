//! What storage goes through in a cluster whose only binder is ours: kubectl, the scheduler and the other
//! controllers are Kubernetes' own; provisioner, resizer and kubelet are played.

use std::sync::Once;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::controller::{Controller, Election};
use crate::eventually::{eventually, wait};
use crate::plane::persona::{ADMIN, PROVISIONER, SCHEDULER, STORAGE_ADMIN, TENANT};
use crate::plane::{Body, Objects, Peers, Persona, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(a_scheduled_pod_binds_the_volume_of_its_node),
    case!(a_pair_is_agreed_on_from_either_side),
    case!(a_released_volume_serves_again_once_it_is_cleared),
    case!(a_provisioner_deletes_what_was_released),
    case!(an_expansion_is_left_to_the_resizer),
    case!(a_lost_claim_recovers_with_its_volume),
    case!(a_namespace_goes_in_the_middle_of_its_work),
    case!(a_selected_node_does_not_switch_delay_off),
];

/// How long the machine may take to do what takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// Long enough for what must not happen to have happened.
const WHILE: Duration = Duration::from_secs(2);

const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";

fn plane() -> &'static Plane {
    static CONTROLLER: Once = Once::new();
    let plane = Plane::shared(Peers::WithScheduler);
    CONTROLLER.call_once(|| Controller::start(plane, Election::None).stay(plane));
    plane
}

fn until(path: &str, phase: &str) -> Value {
    eventually(&format!("{path} is {phase}"), PATIENCE, || {
        let reply = plane().get(ADMIN, path);
        let seen = reply.json["status"]["phase"].as_str().unwrap_or("absent").to_owned();
        if seen == phase { Ok(reply.json) } else { Err(seen) }
    })
}

fn patch(persona: Persona, path: &str, patch: &Value) -> Value {
    plane().request(persona, Method::PATCH, path, Body::merge_patch(patch)).expect_ok()
}

fn kubectl(persona: Persona, objects: &Objects<'_>, arguments: &[&str], stdin: &str) -> String {
    let arguments = [&["-n", objects.namespace()], arguments].concat();
    plane().kubectl(persona, &arguments, stdin).expect_ok()
}

/// Says what `path` is like after a while in which it must not change.
fn after_a_while(path: &str) -> Value {
    wait(WHILE);
    plane().get(ADMIN, path).expect_ok()
}

fn class(objects: &Objects<'_>, provisioner: &str, mode: &str) -> String {
    let name = objects.name("class");
    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": provisioner, "volumeBindingMode": mode, "allowVolumeExpansion": true,
    });
    objects.create(CLASSES, &class);
    name
}

/// A node that is ready, as its kubelet would say.
fn node(objects: &Objects<'_>, suffix: &str) -> String {
    let name = objects.name(suffix);
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
    });
    objects.create("/api/v1/nodes", &node);
    let room = json!({"cpu": "4", "memory": "8Gi", "pods": "50"});
    let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady"});
    let status = json!({"status": {"capacity": room, "allocatable": room, "conditions": [ready]}});
    let path = format!("/api/v1/nodes/{name}");
    patch(ADMIN, &format!("{path}/status"), &status);
    patch(ADMIN, &path, &json!({"spec": {"taints": null}}));
    name
}

fn on_node(node: &str) -> Value {
    let host = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
    json!({"spec": {
        "nfs": null, "local": {"path": "/mnt/disk"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}},
    }})
}

fn a_scheduled_pod_binds_the_volume_of_its_node() {
    let objects = plane().objects("delayed");
    let class = class(&objects, "kubernetes.io/no-provisioner", "WaitForFirstConsumer");
    let nodes = ["near", "far"].map(|suffix| node(&objects, suffix));
    for (suffix, node) in ["near", "far"].iter().zip(&nodes) {
        let mut overlay = on_node(node);
        overlay["spec"]["storageClassName"] = json!(class);
        objects.volume(suffix, &overlay);
    }
    objects.claim("data", &json!({"spec": {"storageClassName": class}}));
    let claim = claim_path(objects.namespace(), "data");
    assert_eq!(after_a_while(&claim)["status"]["phase"], "Pending", "no pod has a node yet");
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "user"},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": nodes[1]},
            "containers": [{"name": "main", "image": "none.example/none"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    });
    kubectl(TENANT, &objects, &["apply", "-f", "-"], &pod.to_string());
    let bound = until(&claim, "Bound");
    assert_eq!(bound["spec"]["volumeName"], objects.name("far"), "the other node's disk was taken");
    let pods = format!("/api/v1/namespaces/{}/pods/user", objects.namespace());
    eventually("the pod has its node", PATIENCE, || {
        let seen = plane().get(ADMIN, &pods).expect_ok()["spec"]["nodeName"].clone();
        if seen == nodes[1].as_str() { Ok(()) } else { Err(seen.to_string()) }
    });
    assert_eq!(
        until(&volume_path(&objects.name("near")), "Available")["spec"]["claimRef"],
        Value::Null
    );
}

fn a_pair_is_agreed_on_from_either_side() {
    let objects = plane().objects("prebind");
    // The volume names a claim that comes later, and is passed over by the one that comes first.
    let reference =
        json!({"spec": {"claimRef": {"namespace": objects.namespace(), "name": "chosen"}}});
    objects.volume("kept", &reference);
    objects.claim("other", &json!({}));
    objects.claim("chosen", &json!({}));
    let chosen = until(&claim_path(objects.namespace(), "chosen"), "Bound");
    assert_eq!(chosen["spec"]["volumeName"], objects.name("kept"));
    let mark = "pv.kubernetes.io/bound-by-controller";
    let kept = until(&volume_path(&objects.name("kept")), "Bound");
    assert_eq!(kept["metadata"]["annotations"][mark], Value::Null, "a person kept it");
    assert_eq!(
        after_a_while(&claim_path(objects.namespace(), "other"))["status"]["phase"],
        "Pending"
    );
    // The claim names a volume, which is larger than it needs and not the best.
    let large =
        json!({"spec": {"capacity": {"storage": "5Gi"}, "storageClassName": objects.name("x")}});
    objects.volume("large", &large);
    objects.volume("small", &json!({"spec": {"storageClassName": objects.name("x")}}));
    let names = json!({"spec": {"volumeName": objects.name("large"), "storageClassName": objects.name("x")}});
    objects.claim("names", &names);
    let claim = until(&claim_path(objects.namespace(), "names"), "Bound");
    assert_eq!(claim["metadata"]["annotations"][mark], Value::Null, "a person named it");
    assert_eq!(claim["status"]["capacity"]["storage"], "5Gi");
}

fn a_released_volume_serves_again_once_it_is_cleared() {
    let objects = plane().objects("reuse");
    objects.volume("disk", &json!({}));
    objects.claim("first", &json!({}));
    until(&claim_path(objects.namespace(), "first"), "Bound");
    kubectl(TENANT, &objects, &["delete", "pvc", "first"], "");
    let disk = volume_path(&objects.name("disk"));
    until(&disk, "Released");
    objects.claim("second", &json!({}));
    let second = claim_path(objects.namespace(), "second");
    assert_eq!(
        after_a_while(&second)["status"]["phase"],
        "Pending",
        "the files are the first one's"
    );
    let clear = ["patch", "pv", &objects.name("disk"), "-p", "{\"spec\":{\"claimRef\":null}}"];
    kubectl(STORAGE_ADMIN, &objects, &clear, "");
    assert_eq!(until(&second, "Bound")["spec"]["volumeName"], objects.name("disk"));
    until(&disk, "Bound");
}

/// A volume as an external provisioner makes it for a claim.
fn provision(objects: &Objects<'_>, claim: &Value, class: &str) -> String {
    let name = objects.name("pvc");
    let metadata = &claim["metadata"];
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "name": name, "annotations": {"pv.kubernetes.io/provisioned-by": "disk.example"},
            "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"],
        },
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "persistentVolumeReclaimPolicy": "Delete",
            "csi": {"driver": "disk.example", "volumeHandle": name},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": metadata["uid"],
                "namespace": metadata["namespace"], "name": metadata["name"],
            },
        },
    });
    let path = "/api/v1/persistentvolumes";
    plane().request(PROVISIONER, Method::POST, path, Body::json(&volume)).expect_ok();
    name
}

fn a_provisioner_deletes_what_was_released() {
    let objects = plane().objects("external");
    let class = class(&objects, "disk.example", "Immediate");
    objects.claim("data", &json!({"spec": {"storageClassName": class}}));
    let path = claim_path(objects.namespace(), "data");
    let claim = eventually("the provisioner is asked", PATIENCE, || {
        let claim = plane().get(ADMIN, &path).expect_ok();
        let asked = &claim["metadata"]["annotations"]["volume.kubernetes.io/storage-provisioner"];
        if asked == "disk.example" { Ok(claim) } else { Err(asked.to_string()) }
    });
    let name = provision(&objects, &claim, &class);
    assert_eq!(until(&path, "Bound")["spec"]["volumeName"], name);
    kubectl(TENANT, &objects, &["delete", "pvc", "data"], "");
    let volume = volume_path(&name);
    until(&volume, "Released");
    assert_eq!(
        after_a_while(&volume)["status"]["phase"],
        "Released",
        "the driver deletes, not the binder"
    );
    plane().request(PROVISIONER, Method::DELETE, &volume, Body::none()).expect_ok();
    // The storage is gone now. That of protection may have gone before, and could not be put back.
    let gone = json!({"metadata": {"finalizers": null}});
    patch(PROVISIONER, &volume, &gone);
    eventually("the volume goes", PATIENCE, || match plane().get(ADMIN, &volume) {
        reply if reply.code == 404 => Ok(()),
        reply => Err(reply.to_string()),
    });
}

fn an_expansion_is_left_to_the_resizer() {
    let objects = plane().objects("expand");
    let class = class(&objects, "kubernetes.io/no-provisioner", "Immediate");
    let of_class = json!({"spec": {"storageClassName": class}});
    objects.volume("disk", &of_class);
    objects.claim("data", &of_class);
    let claim = claim_path(objects.namespace(), "data");
    until(&claim, "Bound");
    let more = "{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"3Gi\"}}}}";
    kubectl(TENANT, &objects, &["patch", "pvc", "data", "-p", more], "");
    let stays = after_a_while(&claim);
    assert_eq!(
        (&stays["status"]["phase"], &stays["status"]["capacity"]["storage"]),
        (&json!("Bound"), &json!("1Gi"))
    );
    let grown = json!({"spec": {"capacity": {"storage": "3Gi"}}});
    patch(ADMIN, &volume_path(&objects.name("disk")), &grown);
    // The file system is grown later: until then the binder says nothing of it.
    assert_eq!(after_a_while(&claim)["status"]["capacity"]["storage"], "1Gi");
    patch(ADMIN, &format!("{claim}/status"), &json!({"status": {"capacity": {"storage": "3Gi"}}}));
    let version = plane().get(ADMIN, &claim).expect_ok()["metadata"]["resourceVersion"].clone();
    assert_eq!(
        after_a_while(&claim)["metadata"]["resourceVersion"],
        version,
        "no component writes to it again"
    );
}

fn a_lost_claim_recovers_with_its_volume() {
    let objects = plane().objects("lost");
    objects.volume("disk", &json!({}));
    objects.claim("data", &json!({}));
    let claim = claim_path(objects.namespace(), "data");
    until(&claim, "Bound");
    let volume = volume_path(&objects.name("disk"));
    plane().request(STORAGE_ADMIN, Method::DELETE, &volume, Body::none()).expect_ok();
    patch(STORAGE_ADMIN, &volume, &json!({"metadata": {"finalizers": null}}));
    until(&claim, "Lost");
    objects.volume("disk", &json!({}));
    until(&claim, "Bound");
    until(&volume, "Bound");
}

fn a_namespace_goes_in_the_middle_of_its_work() {
    const PAIRS: usize = 25;
    let objects = plane().objects("crowd");
    let create = |number: usize| {
        objects.volume(&format!("v{number}"), &json!({}));
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": format!("c{number}")},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": objects.namespace(),
                "resources": {"requests": {"storage": "1Gi"}},
            },
        });
        let claims = format!("/api/v1/namespaces/{}/persistentvolumeclaims", objects.namespace());
        plane().request(TENANT, Method::POST, &claims, Body::json(&claim)).code
    };
    for number in 0..PAIRS {
        assert_eq!(create(number), 201);
    }
    let namespace = format!("/api/v1/namespaces/{}", objects.namespace());
    plane().request(ADMIN, Method::DELETE, &namespace, Body::none()).expect_ok();
    let denied = (PAIRS..PAIRS * 2).filter(|number| create(*number) == 403).count();
    assert!(denied > 0, "the namespace goes while claims are made");
    eventually("the namespace is gone", PATIENCE, || match plane().get(ADMIN, &namespace) {
        reply if reply.code == 404 => Ok(()),
        reply => Err(reply.to_string()),
    });
    eventually("no volume is held by a claim that is gone", PATIENCE, || {
        let list = plane().get(ADMIN, "/api/v1/persistentvolumes").expect_ok();
        let volumes = list["items"].as_array().cloned().unwrap_or_default();
        let ours = volumes
            .iter()
            .filter(|volume| volume["spec"]["storageClassName"] == objects.namespace());
        let held: Vec<String> = ours
            .filter(|volume| {
                !matches!(volume["status"]["phase"].as_str(), Some("Released" | "Available"))
            })
            .map(|volume| format!("{} {}", volume["metadata"]["name"], volume["status"]))
            .collect();
        if held.is_empty() { Ok(()) } else { Err(held.join(", ")) }
    });
}

/// Kubernetes 1.14 took a claim of a delayed class for an immediate one once the scheduler had chosen a
/// node, and gave it any volume, on whatever node.
fn a_selected_node_does_not_switch_delay_off() {
    let objects = plane().objects("selected");
    let class = class(&objects, "disk.example", "WaitForFirstConsumer");
    let elsewhere = node(&objects, "elsewhere");
    let mut overlay = on_node(&elsewhere);
    overlay["spec"]["storageClassName"] = json!(class);
    objects.volume("elsewhere", &overlay);
    until(&volume_path(&objects.name("elsewhere")), "Available");
    objects.claim("data", &json!({"spec": {"storageClassName": class}}));
    let path = claim_path(objects.namespace(), "data");
    let node = json!({"volume.kubernetes.io/selected-node": "node-of-the-pod"});
    patch(SCHEDULER, &path, &json!({"metadata": {"annotations": node}}));
    let claim = eventually("the provisioner is asked", PATIENCE, || {
        let claim = plane().get(ADMIN, &path).expect_ok();
        let asked = &claim["metadata"]["annotations"]["volume.kubernetes.io/storage-provisioner"];
        if asked == "disk.example" { Ok(claim) } else { Err(asked.to_string()) }
    });
    assert_eq!(after_a_while(&path)["spec"]["volumeName"], Value::Null, "a free volume was taken");
    let name = provision(&objects, &claim, &class);
    assert_eq!(until(&path, "Bound")["spec"]["volumeName"], name);
    until(&volume_path(&objects.name("elsewhere")), "Available");
}

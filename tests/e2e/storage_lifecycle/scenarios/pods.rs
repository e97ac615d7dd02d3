//! Claims whose volumes are chosen with the node of their pod, and claims that controllers make.
//!
//! Nodes are objects without kubelets; the provisioner of local disks is played.

use serde_json::{Value, json};

use super::Scenarios;
use super::pairs::{bound, numbered, release};
use crate::no_false_denials::world::{STATIC, VOLUMES, World};
use crate::plane::persona::{ARRANGER, PROVISIONER, TENANT};

/// A node that is ready, as its kubelet would say.
pub(crate) fn node(world: &World<'_>, name: &str) {
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
    });
    world.post(ARRANGER, "/api/v1/nodes", &node).expect_ok();
    let room = json!({"cpu": "64", "memory": "64Gi", "pods": "500"});
    let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady"});
    let status = json!({"status": {"capacity": room, "allocatable": room, "conditions": [ready]}});
    let path = format!("/api/v1/nodes/{name}");
    world.patch(ARRANGER, &format!("{path}/status"), &status).expect_ok();
    world.patch(ARRANGER, &path, &json!({"spec": {"taints": null}})).expect_ok();
}

/// A local disk of a node, as the provisioner of local disks registers it.
pub(crate) fn disk(world: &World<'_>, suffix: &str, node: &str) -> Value {
    let host = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
    let name = world.named(suffix);
    world.volume_of(
        suffix,
        &json!({
            "metadata": {"annotations":
                {"pv.kubernetes.io/provisioned-by": format!("local-volume-provisioner-{node}")}},
            "spec": {
                "nfs": null, "local": {"path": format!("/mnt/{name}")},
                "persistentVolumeReclaimPolicy": "Delete",
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}},
            },
        }),
    )
}

/// A pod that uses a claim of its own name; `overlay` is merged into it.
pub(crate) fn pod(world: &World<'_>, name: &str, overlay: &Value) {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {
            "containers": [{"name": "main", "image": "none.example/none"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
            // There is no kubelet that would stop it.
            "terminationGracePeriodSeconds": 0,
        },
    });
    json_patch::merge(&mut pod, overlay);
    world.post(TENANT, &format!("/api/v1/namespaces/{}/pods", world.name), &pod).expect_ok();
}

/// The scheduler chooses node and volume; afterwards the disk is emptied and offered again.
pub(super) fn scheduled(scenarios: &Scenarios<'_>, count: usize) {
    let world = World::of_class(scenarios.plane, "scheduled", STATIC, "WaitForFirstConsumer");
    let nodes = ["near", "far"];
    for name in nodes {
        node(&world, name);
    }
    let names = numbered("s", count);
    for (number, name) in names.iter().enumerate() {
        let disk = disk(&world, name, nodes[number % nodes.len()]);
        world.post(PROVISIONER, VOLUMES, &disk).expect_ok();
        world.claim(name, &json!({}));
        pod(&world, name, &json!({}));
        scenarios.keep(&world.named(name));
    }
    bound(&world, &names);
    for name in &names {
        let claim = world.get(&world.claim_path(name));
        let note = &claim["metadata"]["annotations"]["bindery.dev/volume-binding-mode"];
        assert_eq!(note, "WaitForFirstConsumer", "the one mutation that is due: {claim}");
        let path = format!("/api/v1/namespaces/{}/pods/{name}", world.name);
        world.await_that(&path, "on a node", |pod| pod["spec"]["nodeName"].is_string());
        world.delete(TENANT, &path).expect_ok();
        world.until_gone(&path);
    }
    release(&world, &names, &names);
    for (number, name) in names.iter().enumerate() {
        let path = world.volume_path(name);
        world.delete(PROVISIONER, &path).expect_ok();
        world.until_gone(&path);
        let disk = disk(&world, name, nodes[number % nodes.len()]);
        world.post(PROVISIONER, VOLUMES, &disk).expect_ok();
        world.until(&path, "Available");
    }
}

/// Claims from the templates of a stateful set and of a pod, made by Kubernetes' own controllers; those of
/// the set go with it, that of the pod with the pod.
pub(super) fn owned(scenarios: &Scenarios<'_>, count: usize) {
    let world = World::new(scenarios.plane, "owned");
    let volumes = numbered("v", count);
    for volume in &volumes {
        world.volume(volume, &json!({}));
        scenarios.keep(&world.named(volume));
    }
    templates(&world, count);
    let mut claims: Vec<String> =
        (1..count).map(|number| format!("data-set-{}", number - 1)).collect();
    claims.push("lone-data".to_owned());
    for claim in &claims {
        world.await_that(&world.claim_path(claim), "made", |_| true);
    }
    bound(&world, &claims);
    let of_set = format!("/apis/apps/v1/namespaces/{}/statefulsets/set", world.name);
    world.delete(TENANT, &of_set).expect_ok();
    let lone = format!("/api/v1/namespaces/{}/pods/lone", world.name);
    world.delete(TENANT, &lone).expect_ok();
    world.until_none(&claims);
    world.until_each(&volumes, "Released");
}

/// A stateful set and a pod with templates for so many claims.
pub(in super::super) fn templates(world: &World<'_>, count: usize) {
    let template = json!({
        "accessModes": ["ReadWriteOnce"], "storageClassName": world.name,
        "resources": {"requests": {"storage": "1Gi"}},
    });
    let containers = json!([{"name": "main", "image": "none.example/none"}]);
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "set"},
        "spec": {
            "serviceName": "set", "replicas": count - 1, "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": "set"}},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"},
            "template": {
                "metadata": {"labels": {"app": "set"}},
                "spec": {"containers": containers, "terminationGracePeriodSeconds": 0},
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": template}],
        },
    });
    let sets = format!("/apis/apps/v1/namespaces/{}/statefulsets", world.name);
    world.post(TENANT, &sets, &set).expect_ok();
    let inline = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lone"},
        "spec": {
            "containers": containers, "terminationGracePeriodSeconds": 0,
            "volumes": [{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": template}}}],
        },
    });
    let pods = format!("/api/v1/namespaces/{}/pods", world.name);
    world.post(TENANT, &pods, &inline).expect_ok();
}

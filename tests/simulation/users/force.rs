//! What people do with their hands when a node or an object is gone: rare in a scenario, and what most binders
//! have lost data by.

use std::sync::Arc;

use bindery_sim::{ClusterState, Method, SeededRng};
use serde_json::{Value, json};

use super::{
    ADMIN, NODE_NAMES, SPACES, TENANT, VOLUMES, all, annotation, claim_path, claims_path,
    is_terminating, name, pods_path, reference, send, text, volume_path,
};

/// Does one of them, and says which; nothing if there is nothing to do it to.
pub(super) fn act(rng: &mut SeededRng, cluster: &mut ClusterState) -> Option<&'static str> {
    let (is_done, what) = match rng.below(9) {
        0 | 1 => (take_away(rng, cluster), "claim removed by force"),
        2..5 => (hand_over(rng, cluster), "volume handed over"),
        5..8 => (bring_back(rng, cluster), "volume created from an export"),
        _ => (lose_volume(rng, cluster), "volume removed by force"),
    };
    is_done.then_some(what)
}

/// Takes a bound claim away from a pod that has it mounted: finalizers off, and deleted. Now and then the
/// claim is made again under its name at once. Whether there was one.
fn take_away(rng: &mut SeededRng, cluster: &mut ClusterState) -> bool {
    let mut claims = all(cluster, "PersistentVolumeClaim");
    claims.retain(|claim| text(claim, "/status/phase") == "Bound" && !is_terminating(claim));
    let Some(claim) = rng.pick(&claims) else { return false };
    let space = text(claim, "/metadata/namespace");
    let source = json!({"name": "data", "persistentVolumeClaim": {"claimName": name(claim)}});
    let pod = json!({
        "metadata": {"name": format!("stranded-{}", rng.below(1000))},
        "spec": {
            "containers": [{"name": "main", "image": "main"}], "volumes": [source],
            "nodeName": rng.pick(&NODE_NAMES),
        },
    });
    send(cluster, TENANT, Method::Post, &pods_path(space), pod);
    if rng.happens(500) {
        let path = format!("{VOLUMES}/{}", text(claim, "/spec/volumeName"));
        let recycle = json!({"spec": {"persistentVolumeReclaimPolicy": "Recycle"}});
        send(cluster, ADMIN, Method::Patch, &path, recycle);
    }
    let bare = json!({"metadata": {"finalizers": null}});
    send(cluster, TENANT, Method::Patch, &claim_path(claim), bare);
    send(cluster, TENANT, Method::Delete, &claim_path(claim), Value::Null);
    if rng.happens(500) {
        let again = json!({
            "metadata": {"name": name(claim)},
            "spec": {
                "accessModes": claim["spec"]["accessModes"],
                "resources": claim["spec"]["resources"],
                "storageClassName": claim["spec"]["storageClassName"],
            },
        });
        send(cluster, TENANT, Method::Post, &claims_path(space), again);
    }
    true
}

/// Makes a claim for a released volume, and gives it the volume in one edit, uid and all: from then on
/// the volume goes with it. Whether there was one.
fn hand_over(rng: &mut SeededRng, cluster: &mut ClusterState) -> bool {
    let mut volumes = all(cluster, "PersistentVolume");
    volumes.retain(|volume| text(volume, "/status/phase") == "Released" && !is_terminating(volume));
    let Some(volume) = rng.pick(&volumes) else { return false };
    let spec = &volume["spec"];
    let claim = json!({
        "metadata": {"name": format!("heir-{}", rng.below(1000))},
        "spec": {
            "accessModes": spec["accessModes"], "resources": {"requests": spec["capacity"]},
            "storageClassName": spec["storageClassName"], "volumeMode": spec["volumeMode"],
        },
    });
    let space = claims_path(rng.pick(&SPACES).unwrap_or(&"default"));
    let Some(claim) = send(cluster, TENANT, Method::Post, &space, claim) else { return false };
    let given = json!({
        "spec": {"claimRef": reference(&claim), "persistentVolumeReclaimPolicy": "Delete"},
    });
    send(cluster, ADMIN, Method::Patch, &volume_path(volume), given);
    true
}

/// Exports a bound volume, deletes it and its claim, and creates it again from the export: it names the claim
/// that is gone, and carries the binder's mark. Now and then a user took the uid out before. Whether there was
/// one.
fn bring_back(rng: &mut SeededRng, cluster: &mut ClusterState) -> bool {
    let mut volumes = all(cluster, "PersistentVolume");
    volumes.retain(|volume| {
        let is_provisioned = !annotation(volume, "pv.kubernetes.io/provisioned-by").is_empty();
        text(volume, "/status/phase") == "Bound" && !is_provisioned
    });
    let Some(volume) = rng.pick(&volumes) else { return false };
    let holder = |field: &str| text(volume, &format!("/spec/claimRef/{field}"));
    let claim = format!("{}/{}", claims_path(holder("namespace")), holder("name"));
    let bare = json!({"metadata": {"finalizers": null}});
    for (user, path) in [(TENANT, claim), (ADMIN, volume_path(volume))] {
        send(cluster, user, Method::Patch, &path, bare.clone());
        send(cluster, user, Method::Delete, &path, Value::Null);
    }
    let mut export = Value::clone(volume);
    let stored = json!({
        "metadata": {"uid": null, "resourceVersion": null, "creationTimestamp": null}, "status": null,
    });
    json_patch::merge(&mut export, &stored);
    if rng.happens(300) {
        json_patch::merge(&mut export, &json!({"spec": {"claimRef": {"uid": null}}}));
    }
    send(cluster, ADMIN, Method::Post, VOLUMES, export);
    true
}

/// Takes the volume of a bound claim away, whatever protects it: the claim is Lost. Whether there was one. Not
/// one that was provisioned: its storage would be left over.
fn lose_volume(rng: &mut SeededRng, cluster: &mut ClusterState) -> bool {
    let mut claims = all(cluster, "PersistentVolumeClaim");
    claims.retain(|claim| text(claim, "/status/phase") == "Bound");
    let mut volumes = all(cluster, "PersistentVolume");
    volumes.retain(|volume| {
        let is_holder =
            |claim: &Arc<Value>| claim["metadata"]["uid"] == volume["spec"]["claimRef"]["uid"];
        let is_provisioned = !annotation(volume, "pv.kubernetes.io/provisioned-by").is_empty();
        claims.iter().any(is_holder) && !is_provisioned
    });
    let Some(volume) = rng.pick(&volumes) else { return false };
    let bare = json!({"metadata": {"finalizers": null}});
    send(cluster, ADMIN, Method::Patch, &volume_path(volume), bare);
    send(cluster, ADMIN, Method::Delete, &volume_path(volume), Value::Null);
    true
}

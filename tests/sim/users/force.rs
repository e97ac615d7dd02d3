//! What people do with their hands when a node is gone for ever: rare in a life, and what most binders
//! have lost data by.

use bindery::sim::{Chance, Cluster, Method};
use serde_json::{Value, json};

use super::{
    ADMIN, NODE_NAMES, SPACES, TENANT, all, claim_path, claims_path, is_terminating, name,
    pods_path, reference, send, text, volume_path,
};

/// Takes a bound claim away from a pod that has it mounted: finalizers off, and deleted. Now and then the
/// claim is made again under its name at once. Whether there was one.
pub(super) fn take_away(chance: &mut Chance, cluster: &mut Cluster) -> bool {
    let mut claims = all(cluster, "PersistentVolumeClaim");
    claims.retain(|claim| text(claim, "/status/phase") == "Bound" && !is_terminating(claim));
    let Some(claim) = chance.pick(&claims) else { return false };
    let space = text(claim, "/metadata/namespace");
    let source = json!({"name": "data", "persistentVolumeClaim": {"claimName": name(claim)}});
    let pod = json!({
        "metadata": {"name": format!("stranded-{}", chance.below(1000))},
        "spec": {
            "containers": [{"name": "main", "image": "main"}], "volumes": [source],
            "nodeName": chance.pick(&NODE_NAMES),
        },
    });
    send(cluster, TENANT, Method::Post, &pods_path(space), pod);
    if chance.happens(500) {
        let path = format!("{}/{}", super::VOLUMES, text(claim, "/spec/volumeName"));
        let recycle = json!({"spec": {"persistentVolumeReclaimPolicy": "Recycle"}});
        send(cluster, ADMIN, Method::Patch, &path, recycle);
    }
    let bare = json!({"metadata": {"finalizers": null}});
    send(cluster, TENANT, Method::Patch, &claim_path(claim), bare);
    send(cluster, TENANT, Method::Delete, &claim_path(claim), Value::Null);
    if chance.happens(500) {
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
pub(super) fn hand_over(chance: &mut Chance, cluster: &mut Cluster) -> bool {
    let mut volumes = all(cluster, "PersistentVolume");
    volumes.retain(|volume| text(volume, "/status/phase") == "Released" && !is_terminating(volume));
    let Some(volume) = chance.pick(&volumes) else { return false };
    let spec = &volume["spec"];
    let claim = json!({
        "metadata": {"name": format!("heir-{}", chance.below(1000))},
        "spec": {
            "accessModes": spec["accessModes"], "resources": {"requests": spec["capacity"]},
            "storageClassName": spec["storageClassName"], "volumeMode": spec["volumeMode"],
        },
    });
    let space = claims_path(chance.pick(&SPACES).unwrap_or(&"default"));
    let Some(claim) = send(cluster, TENANT, Method::Post, &space, claim) else { return false };
    let given = json!({
        "spec": {"claimRef": reference(&claim), "persistentVolumeReclaimPolicy": "Delete"},
    });
    send(cluster, ADMIN, Method::Patch, &volume_path(volume), given);
    true
}

//! What people do.

use std::sync::Arc;

use bindery::model::annotations::ALLOWED_NAMESPACES;
use bindery_sim::{ClusterState, Method, SeededRng};
use serde_json::{Value, json};

use super::{
    ADMIN, CLASS_ROWS, NODE_NAMES, OF_TENANT, SPACES, TENANT, VOLUMES, all, claim_path,
    claims_path, name, pod_path, pods_path, reference, send, text, unreadable, volume_path,
};

/// One thing that a person does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    CreateVolume,
    CreateClaim,
    DeleteVolume,
    DeleteClaim,
    /// The claim goes and comes again under its name, at once.
    RecreateClaim,
    /// A label that selectors look at, or an annotation without a meaning.
    Label,
    /// A reservation is cleared, whole or down to the name.
    ClearReservation,
    /// A free volume is reserved for a claim's name.
    ReserveByName,
    /// A waiting claim names a volume.
    NameVolume,
    ChangePolicy,
    CreatePod,
    FinishPod,
    DeletePod,
    /// Another class is the default, or none.
    ChangeDefaultClass,
    /// An unreadable volume or claim comes.
    AddUnreadable,
    /// A volume becomes unreadable.
    Spoil,
    /// What is unreadable is repaired, or else removed.
    Repair,
}

impl Action {
    /// All, each as often as it is done: things are made more often than they go.
    const WEIGHTED: [Self; 30] = [
        Self::CreateVolume,
        Self::CreateVolume,
        Self::CreateClaim,
        Self::CreateClaim,
        Self::CreateVolume,
        Self::CreateVolume,
        Self::CreateVolume,
        Self::CreateVolume,
        Self::CreateVolume,
        Self::CreateClaim,
        Self::CreateClaim,
        Self::CreateClaim,
        Self::CreateClaim,
        Self::CreateClaim,
        Self::DeleteVolume,
        Self::DeleteClaim,
        Self::RecreateClaim,
        Self::Label,
        Self::ClearReservation,
        Self::ReserveByName,
        Self::NameVolume,
        Self::ChangePolicy,
        Self::CreatePod,
        Self::CreatePod,
        Self::FinishPod,
        Self::DeletePod,
        Self::ChangeDefaultClass,
        Self::AddUnreadable,
        Self::Spoil,
        Self::Repair,
    ];
}

/// The same amounts are written in several ways; some differ by little.
const SIZES: [&str; 7] = ["1Gi", "1024Mi", "1073741824", "2Gi", "2G", "5Gi", "0.5Gi"];
const REQUESTS: [&str; 6] = ["1Gi", "1024Mi", "0.5Gi", "500M", "1.5Gi", "2Gi"];
const OFFERED: [&[&str]; 5] = [
    &["ReadWriteOnce"],
    &["ReadWriteOnce", "ReadOnlyMany"],
    &["ReadOnlyMany", "ReadWriteOnce", "ReadWriteMany"],
    &["ReadWriteMany"],
    &["ReadWriteOncePod"],
];
const REQUESTED: [&[&str]; 6] = [
    &["ReadWriteOnce"],
    &["ReadWriteOnce"],
    &["ReadWriteOnce", "ReadOnlyMany"],
    &["ReadOnlyMany"],
    &["ReadWriteMany"],
    &["ReadWriteOncePod"],
];
const POLICIES: [&str; 5] = ["Retain", "Retain", "Delete", "Recycle", "Recycle"];
const TIERS: [&str; 2] = ["gold", "iron"];
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// How many names there are for volumes, and for the claims and the pods of a namespace.
const NAMES: u64 = 10;

/// Does one thing, and says which.
pub(super) fn act(rng: &mut SeededRng, cluster: &mut ClusterState) -> Action {
    let action = *pick(rng, &Action::WEIGHTED);
    let (volumes, claims) =
        (all(cluster, "PersistentVolume"), all(cluster, "PersistentVolumeClaim"));
    let volume = rng.pick(&volumes).map(|volume| &**volume);
    let claim = rng.pick(&claims).map(|claim| &**claim);
    match (action, volume, claim) {
        (Action::CreateVolume, _, claim) => create_volume(rng, cluster, lost(&claims).or(claim)),
        (Action::CreateClaim, ..) => {
            let space = *pick(rng, &SPACES);
            let name = format!("data-{}", random_name(rng));
            let body = new_claim(rng, &name, volume);
            send(cluster, TENANT, Method::Post, &claims_path(space), body);
        }
        (Action::DeleteVolume, Some(volume), _) => delete(cluster, ADMIN, &volume_path(volume)),
        (Action::DeleteClaim, _, Some(claim)) => delete(cluster, TENANT, &claim_path(claim)),
        (Action::RecreateClaim, _, Some(claim)) => {
            delete(cluster, TENANT, &claim_path(claim));
            super::protection::look(cluster);
            let body = new_claim(rng, name(claim), volume);
            let space = claims_path(text(claim, "/metadata/namespace"));
            send(cluster, TENANT, Method::Post, &space, body);
        }
        (Action::Label, Some(volume), claim) => {
            label(rng, cluster, volume, claim);
        }
        (Action::ClearReservation, Some(volume), _) => {
            let left = if rng.happens(500) { json!({"uid": null}) } else { Value::Null };
            let patch = json!({"spec": {"claimRef": left}});
            if !volume["spec"]["claimRef"].is_null() {
                send(cluster, ADMIN, Method::Patch, &volume_path(volume), patch);
            }
        }
        (Action::ReserveByName, Some(volume), Some(claim)) => {
            let metadata = &claim["metadata"];
            let named = json!({"namespace": metadata["namespace"], "name": metadata["name"]});
            if volume["spec"]["claimRef"].is_null() {
                let patch = json!({"spec": {"claimRef": named}});
                send(cluster, ADMIN, Method::Patch, &volume_path(volume), patch);
            }
        }
        (Action::NameVolume, Some(volume), Some(claim)) => {
            let patch = json!({"spec": {"volumeName": name(volume)}});
            send(cluster, TENANT, Method::Patch, &claim_path(claim), patch);
        }
        (Action::ChangePolicy, Some(volume), _) => {
            let policy = *pick(rng, &POLICIES);
            let patch = json!({"spec": {"persistentVolumeReclaimPolicy": policy}});
            send(cluster, ADMIN, Method::Patch, &volume_path(volume), patch);
        }
        (Action::CreatePod, _, Some(claim)) => create_pod(rng, cluster, claim),
        (Action::FinishPod | Action::DeletePod, ..) => end_pod(rng, cluster, action),
        (Action::ChangeDefaultClass, ..) => change_default_class(rng, cluster),
        (Action::AddUnreadable, volume, claim) => add_unreadable(rng, cluster, volume, claim),
        (Action::Spoil, Some(volume), _) => unreadable::spoil(cluster, volume),
        (Action::Repair, ..) => unreadable::repair(cluster, ADMIN),
        // There is nothing yet to do it to.
        (
            Action::DeleteVolume
            | Action::DeleteClaim
            | Action::RecreateClaim
            | Action::Label
            | Action::ClearReservation
            | Action::ReserveByName
            | Action::NameVolume
            | Action::ChangePolicy
            | Action::CreatePod
            | Action::Spoil,
            ..,
        ) => {}
    }
    action
}

fn pick<'a, T>(rng: &mut SeededRng, from: &'a [T]) -> &'a T {
    rng.pick(from).expect("there is something to choose from")
}

fn random_name(rng: &mut SeededRng) -> u64 {
    rng.below(NAMES)
}

fn delete(cluster: &mut ClusterState, user: &str, path: &str) {
    send(cluster, user, Method::Delete, path, Value::Null);
}

/// Mostly one that many share, so that there is something to compete for.
fn class(rng: &mut SeededRng) -> Value {
    match rng.below(20) {
        0 => Value::Null,
        1..8 => json!(""),
        8 => json!("named-only"),
        9..12 => json!("local"),
        12..16 => json!("archive"),
        _ => json!(pick(rng, &CLASS_ROWS).0),
    }
}

fn volume_mode(rng: &mut SeededRng) -> Value {
    if rng.happens(80) { json!("Block") } else { Value::Null }
}

fn create_volume(rng: &mut SeededRng, cluster: &mut ClusterState, claim: Option<&Value>) {
    let volume = new_volume(rng, claim);
    send(cluster, ADMIN, Method::Post, VOLUMES, volume);
}

/// Under a name that good ones have as well.
fn add_unreadable(
    rng: &mut SeededRng,
    cluster: &mut ClusterState,
    volume: Option<&Value>,
    claim: Option<&Value>,
) {
    if rng.happens(500) {
        let volume = new_volume(rng, claim);
        if let Some(volume) = send(cluster, ADMIN, Method::Post, VOLUMES, volume) {
            unreadable::spoil_volume(rng, cluster, &volume);
        }
    } else {
        let name = format!("data-{}", random_name(rng));
        let claim = new_claim(rng, &name, volume);
        let space = *pick(rng, &SPACES);
        if let Some(claim) = send(cluster, TENANT, Method::Post, &claims_path(space), claim) {
            unreadable::spoil_claim(rng, cluster, &claim);
        }
    }
}

/// A claim that lost its volume comes before all others.
fn lost(claims: &[Arc<Value>]) -> Option<&Value> {
    claims.iter().map(|claim| &**claim).find(|claim| text(claim, "/status/phase") == "Lost")
}

/// The volume as the claim knew it.
fn come_back(volume: &mut Value, claim: &Value) {
    let (spec, asked) = (&mut volume["spec"], &claim["spec"]);
    spec["capacity"] = asked["resources"]["requests"].clone();
    for field in ["accessModes", "volumeMode", "storageClassName"] {
        spec[field] = asked[field].clone();
    }
}

/// Half of all volumes are meant for the claims that there are, and some are reserved for one of them; a volume
/// that was lost mostly comes back under its name.
fn new_volume(rng: &mut SeededRng, claim: Option<&Value>) -> Value {
    let wanted = claim.filter(|_| rng.happens(500));
    let class =
        wanted.map_or_else(|| class(rng), |claim| claim["spec"]["storageClassName"].clone());
    let lost = claim.filter(|claim| text(claim, "/status/phase") == "Lost");
    let lost = lost.filter(|_| rng.happens(700)).map(|claim| text(claim, "/spec/volumeName"));
    let fresh = format!("pv-{}", random_name(rng));
    let name = lost.unwrap_or(&fresh);
    let mut volume = json!({
        "metadata": {"name": name, "labels": {"tier": pick(rng, &TIERS)}},
        "spec": {
            "capacity": {"storage": pick(rng, &SIZES)},
            "accessModes": pick(rng, &OFFERED),
            "persistentVolumeReclaimPolicy": pick(rng, &POLICIES),
            "storageClassName": class,
            "volumeMode": volume_mode(rng),
        },
    });
    mark(rng, &mut volume["metadata"]);
    if class == "local" {
        let node = pick(rng, &NODE_NAMES);
        let on_node =
            json!([{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]);
        let terms = json!({"nodeSelectorTerms": [{"matchExpressions": on_node}]});
        volume["spec"]["local"] = json!({"path": format!("/mnt/{name}")});
        volume["spec"]["nodeAffinity"] = json!({"required": terms});
    } else {
        volume["spec"]["nfs"] = json!({"server": "a", "path": format!("/{name}")});
    }
    if let Some(claim) = claim.filter(|_| lost.is_some()) {
        come_back(&mut volume, claim);
    }
    if let Some(claim) = claim.filter(|_| rng.happens(200)) {
        let mut whole = reference(claim);
        if rng.happens(600) {
            whole["uid"] = Value::Null;
        }
        volume["spec"]["claimRef"] = whole;
    }
    volume
}

/// Some volumes are for one namespace, or for one tenant.
fn mark(rng: &mut SeededRng, metadata: &mut Value) {
    match rng.below(32) {
        0 => metadata["annotations"] = json!({ALLOWED_NAMESPACES: pick(rng, &SPACES)}),
        1 => metadata["labels"][OF_TENANT] = json!("red"),
        2 => metadata["labels"][OF_TENANT] = json!("blue"),
        _ => {}
    }
}

/// Half of all claims are meant for the volumes that there are.
fn new_claim(rng: &mut SeededRng, name: &str, volume: Option<&Value>) -> Value {
    let mut claim = json!({
        "metadata": {"name": name},
        "spec": {
            "accessModes": pick(rng, &REQUESTED),
            "resources": {"requests": {"storage": pick(rng, &REQUESTS)}},
            "storageClassName": class(rng),
            "volumeMode": volume_mode(rng),
        },
    });
    if let Some(volume) = volume.filter(|_| rng.happens(500)) {
        let modes = volume["spec"]["accessModes"].as_array().cloned().unwrap_or_default();
        claim["spec"]["accessModes"] = rng.pick(&modes).map_or(Value::Null, |mode| json!([mode]));
        claim["spec"]["storageClassName"] = json!(text(volume, "/spec/storageClassName"));
        claim["spec"]["volumeMode"] = volume["spec"]["volumeMode"].clone();
    }
    if rng.happens(150) {
        claim["spec"]["selector"] = json!({"matchLabels": {"tier": pick(rng, &TIERS)}});
    }
    if rng.happens(150) {
        claim["spec"]["volumeName"] = json!(format!("pv-{}", random_name(rng)));
    }
    claim
}

fn label(rng: &mut SeededRng, cluster: &mut ClusterState, volume: &Value, claim: Option<&Value>) {
    let tier = json!({"metadata": {"labels": {"tier": pick(rng, &TIERS)}}});
    send(cluster, ADMIN, Method::Patch, &volume_path(volume), tier);
    if let Some(claim) = claim {
        let number = rng.below(1000).to_string();
        let note = json!({"metadata": {"annotations": {"example.com/note": number}}});
        send(cluster, TENANT, Method::Patch, &claim_path(claim), note);
    }
}

fn create_pod(rng: &mut SeededRng, cluster: &mut ClusterState, claim: &Value) {
    let source = json!({"name": "data", "persistentVolumeClaim": {"claimName": name(claim)}});
    let pod = json!({
        "metadata": {"name": format!("pod-{}", random_name(rng))},
        "spec": {
            "containers": [{"name": "main", "image": "main"}], "volumes": [source],
            "terminationGracePeriodSeconds": 0,
        },
    });
    let space = text(claim, "/metadata/namespace");
    send(cluster, TENANT, Method::Post, &pods_path(space), pod);
}

fn end_pod(rng: &mut SeededRng, cluster: &mut ClusterState, action: Action) {
    let pods = all(cluster, "Pod");
    let Some(pod) = rng.pick(&pods) else { return };
    if action == Action::DeletePod {
        delete(cluster, TENANT, &pod_path(pod));
    } else if !text(pod, "/spec/nodeName").is_empty() {
        let over = json!({"status": {"phase": "Succeeded"}});
        send(cluster, "kubelet", Method::Patch, &format!("{}/status", pod_path(pod)), over);
    }
}

fn change_default_class(rng: &mut SeededRng, cluster: &mut ClusterState) {
    let chosen = pick(rng, &CLASS_ROWS).0;
    let is_any = rng.happens(500);
    for (class, _, _) in CLASS_ROWS {
        let mark = if is_any && class == chosen { json!("true") } else { Value::Null };
        let patch = json!({"metadata": {"annotations": {DEFAULT_CLASS: mark}}});
        send(cluster, ADMIN, Method::Patch, &format!("{}/{class}", super::CLASSES), patch);
    }
}

//! One thing that a user or an administrator does, as the requests that it takes on one server: which
//! volume a claim has may differ between servers, where volumes equal each other.
//!
//! Not here: which steps a scenario has (`scenario`), and what they lead to (`scene`).

use serde_json::{Value, json};

use super::scene::Scene;
use crate::plane::{claim_path, volume_path};

/// Something that happens.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A volume or a claim is created.
    Create(Value),
    /// The claim of this name is deleted.
    DeleteClaim(String),
    /// A claim is deleted and created again.
    Recreate(Value),
    /// A volume that lost its claim of this name is freed for everybody.
    Reuse(String),
    /// A volume that lost its claim of this name is reserved for the next one of the name.
    ReuseForName(String),
    /// A volume changes.
    Edit { volume: String, patch: Value },
    /// A volume is reserved for a claim, by name.
    Prebind { volume: String, claim_ref: Value },
    /// A claim asks for a volume.
    Name { claim: String, volume: String },
    /// A volume is deleted.
    DeleteVolume(String),
    /// The volume of a claim goes, whatever stands in the way.
    Vanish(String),
    /// A volume comes back under the name that the claim still has.
    Return { claim: String, is_unfit: bool },
    /// A provisioner makes a volume for the claim.
    Provision(String),
    /// The scheduler chooses a node for the claim.
    SelectNode(String),
    /// The class of this name goes.
    DeleteClass(String),
}

/// A request that a step makes.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Create(Value),
    Patch(String, Value),
    Delete(String),
    /// Wait until it is gone.
    Gone(String),
}

/// The path of the classes.
pub(super) const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";

impl Step {
    /// Returns what it creates, if that is all that it does.
    pub(super) fn created(&self) -> Option<&Value> {
        if let Self::Create(object) = self { Some(object) } else { None }
    }

    /// Returns what it takes where things stand like this; nothing if it cannot happen.
    pub(super) fn acts(&self, scene: &Scene) -> Vec<Act> {
        let claim = |name: &str| claim_path(&scene.tag, name);
        let with_claim = |name: &str, acts: &dyn Fn(&Value) -> Vec<Act>| {
            scene.claims.get(name).map(acts).unwrap_or_default()
        };
        match self {
            Self::Create(object) => vec![Act::Create(object.clone())],
            Self::DeleteClaim(name) => with_claim(name, &|_| vec![Act::Delete(claim(name))]),
            Self::Recreate(object) => recreate(scene, object),
            Self::Reuse(name) => freed(scene, name, &Value::Null),
            Self::ReuseForName(name) => {
                freed(scene, name, &json!({"uid": null, "resourceVersion": null}))
            }
            Self::Edit { volume, patch } => edit(scene, volume, patch),
            Self::Prebind { volume, claim_ref } => match scene.volumes.get(volume) {
                Some(object) if object["spec"]["claimRef"].is_null() => {
                    edit(scene, volume, &json!({"spec": {"claimRef": claim_ref}}))
                }
                Some(_) | None => Vec::new(),
            },
            Self::Name { claim: name, volume } => with_claim(name, &|object| {
                let patch = json!({"spec": {"volumeName": volume}});
                let is_free = object["spec"]["volumeName"].is_null();
                if is_free { vec![Act::Patch(claim(name), patch)] } else { Vec::new() }
            }),
            Self::DeleteVolume(name) => scene
                .volumes
                .get(name)
                .map(|_| Act::Delete(volume_path(name)))
                .into_iter()
                .collect(),
            Self::Vanish(name) => with_claim(name, &|object| vanish(scene, object)),
            Self::Return { claim: name, is_unfit } => {
                with_claim(name, &|object| returned(scene, object, *is_unfit))
            }
            Self::Provision(name) => with_claim(name, &|object| provisioned(scene, object)),
            Self::SelectNode(name) => with_claim(name, &|_| {
                let node = json!({"volume.kubernetes.io/selected-node": "node-a"});
                vec![Act::Patch(claim(name), json!({"metadata": {"annotations": node}}))]
            }),
            Self::DeleteClass(name) => scene
                .classes
                .get(name)
                .map(|_| Act::Delete(format!("{CLASSES}/{name}")))
                .into_iter()
                .collect(),
        }
    }
}

fn edit(scene: &Scene, volume: &str, patch: &Value) -> Vec<Act> {
    let there = scene.volumes.get(volume);
    there.map(|_| Act::Patch(volume_path(volume), patch.clone())).into_iter().collect()
}

/// A claim that is held by a finalizer never goes: it cannot be re-created.
fn recreate(scene: &Scene, object: &Value) -> Vec<Act> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let path = claim_path(&scene.tag, name);
    if object["metadata"]["finalizers"].is_array() || !scene.claims.contains_key(name) {
        return Vec::new();
    }
    vec![Act::Delete(path.clone()), Act::Gone(path), Act::Create(object.clone())]
}

fn freed(scene: &Scene, claim: &str, claim_ref: &Value) -> Vec<Act> {
    let left = scene.volumes.iter().filter(|(_, volume)| {
        volume["spec"]["claimRef"]["name"] == claim && volume["status"]["phase"] == "Released"
    });
    // What the binder noted of its choice goes as well: a free volume equals the others again.
    let patch = json!({
        "metadata": {"annotations": {"pv.kubernetes.io/bound-by-controller": null}},
        "spec": {"claimRef": claim_ref},
    });
    left.map(|(name, _)| Act::Patch(volume_path(name), patch.clone())).collect()
}

fn vanish(scene: &Scene, claim: &Value) -> Vec<Act> {
    let Some(name) = claim["spec"]["volumeName"].as_str() else { return Vec::new() };
    if !scene.volumes.contains_key(name) || claim["status"]["phase"] != "Bound" {
        return Vec::new();
    }
    let path = volume_path(name);
    let bare = json!({"metadata": {"finalizers": null}});
    vec![Act::Delete(path.clone()), Act::Patch(path.clone(), bare), Act::Gone(path)]
}

fn returned(scene: &Scene, claim: &Value, is_unfit: bool) -> Vec<Act> {
    let Some(name) = claim["spec"]["volumeName"].as_str() else { return Vec::new() };
    if scene.volumes.contains_key(name) || claim["status"]["phase"] != "Lost" {
        return Vec::new();
    }
    let spec = &claim["spec"];
    // No claim asks for this mode alone.
    let modes = if is_unfit { json!(["ReadOnlyMany"]) } else { spec["accessModes"].clone() };
    vec![Act::Create(json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": {"scenario": scene.tag}},
        "spec": {
            "capacity": {"storage": "7Gi"}, "accessModes": modes,
            "volumeMode": spec["volumeMode"], "storageClassName": spec["storageClassName"],
            "volumeAttributesClassName": spec["volumeAttributesClassName"],
            "csi": {"driver": "absent.example", "volumeHandle": "returned"},
        },
    }))]
}

/// As an external provisioner does it: for this claim and no other.
fn provisioned(scene: &Scene, claim: &Value) -> Vec<Act> {
    let annotations = &claim["metadata"]["annotations"];
    let awaited = annotations["volume.kubernetes.io/storage-provisioner"].is_string();
    if !awaited || claim["status"]["phase"] != "Pending" {
        return Vec::new();
    }
    let (name, spec) = (claim["metadata"]["name"].as_str().unwrap_or_default(), &claim["spec"]);
    let class = &annotations["volume.beta.kubernetes.io/storage-class"];
    vec![Act::Create(json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "name": format!("{}-for-{name}-{}", scene.tag, scene.volumes.len()),
            "labels": {"scenario": scene.tag},
            "annotations": {"pv.kubernetes.io/provisioned-by": "absent.example/disk"},
        },
        "spec": {
            "capacity": spec["resources"]["requests"], "accessModes": spec["accessModes"],
            "volumeMode": spec["volumeMode"], "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": if class.is_string() { class } else { &spec["storageClassName"] },
            "volumeAttributesClassName": spec["volumeAttributesClassName"],
            "csi": {"driver": "absent.example", "volumeHandle": "provisioned"},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": scene.tag,
                "name": name, "uid": claim["metadata"]["uid"],
            },
        },
    }))]
}

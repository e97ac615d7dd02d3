//! Random changes of the objects of a cluster, as a user with manifests and kubectl makes them.

use std::fmt;

use bindery_sim::SeededRng;
use serde_json::{Map, Value, json};

use super::world::{pick, place};
use crate::denials::rules::Stage;
use crate::plane::Persona;
use crate::plane::persona::{ADMIN, VOLUME_VIEWER};

/// How a manifest is put onto what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Create,
    Server,
    Client,
    Replace,
    Delete,
}

impl How {
    /// The input of `check`.
    pub(crate) fn argument(self) -> Option<&'static str> {
        match self {
            Self::Create | Self::Delete => None,
            Self::Server => Some("--apply=server"),
            Self::Client => Some("--apply=client"),
            Self::Replace => Some("--apply=replace"),
        }
    }
}

/// One change.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) who: Persona,
    pub(crate) how: How,
    /// `pv/NAME` or `pvc/NAMESPACE/NAME`.
    pub(crate) target: String,
    /// The manifest; none for a deletion.
    pub(crate) object: Option<Value>,
    what: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { who, how, target, what, .. } = self;
        write!(f, "{} {how:?} {target}: {what}", who.name)
    }
}

impl Change {
    /// The command that makes it; the manifest is its standard input.
    pub(crate) fn kubectl(&self) -> Vec<String> {
        let words = match self.how {
            How::Create => "create -f -",
            How::Server => "apply --server-side --force-conflicts -f -",
            How::Client => "apply -f -",
            How::Replace => "replace -f -",
            How::Delete => {
                let parts: Vec<&str> = self.target.split('/').collect();
                let words: &[&str] = match parts.as_slice() {
                    ["pvc", namespace, name] => &["-n", namespace, "delete", "pvc", name],
                    ["pv", name] => &["delete", "pv", name],
                    _ => panic!("no target: {}", self.target),
                };
                let words = words.iter().chain(&["--wait=false"]);
                return words.map(|word| (*word).to_owned()).collect();
            }
        };
        words.split(' ').map(str::to_owned).collect()
    }
}

const TARGETS: [&str; 12] = [
    "pv/pv-a",
    "pv/pv-b",
    "pv/pv-c",
    "pv/pv-free",
    "pv/pv-disk",
    "pv/pv-kept",
    "pv/pv-old",
    "pvc/db/a",
    "pvc/db/b",
    "pvc/qa/c",
    "pvc/db/kept",
    "pvc/qa/lone",
];

/// So many changes, each of another object.
pub(crate) fn changes(stage: &Stage<'_>, rng: &mut SeededRng, count: usize) -> Vec<Change> {
    let mut targets: Vec<&str> = TARGETS.to_vec();
    let mut made = Vec::new();
    for number in 0..count {
        if rng.below(4) == 0 {
            made.push(created(rng, number));
            continue;
        }
        let target = targets.remove(place(rng, targets.len()));
        made.push(changed(stage, rng, target));
    }
    made
}

fn who(target: &str, rng: &mut SeededRng) -> Persona {
    if target.starts_with("pvc/") && rng.below(2) == 0 { VOLUME_VIEWER } else { ADMIN }
}

fn created(rng: &mut SeededRng, number: usize) -> Change {
    let size = pick(rng, &["1Gi", "5Gi", "100Gi"]);
    let name = format!("new-{number}");
    if rng.below(2) == 0 {
        let mut spec = json!({
            "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": pick(rng, &["Retain", "Delete", "Recycle"]),
            "nfs": {"server": "a.example.com", "path": format!("/{name}")},
        });
        let oddities = [
            json!({}),
            json!({"nfs": null, "hostPath": {"path": "/srv"}, "persistentVolumeReclaimPolicy": "Retain"}),
            json!({"nfs": null, "csi": {"driver": "disk.example.com", "volumeHandle": "vol-1"},
                "persistentVolumeReclaimPolicy": "Retain"}),
            json!({"claimRef": {"namespace": "qa", "name": "lone"}}),
            json!({"claimRef": {"namespace": "db", "name": "gone", "uid": "dead0000-0000-4000-8000-000000000000"}}),
            json!({"claimRef": {"namespace": "db", "name": "a"}}),
            json!({"claimRef": {"name": "a"}}),
            json!({"storageClassName": "none-such"}),
        ];
        let odd = pick(rng, &oddities);
        json_patch::merge(&mut spec, &odd);
        let object = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec});
        let target = format!("pv/{name}");
        return Change {
            who: ADMIN,
            how: How::Create,
            target,
            object: Some(object),
            what: odd.to_string(),
        };
    }
    let mut object = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "db"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
    });
    let oddities = [
        json!({}),
        json!({"spec": {"volumeName": "pv-free", "storageClassName": ""}}),
        json!({"spec": {"volumeName": "pv-a", "storageClassName": ""}}),
        json!({"spec": {"volumeName": "pv-kept", "storageClassName": ""}}),
        json!({"spec": {"volumeName": "no-such", "storageClassName": ""}}),
        json!({"spec": {"storageClassName": "none-such"}}),
        json!({"spec": {"storageClassName": "wait"}}),
        json!({"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}),
        json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n1"}}}),
    ];
    let odd = pick(rng, &oddities);
    json_patch::merge(&mut object, &odd);
    let target = format!("pvc/db/{name}");
    let who = who(&target, rng);
    Change { who, how: How::Create, target, object: Some(object), what: odd.to_string() }
}

fn changed(stage: &Stage<'_>, rng: &mut SeededRng, target: &str) -> Change {
    let who = who(target, rng);
    let target = target.to_owned();
    if rng.below(6) == 0 {
        return Change { who, how: How::Delete, target, object: None, what: "gone".to_owned() };
    }
    let stored = stage.get(&target).unwrap_or_else(|| panic!("no {target}"));
    let mut object = manifest(&stored);
    let is_volume = target.starts_with("pv/");
    let mutations = if is_volume { of_volume(&stored) } else { of_claim(&stored) };
    let mutation = pick(rng, &mutations);
    json_patch::merge(&mut object, &mutation);
    let how = pick(rng, &[How::Server, How::Client, How::Replace]);
    Change { who, how, target, object: Some(object), what: mutation.to_string() }
}

/// The object as it would be in a repository.
fn manifest(stored: &Value) -> Value {
    let mut metadata = Map::new();
    for key in ["name", "namespace", "labels", "annotations"] {
        if let Some(value) = stored["metadata"].get(key) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    json!({
        "apiVersion": stored["apiVersion"], "kind": stored["kind"], "metadata": metadata, "spec": stored["spec"],
    })
}

fn of_volume(stored: &Value) -> Vec<Value> {
    let uid = &stored["metadata"]["uid"];
    let mut mutations = vec![
        json!({}),
        json!({"spec": {"capacity": {"storage": "40Gi"}}}),
        json!({"spec": {"capacity": {"storage": "1Gi"}}}),
        json!({"spec": {"accessModes": ["ReadWriteMany"]}}),
        json!({"spec": {"storageClassName": "other"}}),
        json!({"spec": {"claimRef": null}}),
        json!({"spec": {"claimRef": {"namespace": "qa", "name": "lone", "uid": null}}}),
        json!({"spec": {"claimRef": {"kind": "PersistentVolumeClaim", "namespace": "db", "name": "x", "uid": uid}}}),
        json!({"spec": {"persistentVolumeReclaimPolicy": "Delete"}}),
        json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}}),
        json!({"spec": {"volumeMode": "Block"}}),
        json!({"spec": {"mountOptions": ["ro"]}}),
        json!({"metadata": {"labels": {"a": "b"}}}),
        json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "a"}}}),
        json!({"metadata": {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}}),
        json!({"metadata": {"annotations": {"allow.bindery.dev/bound-volume-capacity": "soon"}}}),
    ];
    if stored["spec"].get("claimRef").is_some() {
        mutations.push(json!({"spec": {"claimRef": {"uid": null, "resourceVersion": null}}}));
    }
    mutations
}

fn of_claim(stored: &Value) -> Vec<Value> {
    let mut mutations = vec![
        json!({}),
        json!({"spec": {"resources": {"requests": {"storage": "1Gi"}}}}),
        json!({"spec": {"resources": {"requests": {"storage": "40Gi"}}}}),
        json!({"spec": {"accessModes": ["ReadWriteMany"]}}),
        json!({"spec": {"storageClassName": "other"}}),
        json!({"metadata": {"labels": {"a": "b"}}}),
        json!({"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}),
        json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n1"}}}),
        json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x",
            "uid": "dead0000-0000-4000-8000-000000000000"}]}}),
    ];
    if stored["spec"].get("volumeName").is_none() {
        mutations.push(json!({"spec": {"volumeName": "pv-free"}}));
        mutations.push(json!({"spec": {"volumeName": "pv-a"}}));
    }
    mutations
}

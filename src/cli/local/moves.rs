//! `bindery local moves`: disks that were found elsewhere than their volumes have them, and what moves these.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::api::attachment::node_state;
use crate::api::list::items;
use crate::api::local_volume::local_volume;
use crate::api::moved_volume::{NewNode, moved_claim, moved_volume};
use crate::cli::args::{MovesArgs, Notation};
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::cluster::{ClusterClient, ReadError};
use crate::cli::output::{print, readable};
use crate::cli::render::{self, API_VERSION};
use crate::client::request::escaped;
use crate::disks::{DiskLocation, LocalVolume};
use crate::model::annotations::LOCAL_NODE;
use crate::model::{Reservation, Uid};

/// Runs the command.
pub(super) fn run(arguments: &MovesArgs) -> Result<Exit, Failure> {
    let cluster = ClusterClient::connect(&arguments.cluster)?;
    let path = format!("/api/v1/persistentvolumes?labelSelector={}", escaped(LOCAL_NODE));
    let list = cluster.get(&path)?;
    let mut moves = Vec::new();
    for text in items(&list).map_err(unreadable)? {
        let volume = local_volume(text).map_err(unreadable)?;
        let is_asked = arguments.manifest.as_ref().is_none_or(|name| volume.name.as_str() == name);
        if let (Some(found), true) = (volume.found_at.clone(), is_asked) {
            let object = serde_json::from_str(text).map_err(unreadable)?;
            moves.push(FoundVolume::read(&cluster, volume, found, object)?);
        }
    }
    if let Some(name) = &arguments.manifest {
        print(&manifest(&moves, name)?)?;
        return Ok(Exit::Clean);
    }
    let shown = moves.iter().map(DiskMove::of).collect();
    let report = DiskMoves { api_version: API_VERSION, kind: "DiskMoves", moves: shown };
    print(&match arguments.output {
        None => readable(&text(&report)),
        Some(Notation::Json) => render::json(&report)?,
        Some(Notation::Yaml) => render::yaml(&report)?,
    })?;
    Ok(Exit::Clean)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err passes")]
fn unreadable(error: serde_json::Error) -> Failure {
    Failure::unreachable(format!("the API server sent what cannot be read: {error}; try again"))
}

/// A volume whose disk was found elsewhere, and what its move depends on.
struct FoundVolume {
    volume: LocalVolume,
    found: DiskLocation,
    object: Value,
    /// The claim of the name that the volume has; absent if there is none.
    claim: Option<Value>,
    /// The Node on which the disk was found; absent if it is gone.
    node: Option<Value>,
    /// What takes the place of the volume, and what has its name now.
    new: Option<(Value, Option<LocalVolume>)>,
}

impl FoundVolume {
    fn read(
        cluster: &ClusterClient,
        volume: LocalVolume,
        found: DiskLocation,
        object: Value,
    ) -> Result<Self, Failure> {
        let claim = match &volume.reservation {
            Reservation::Named(key) | Reservation::Held(key, _) => {
                let (namespace, name) = (escaped(&key.namespace), escaped(&key.name));
                stored(
                    cluster,
                    &format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"),
                )?
            }
            Reservation::Free | Reservation::Incomplete(..) => None,
        };
        let node = stored(cluster, &format!("/api/v1/nodes/{}", escaped(&found.node)))?;
        let new = match node.as_ref().and_then(new_node) {
            None => None,
            Some(node) => {
                let new = moved_volume(&object, &found, node);
                let name = new["metadata"]["name"].as_str().unwrap_or_default();
                let taken =
                    stored(cluster, &format!("/api/v1/persistentvolumes/{}", escaped(name)))?;
                let taken = taken.map(|text| local_volume(&text.to_string()));
                let taken = taken.transpose().map_err(unreadable)?;
                Some((new, taken))
            }
        };
        Ok(Self { volume, found, object, claim, node, new })
    }

    /// Why the volume cannot be moved to where its disk was found.
    fn problem(&self) -> Option<String> {
        let Self { volume, found, claim, node, new, .. } = self;
        if volume.class != found.class {
            return Some(format!(
                "the disk is in the discovery folder of StorageClass {:?}, and the PersistentVolume is of {:?}; mount it \
                 in a folder of {:?}",
                found.class, volume.class, volume.class
            ));
        }
        let is_path = found.path.starts_with('/')
            && !found.path.chars().any(char::is_control)
            && !found.path.split('/').any(|part| part == "..");
        if !is_path {
            return Some(
                "the annotation bindery.dev/disk-found-at names no path; remove it".to_owned(),
            );
        }
        let is_held = |uid: &Uid| {
            claim.as_ref().is_some_and(|claim| {
                claim["metadata"]["uid"] == uid.to_string()
                    && claim["spec"]["volumeName"] == volume.name.as_str()
            })
        };
        match &volume.reservation {
            Reservation::Held(_, uid) if is_held(uid) => {}
            Reservation::Named(_) if volume.is_before_offer() => return Some(NO_CLAIM.to_owned()),
            Reservation::Held(..) | Reservation::Named(_) => {
                return Some(
                    "its PVC is gone, or another one has the name and another PersistentVolume; the PersistentVolume is \
                     not needed by it; delete it once its data is not needed"
                        .to_owned(),
                );
            }
            Reservation::Free | Reservation::Incomplete(..) => {
                return Some(NO_CLAIM.to_owned());
            }
        }
        let is_ready = node
            .as_ref()
            .is_some_and(|node| node_state(&node.to_string()).is_ok_and(|state| state.is_ready));
        match new {
            Some(_) if !is_ready => Some(format!(
                "Node {:?} is not ready; wait until its provisioner has found the disk again",
                found.node
            )),
            None => Some(format!(
                "Node {:?} is gone, or has no label kubernetes.io/hostname; mount the disk on another node",
                found.node
            )),
            Some((_, Some(taken))) if taken.moved_from.as_ref() != Some(&volume.name) => {
                Some(format!(
                    "another disk was found at its place and has PersistentVolume {:?}; mount the disk under another name",
                    taken.name.as_str()
                ))
            }
            Some(_) => None,
        }
    }
}

const NO_CLAIM: &str = "no PVC has it; delete it once its data is not needed";

/// What the new volume says of a Node; nothing if no volume can be tied to it.
fn new_node(node: &Value) -> Option<NewNode<'_>> {
    let text = |pointer: &str| node.pointer(pointer)?.as_str().filter(|text| !text.is_empty());
    Some(NewNode {
        name: text("/metadata/name")?,
        uid: text("/metadata/uid")?,
        hostname: text("/metadata/labels/kubernetes.io~1hostname")?,
        machine: text("/status/nodeInfo/machineID").unwrap_or_default(),
    })
}

/// An object; nothing if there is none.
fn stored(cluster: &ClusterClient, path: &str) -> Result<Option<Value>, Failure> {
    match cluster.get(path) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(unreadable),
        Err(ReadError::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What programs read.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiskMoves {
    api_version: &'static str,
    kind: &'static str,
    moves: Vec<DiskMove>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiskMove {
    volume: String,
    /// The claim, as `NAMESPACE/NAME`.
    claim: Option<String>,
    storage_class: String,
    former: DiskPath,
    found: DiskPath,
    /// Why the volume cannot be moved there.
    problem: Option<String>,
}

#[derive(Serialize)]
struct DiskPath {
    node: String,
    path: String,
}

impl DiskMove {
    fn of(found: &FoundVolume) -> Self {
        let problem = found.problem();
        let FoundVolume { volume, found, object, .. } = found;
        let node = object["metadata"]["labels"][LOCAL_NODE].as_str().unwrap_or_default();
        let claim = volume.reservation.key().filter(|key| key.may_exist()).map(ToString::to_string);
        Self {
            volume: volume.name.to_string(),
            claim,
            storage_class: volume.class.to_string(),
            former: DiskPath { node: node.to_owned(), path: volume.path.to_string() },
            found: DiskPath { node: found.node.to_string(), path: found.path.to_string() },
            problem,
        }
    }
}

/// The manifests that take the place of a volume and of its claim.
fn manifest(moves: &[FoundVolume], name: &str) -> Result<String, Failure> {
    let Some(moved) = moves.first() else {
        return Err(Failure::usage(format!(
            "the disk of PersistentVolume {name:?} was not found elsewhere; `bindery local moves` shows those that were"
        )));
    };
    let cannot = |problem: &str| {
        Failure::usage(format!("PersistentVolume {name:?} cannot be moved: {problem}"))
    };
    if let Some(problem) = moved.problem() {
        return Err(cannot(&problem));
    }
    let (Some((volume, _)), Some(claim)) = (&moved.new, &moved.claim) else {
        return Err(cannot("its Node or its PVC is gone"));
    };
    let new = volume["metadata"]["name"].as_str().unwrap_or_default();
    Ok(render::yaml(volume)? + "---\n" + &render::yaml(&moved_claim(claim, new))?)
}

/// The report for people: each move, and the commands that make it.
fn text(report: &DiskMoves) -> String {
    if report.moves.is_empty() {
        return "no disk was found elsewhere than its PersistentVolume has it\n".to_owned();
    }
    let mut out = String::new();
    for DiskMove { volume, claim, former, found, problem, .. } in &report.moves {
        let of_claim = claim.as_ref().map(|claim| format!(" (PVC {claim})")).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "PersistentVolume {volume}{of_claim}: its disk is not at {} on node {}; it was found at {} on node {}",
            former.path, former.node, found.path, found.node
        );
        match (problem, claim.as_deref().and_then(|claim| claim.split_once('/'))) {
            (Some(problem), _) => {
                let _ = writeln!(out, "    it cannot be moved there: {problem}");
            }
            (None, Some((namespace, claim))) => {
                out.push_str(&commands(volume, namespace, claim));
            }
            (None, None) => {}
        }
    }
    out
}

/// What moves a volume, in an order in which its disk always has a volume that names the claim.
fn commands(volume: &str, namespace: &str, claim: &str) -> String {
    format!(
        "    to move it:\n\
         \x20     bindery local moves --manifest {volume} > {volume}.yaml &&\n\
         \x20     kubectl patch pv {volume} --type=merge -p '{{\"spec\":{{\"persistentVolumeReclaimPolicy\":\"Retain\"}}}}' &&\n\
         \x20     kubectl create -f {volume}.yaml -l bindery.dev/local-node\n\
         \x20   then scale what uses the PVC to 0, until no pod is left: deleting pods is not enough\n\
         \x20     kubectl -n {namespace} delete pvc {claim} --ignore-not-found &&\n\
         \x20     kubectl delete pv {volume} &&\n\
         \x20     kubectl create -f {volume}.yaml -l '!bindery.dev/local-node'\n\
         \x20   then scale it up again; the new PersistentVolume has reclaim policy Retain\n"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::ClaimKey;

    /// A bound volume whose disk was found on another node that is ready.
    fn found() -> FoundVolume {
        let volume = json!({
            "metadata": {"name": "local-pv-1", "uid": "v", "annotations": {
                "bindery.dev/disk-size": "1", "bindery.dev/disk-serial": "S1"}},
            "spec": {"storageClassName": "fast", "local": {"path": "/mnt/a"},
                "claimRef": {"namespace": "db", "name": "data", "uid": "c1"}},
            "status": {"phase": "Bound"},
        });
        let found =
            DiskLocation { node: "node-2".into(), class: "fast".into(), path: "/mnt/b".into() };
        let node = json!({"metadata": {"name": "node-2", "uid": "u2",
            "labels": {"kubernetes.io/hostname": "node-2"}},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let new = moved_volume(&volume, &found, new_node(&node).unwrap());
        FoundVolume {
            volume: local_volume(&volume.to_string()).unwrap(),
            found,
            object: volume,
            claim: Some(json!({"metadata": {"namespace": "db", "name": "data", "uid": "c1"},
                "spec": {"volumeName": "local-pv-1"}})),
            node: Some(node),
            new: Some((new, None)),
        }
    }

    #[test]
    fn a_volume_is_moved_only_for_the_claim_that_has_it_and_to_the_disk_that_was_made_for_it() {
        assert_eq!(found().problem(), None);
        // The StatefulSet has made the claim again, on another volume: its data is the live one.
        let mut again = found();
        again.claim = Some(json!({"metadata": {"namespace": "db", "name": "data", "uid": "c2"},
            "spec": {"volumeName": "local-pv-7"}}));
        let mut gone = found();
        gone.claim = None;
        // It was never offered: its claim cannot exist.
        let mut reserved = found();
        let key = ClaimKey::before_offer(&reserved.volume.name);
        reserved.volume.reservation = Reservation::Named(key);
        reserved.claim = None;
        for (moved, said) in [
            (again, "another one has the name"),
            (gone, "its PVC is gone"),
            (reserved, "no PVC has it"),
            (FoundVolume { node: None, new: None, ..found() }, "is gone"),
        ] {
            let problem = moved.problem().unwrap();
            assert!(problem.contains(said), "{problem}");
            let report = DiskMoves {
                api_version: API_VERSION,
                kind: "DiskMoves",
                moves: vec![DiskMove::of(&moved)],
            };
            assert!(!text(&report).contains("kubectl"), "{}", text(&report));
            assert!(!text(&report).contains("bindery.dev/"), "{}", text(&report));
            assert!(manifest(&[moved], "local-pv-1").is_err());
        }
        // Another disk was offered at the place since.
        let mut taken = found();
        let other = local_volume(&json!({"metadata": {"name": "local-pv-2"}}).to_string()).unwrap();
        if let Some((_, taken)) = &mut taken.new {
            *taken = Some(other);
        }
        assert!(taken.problem().unwrap().contains("another disk was found at its place"));
        let mut forged = found();
        forged.found.path = "/mnt/disks/../../etc".into();
        assert!(forged.problem().unwrap().contains("names no path"));
        let mut silent = found();
        silent.node.as_mut().unwrap()["status"]["conditions"][0]["status"] = json!("Unknown");
        assert!(silent.problem().unwrap().contains("is not ready"));
    }
}

//! `bindery local moves`: disks that were found elsewhere than their volumes have them, and what moves these.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::api::list::items;
use crate::api::local_volume::local_volume;
use crate::api::moved_volume::{NewNode, moved_claim, moved_volume};
use crate::cli::args::{MovesArgs, Notation};
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::cluster::ClusterClient;
use crate::cli::output::{print, readable};
use crate::cli::render::{self, API_VERSION};
use crate::client::request::escaped;
use crate::disks::{DiskLocation, LocalVolume};
use crate::model::Reservation;
use crate::model::annotations::LOCAL_NODE;

/// Runs the command.
pub(super) fn run(arguments: &MovesArgs) -> Result<Exit, Failure> {
    let cluster = ClusterClient::connect(&arguments.cluster)?;
    let path = format!("/api/v1/persistentvolumes?labelSelector={}", escaped(LOCAL_NODE));
    let list = cluster.get(&path)?;
    let unreadable = |error: serde_json::Error| {
        Failure::unreachable(format!("the API server sent what cannot be read: {error}; try again"))
    };
    let mut moves = Vec::new();
    for text in items(&list).map_err(unreadable)? {
        let volume = local_volume(text).map_err(unreadable)?;
        if let Some(found) = volume.found_at.clone() {
            let object = serde_json::from_str(text).map_err(unreadable)?;
            moves.push(FoundVolume { volume, found, object });
        }
    }
    if let Some(name) = &arguments.manifest {
        print(&manifest(&cluster, &moves, name)?)?;
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

/// A volume whose disk was found elsewhere.
struct FoundVolume {
    volume: LocalVolume,
    found: DiskLocation,
    object: Value,
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
        let FoundVolume { volume, found, object } = found;
        let node = object["metadata"]["labels"][LOCAL_NODE].as_str().unwrap_or_default();
        let claim = match &volume.reservation {
            Reservation::Named(key) | Reservation::Held(key, _) => Some(key.to_string()),
            Reservation::Free | Reservation::Incomplete(..) => None,
        };
        Self {
            volume: volume.name.to_string(),
            claim,
            storage_class: volume.class.to_string(),
            former: DiskPath { node: node.to_owned(), path: volume.path.to_string() },
            found: DiskPath { node: found.node.to_string(), path: found.path.to_string() },
            problem: problem(volume, found),
        }
    }
}

/// Why a volume cannot be moved to where its disk was found.
fn problem(volume: &LocalVolume, found: &DiskLocation) -> Option<String> {
    if volume.class != found.class {
        return Some(format!(
            "the disk is in the discovery folder of StorageClass {:?}, and the PersistentVolume is of {:?}; mount it in a \
             folder of {:?}",
            found.class, volume.class, volume.class
        ));
    }
    match &volume.reservation {
        Reservation::Named(_) | Reservation::Held(..) => None,
        Reservation::Free | Reservation::Incomplete(..) => Some(
            "no PVC is named by the PersistentVolume; delete it once its data is not needed"
                .to_owned(),
        ),
    }
}

/// The manifests that take the place of a volume and of its claim.
fn manifest(cluster: &ClusterClient, moves: &[FoundVolume], name: &str) -> Result<String, Failure> {
    let Some(moved) = moves.iter().find(|moved| moved.volume.name.as_str() == name) else {
        return Err(Failure::usage(format!(
            "the disk of PersistentVolume {name:?} was not found elsewhere; `bindery local moves` shows those that were"
        )));
    };
    if let Some(problem) = problem(&moved.volume, &moved.found) {
        return Err(Failure::usage(format!(
            "PersistentVolume {name:?} cannot be moved: {problem}"
        )));
    }
    let node = object(cluster, &format!("/api/v1/nodes/{}", escaped(&moved.found.node)))?;
    let text = |pointer: &str| node.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let new = NewNode {
        name: text("/metadata/name"),
        uid: text("/metadata/uid"),
        hostname: text("/metadata/labels/kubernetes.io~1hostname"),
    };
    let volume = moved_volume(&moved.object, &moved.found, new);
    let mut manifest = render::yaml(&volume)?;
    if let Reservation::Named(key) | Reservation::Held(key, _) = &moved.volume.reservation {
        let (namespace, claim) = (escaped(&key.namespace), escaped(&key.name));
        let path = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{claim}");
        let claim = object(cluster, &path)?;
        let volume = volume["metadata"]["name"].as_str().unwrap_or_default();
        manifest = manifest + "---\n" + &render::yaml(&moved_claim(&claim, volume))?;
    }
    Ok(manifest)
}

fn object(cluster: &ClusterClient, path: &str) -> Result<Value, Failure> {
    let text = cluster.get(path)?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::unreachable(format!("the API server sent what cannot be read: {error}; try again"))
    })
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

/// What moves a volume, in an order in which its data has one owner at a time.
fn commands(volume: &str, namespace: &str, claim: &str) -> String {
    format!(
        "    to move it, stop the pods that use the PVC, then:\n\
         \x20     bindery local moves --manifest {volume} > {volume}.yaml\n\
         \x20     kubectl patch pv {volume} --type=merge -p '{{\"spec\":{{\"persistentVolumeReclaimPolicy\":\"Retain\"}}}}'\n\
         \x20     kubectl -n {namespace} delete pvc {claim}\n\
         \x20     kubectl delete pv {volume}\n\
         \x20     kubectl create -f {volume}.yaml\n\
         \x20   then start the pods; the new PersistentVolume has reclaim policy Retain\n"
    )
}

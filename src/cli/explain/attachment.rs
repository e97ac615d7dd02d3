//! How far the volumes of a pod, or the volume of a claim, are on their way to the node of the pod.
//!
//! Read only of a pod that has a node and has not started. What the kubelet last said is of its events, which any account
//! that may write events can write: it is shown, and nothing but the outcome "stuck" rests on it.

use std::collections::BTreeSet;

use super::related::{PartialList, PodDetail, whole_pod};
use super::report::ReportedAttachment;
use crate::api::attachment::{attachment, csi_driver, csi_node, node_report};
use crate::api::event::Event;
use crate::api::pods::{PodProgress, volume_user};
use crate::attach::{AttachEvidence, AttachStep, Turn, VolumeOnNode, attach_step};
use crate::binding::Collection;
use crate::cli::preview::settled::SettledCluster;
use crate::model::{ClaimKey, PodKey, Volume, VolumeName};

/// The name of a step that is not known.
const UNKNOWN: &str = "unknown";

/// The reasons of the kubelet's events about volumes that it could not mount.
///
/// Kubernetes: `pkg/kubelet/events/event.go`.
const FAILED: [&str; 2] = ["FailedMount", "FailedMapVolume"];

/// The volumes of a pod on their way to its node.
#[derive(Debug, Default)]
pub(super) struct VolumesOnWay {
    /// Those of bound claims.
    pub(super) volumes: Vec<ReportedAttachment>,
    /// Why some of it is not known.
    pub(super) notes: Vec<String>,
}

impl VolumesOnWay {
    /// The outcome of a pod that waits for them, and the reason, which follows its name; none if it waits for none.
    pub(super) fn verdict(&self) -> Option<(&'static str, String)> {
        let stuck = self.volumes.iter().find(|one| one.stuck);
        let unknown = || self.volumes.iter().find(|one| one.turn.is_none());
        let first = stuck.or_else(unknown).or(self.volumes.first())?;
        let outcome = match (first.stuck, first.turn) {
            (true, _) => "stuck",
            (false, None) => "unknown",
            (false, Some(_)) => "waits",
        };
        Some((outcome, format!("waits on node \"{}\": {}", first.node, first.message)))
    }

    /// The volumes of which it is known how far they are.
    pub(super) fn followed(&self) -> BTreeSet<VolumeName> {
        let known = self.volumes.iter().filter(|one| one.step != UNKNOWN && one.step != "not_csi");
        known.map(|one| VolumeName::new(&*one.volume)).collect()
    }
}

/// Follows the volumes of a pod; none if it has no node yet, or has started.
pub(super) fn on_way(cluster: &SettledCluster, detail: &PodDetail) -> VolumesOnWay {
    follow(cluster, detail, &detail.pod.claims)
}

/// Follows the volume of a claim to the nodes of the pods that use it and have not started.
pub(super) fn of_claim(cluster: &SettledCluster, key: &ClaimKey) -> VolumesOnWay {
    let PartialList { found: pods, note } = cluster.pods_in(&key.namespace, whole_pod);
    let note = note.filter(|_| cluster.state.cluster.is_some());
    let note =
        note.map(|note| format!("whether its PV is on its way to a node is not known: {note}"));
    let mut on_way = VolumesOnWay { volumes: Vec::new(), notes: note.into_iter().collect() };
    for detail in pods.iter().filter(|detail| detail.pod.uses(key)) {
        let VolumesOnWay { volumes, notes } = follow(cluster, detail, std::slice::from_ref(key));
        on_way.volumes.extend(volumes);
        on_way.notes.extend(notes);
    }
    on_way
}

/// The volumes of a pod that the account may not see, and what the kubelet last said of them.
pub(super) fn unseen(
    detail: &PodDetail,
    volumes: &[VolumeName],
    events: PartialList<Event>,
) -> VolumesOnWay {
    let (Some(node), false) = (waiting_on(detail), volumes.is_empty()) else {
        return VolumesOnWay::default();
    };
    let (events, note) = of_pod(events, detail);
    let volumes = volumes.iter().map(|volume| {
        let last = match mount_error(&events, volume) {
            Some(message) => format!("; the kubelet last said: {message}"),
            None => String::new(),
        };
        unknown(volume, node, &format!("the PV was not read{last}"))
    });
    VolumesOnWay { volumes: volumes.collect(), notes: note.into_iter().collect() }
}

/// The node of a pod that has not started.
fn waiting_on(detail: &PodDetail) -> Option<&str> {
    match (&detail.pod.node, detail.progress) {
        (Some(node), PodProgress::NotStarted) => Some(node),
        (None, _) | (Some(_), PodProgress::Started | PodProgress::Finished) => None,
    }
}

/// The events about this pod, not those about a former one of its name, and why some are not known.
fn of_pod(events: PartialList<Event>, detail: &PodDetail) -> (Vec<Event>, Option<String>) {
    let PartialList { found: mut events, note } = events;
    events.retain(|event| event.uid.is_empty() || event.uid == detail.uid);
    (events, note)
}

/// Follows the volumes of these claims of a pod.
fn follow(cluster: &SettledCluster, detail: &PodDetail, claims: &[ClaimKey]) -> VolumesOnWay {
    let Some(node) = waiting_on(detail) else { return VolumesOnWay::default() };
    let named: Vec<(&ClaimKey, &VolumeName)> = claims
        .iter()
        .filter_map(|key| Some((key, cluster.state.view.claim(key)?.volume.as_ref()?)))
        .collect();
    if named.is_empty() {
        return VolumesOnWay::default();
    }
    let (evidence, mut notes) = evidence(cluster, &detail.pod.key);
    let PodKey { namespace, name } = &detail.pod.key;
    let (events, note) = of_pod(cluster.events(("Pod", namespace, name)), detail);
    notes.extend(note);
    let volumes = named.into_iter().filter_map(|(claim, name)| {
        let Some(volume) = cluster.state.view.volume(name) else {
            // One that does not exist is reported with its claim.
            let is_absent = cluster.state.listed.has(Collection::Volumes);
            return (!is_absent).then(|| unknown(name, node, "the PV was not read"));
        };
        let step = attach_step(volume, claim, node, &evidence);
        let step = step.with_mount_error(mount_error(&events, &volume.name));
        Some(reported(volume, node, &step))
    });
    VolumesOnWay { volumes: volumes.collect(), notes }
}

/// A volume of which nothing is known, for this reason.
fn unknown(volume: &VolumeName, node: &str, why: &str) -> ReportedAttachment {
    let message =
        format!("whether PV \"{volume}\" is attached to node \"{node}\" is not known: {why}");
    ReportedAttachment {
        volume: volume.to_string(),
        node: node.to_owned(),
        step: UNKNOWN,
        turn: None,
        stuck: false,
        message: message.replace(char::is_control, " "),
    }
}

/// The objects that attaching a volume of the pod rests on, and why some are not known.
fn evidence(cluster: &SettledCluster, pod: &PodKey) -> (AttachEvidence, Vec<String>) {
    let (mut evidence, mut notes) = of_nodes(cluster);
    evidence.nodes = complete(cluster.nodes(node_report), &mut notes);
    let users = complete(cluster.pods_in(&pod.namespace, volume_user), &mut notes);
    evidence.pods = users.map(|users| users.into_iter().flatten().collect());
    (evidence, notes)
}

/// Attachments and drivers, and why some are not known.
pub(super) fn of_nodes(cluster: &SettledCluster) -> (AttachEvidence, Vec<String>) {
    let mut notes = Vec::new();
    let storage = |resource: &str| format!("/apis/storage.k8s.io/v1/{resource}");
    let attachments = cluster.all(
        (Collection::Attachments, "VolumeAttachment", &storage("volumeattachments")),
        attachment,
    );
    let drivers =
        cluster.all((Collection::Drivers, "CSIDriver", &storage("csidrivers")), csi_driver);
    let csi_nodes = cluster.all((Collection::CsiNodes, "CSINode", &storage("csinodes")), csi_node);
    let evidence = AttachEvidence {
        attachments: complete(attachments, &mut notes),
        drivers: complete(drivers, &mut notes),
        csi_nodes: complete(csi_nodes, &mut notes),
        ..AttachEvidence::default()
    };
    (evidence, notes)
}

/// The list, if it is complete; else why not is noted.
fn complete<T>(list: PartialList<T>, notes: &mut Vec<String>) -> Option<Vec<T>> {
    match list.note {
        None => Some(list.found),
        Some(note) => {
            notes.push(note);
            None
        }
    }
}

/// The last message of the kubelet that it could not mount this volume.
fn mount_error(events: &[Event], volume: &VolumeName) -> Option<Box<str>> {
    let named = format!("volume \"{volume}\"");
    let failed = events
        .iter()
        .filter(|event| FAILED.contains(&&*event.reason) && event.message.contains(&named));
    let last = failed.max_by(|a, b| a.time.cmp(&b.time))?;
    Some(last.message.as_str().into())
}

fn reported(volume: &Volume, node: &str, step: &AttachStep) -> ReportedAttachment {
    ReportedAttachment {
        volume: volume.name.to_string(),
        node: node.to_owned(),
        step: step.label(),
        turn: step.turn().map(Turn::as_str),
        stuck: step.is_stuck(),
        // Control characters would move a terminal's cursor.
        message: VolumeOnNode { volume, node, step }.to_string().replace(char::is_control, " "),
    }
}

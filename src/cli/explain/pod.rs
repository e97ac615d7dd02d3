//! The claims that block a pod, and the nodes on which all of them are available.

use std::collections::BTreeSet;

use super::attachment::{self, VolumesOnWay};
use super::claim;
use super::placement::{Placement, PlacementVerdict};
use super::related::PodDetail;
use super::report::{Explanation, NodeVolumes};
use crate::binding::Collection;
use crate::cli::exit::Failure;
use crate::cli::preview::planned::ClaimForecast;
use crate::cli::preview::settled::SettledCluster;
use crate::cli::report::ReportedObject;
use crate::model::{AccessMode, ClaimKey, Pod, PodKey, VolumeName};

/// Explains the pod of this name.
pub(super) fn explain(cluster: &SettledCluster, key: &PodKey) -> Result<Explanation, Failure> {
    let detail = cluster.pod(key)?;
    let PodDetail { pod, constraints, .. } = &detail;
    let mut claims = Vec::new();
    for claim in &pod.claims {
        let is_denied = cluster.denied.claims.contains_key(claim);
        claims.push(if is_denied || cluster.state.view.claim(claim).is_some() {
            claim::explain(cluster, claim)?
        } else {
            missing(cluster, claim)
        });
    }
    let on_way = attachment::on_way(cluster, &detail);
    let placement =
        Placement { cluster, pod, constraints, claims: &claims, followed: on_way.followed() };
    let verdict = placement.judge();
    let taken = taken(cluster, pod);
    let mut explanation = of_claims(pod, claims);
    place(&mut explanation, verdict);
    if let (Some(text), false) = (taken, explanation.stuck) {
        end(&mut explanation, "stuck", &text);
    }
    attach(&mut explanation, on_way);
    explanation.notes.extend(cluster.denied_pods(&key.namespace));
    Ok(explanation)
}

/// Adds how far its volumes are on their way to its node. Problems of its claims and of the node come first.
pub(super) fn attach(explanation: &mut Explanation, on_way: VolumesOnWay) {
    if let (Some((outcome, text)), false) = (on_way.verdict(), explanation.stuck) {
        end(explanation, outcome, &text);
        explanation.stuck = outcome != "waits";
    }
    add(explanation, on_way);
}

/// Adds how far the volume of a claim is on its way to the nodes of its pods.
pub(super) fn attach_claim(explanation: &mut Explanation, on_way: VolumesOnWay) {
    if let Some((outcome, text)) = on_way.verdict() {
        explanation.stuck |= outcome != "waits";
        explanation.summary.extend(["; its pod ", &text]);
    }
    add(explanation, on_way);
}

fn add(explanation: &mut Explanation, VolumesOnWay { volumes, notes }: VolumesOnWay) {
    explanation.notes.extend(notes);
    explanation.attachments = volumes;
}

/// Adds why nodes are excluded. Problems of its claims come first.
fn place(explanation: &mut Explanation, verdict: PlacementVerdict) {
    let PlacementVerdict { stuck, excluded, usable, event, notes } = verdict;
    if let Some(usable) = usable {
        explanation.nodes.retain(|reach| usable.contains(&reach.node));
    }
    explanation.excluded = excluded;
    explanation.event = event;
    explanation.notes.extend(notes);
    let mut seen = BTreeSet::new();
    explanation.notes.retain(|note| seen.insert(note.clone()));
    if let (Some((outcome, text)), false) = (stuck, explanation.stuck) {
        end(explanation, outcome, &text);
    }
}

/// Replaces the outcome of the explanation.
fn end(explanation: &mut Explanation, outcome: &str, text: &str) {
    outcome.clone_into(&mut explanation.outcome);
    explanation.stuck = true;
    explanation.summary = {
        let ReportedObject { namespace, name, .. } = &explanation.object;
        format!("pod \"{}/{name}\" {text}", namespace.as_deref().unwrap_or_default())
    };
}

/// A claim for a single pod that another pod uses.
fn taken(cluster: &SettledCluster, pod: &Pod) -> Option<String> {
    pod.claims.iter().find_map(|key| {
        let claim = cluster.state.view.claim(key)?;
        let is_alone = claim.access_modes.has(AccessMode::ReadWriteOncePod);
        let mut users = cluster.users(key).found.into_iter().filter(|_| is_alone);
        let holder = users.find(|user| user.key != pod.key && user.node.is_some())?;
        Some(format!(
            "is Pending because pod \"{}\" uses PVC \"{key}\"; its access mode ReadWriteOncePod \
             admits one pod",
            holder.key
        ))
    })
}

/// A pod whose claims are explained.
pub(super) fn of_claims(pod: &Pod, claims: Vec<Explanation>) -> Explanation {
    let stuck: Vec<&str> =
        claims.iter().filter(|claim| claim.stuck).map(|claim| &*claim.object.name).collect();
    let delayed: Vec<&Explanation> =
        claims.iter().filter(|claim| !claim.nodes.is_empty()).collect();
    let nodes = common(&delayed, pod.node.as_deref());
    // Without a provisioner to make one, a volume must be in reach of the node.
    let is_nowhere = !delayed.is_empty() && nodes.is_empty();
    let (outcome, text) = match (stuck.as_slice(), is_nowhere) {
        ([], _) if claims.is_empty() => ("ready", "uses no PVCs".to_owned()),
        ([], true) => ("stuck", "has no node on which every PVC has a PV".to_owned()),
        ([], false) if let Some(node) = bypasses_scheduler(pod, &claims) => (
            "stuck",
            format!(
                "has node \"{node}\" in spec.nodeName, which bypasses the scheduler, so no PV is selected for it; re-create \
                 it without spec.nodeName"
            ),
        ),
        ([], false) if !delayed.is_empty() => {
            ("waits", format!("can have its PVs on {}", names(&nodes)))
        }
        ([], false) => waiting(&claims),
        (stuck, _) => ("stuck", format!("is Pending because of PVC {}", stuck.join(", "))),
    };
    let summary = format!("pod \"{}\" {text}", pod.key);
    let mut explanation = Explanation::of((&pod.key).into(), outcome, outcome == "stuck", summary);
    explanation.nodes = nodes;
    explanation.fix = claims.iter().find_map(|claim| claim.fix.clone());
    explanation.claims = claims;
    explanation
}

/// The node of a pod that was set without the scheduler although a claim's binding is delayed.
fn bypasses_scheduler<'a>(pod: &'a Pod, claims: &[Explanation]) -> Option<&'a str> {
    pod.node.as_deref().filter(|_| claims.iter().any(|claim| claim.is_delayed))
}

/// The outcome of a pod whose claims need no fix.
fn waiting(claims: &[Explanation]) -> (&'static str, String) {
    let mut open = claims.iter().filter(|claim| claim.outcome != "bound").peekable();
    if open.peek().is_none() {
        return ("ready", "has all of its PVs".to_owned());
    }
    match open.find(|claim| !claim.is_delayed) {
        Some(claim) => ("waits", format!("is Pending: {}", claim.summary)),
        None => ("waits", "is Pending until the scheduler selects its node and its PVs".to_owned()),
    }
}

/// A claim that the pod names and that does not exist.
fn missing(cluster: &SettledCluster, key: &ClaimKey) -> Explanation {
    if !cluster.state.listed.has_in(Collection::Claims, &key.namespace) {
        let summary = format!(
            "PVC \"{key}\" cannot be judged: the input does not hold all PersistentVolumeClaims"
        );
        return Explanation::of(key.into(), &ClaimForecast::Unknown, true, summary);
    }
    let is_missing = format!(
        "PVC \"{key}\" does not exist; the pod is Pending until it is created, and a new one is empty"
    );
    let rescue = format!("bindery rescue pvc/{key} gives it back");
    let view = &cluster.state.view;
    let is_former = |name: &&VolumeName| {
        view.volume(name).is_some_and(|volume| volume.reservation.uid().is_some())
    };
    let summary = match view.reserved_for(key).find(is_former) {
        Some(volume) => {
            format!("{is_missing}; PV \"{volume}\" has the data of the former one: {rescue}")
        }
        // Kubernetes: #74374. The StatefulSet controller may create the pod while it still sees the former PVC.
        None => format!(
            "{is_missing}; if a former PV has its data, {rescue}; otherwise create it, or delete the pod if it is \
             of a StatefulSet, whose controller then creates both"
        ),
    };
    Explanation::of(key.into(), "missing", true, summary)
}

/// The nodes on which every delayed claim has a volume, with all of them; `given` is the pod's own.
fn common(delayed: &[&Explanation], given: Option<&str>) -> Vec<NodeVolumes> {
    let reached = |claim: &&Explanation| -> BTreeSet<String> {
        let with_some = claim.nodes.iter().filter(|reach| !reach.volumes.is_empty());
        with_some.map(|reach| reach.node.clone()).collect()
    };
    let sets = delayed.iter().map(reached);
    let Some(nodes) = sets.reduce(|mut all, one| {
        all.retain(|node| one.contains(node));
        all
    }) else {
        return Vec::new();
    };
    let nodes = nodes.into_iter().filter(|node| given.is_none_or(|given| given == node));
    let volumes = |node: &str| {
        let of_node = delayed.iter().flat_map(|claim| &claim.nodes);
        let of_node = of_node.filter(|reach| reach.node == node);
        of_node.flat_map(|reach| reach.volumes.clone()).collect::<BTreeSet<_>>()
    };
    nodes.map(|node| NodeVolumes { volumes: volumes(&node).into_iter().collect(), node }).collect()
}

fn names(nodes: &[NodeVolumes]) -> String {
    /// A line holds so many.
    const NAMES_MAX: usize = 5;
    let names: Vec<&str> = nodes.iter().take(NAMES_MAX).map(|reach| &*reach.node).collect();
    match nodes.len().saturating_sub(NAMES_MAX) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

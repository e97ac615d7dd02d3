//! The explanation for an account that may not list volumes: the events of binders about the claim.
//!
//! The API server does not verify the source of an event, so a note says so.

use std::fmt::Display;

use super::attachment::{self, VolumesOnWay};
use super::claim::{is_in_name_of, last};
use super::pod;
use super::related::{self, PartialList, event_object, found};
use super::report::{AwaitedProvisioner, Explanation, ReportedEvent};
use super::target::ExplainTarget;
use crate::api::claim::claim;
use crate::api::event::Event;
use crate::binding::Collection;
use crate::cli::exit::Failure;
use crate::cli::input::cluster::{ClusterClient, ReadableLists};
use crate::client::events::COMPONENT;
use crate::model::annotations::STORAGE_PROVISIONER;
use crate::model::{Claim, ClaimKey, ClaimPhase, PodKey, VolumeName};

/// Returns whether the target is explained without seeing volumes: then of a claim the events of binders say more than
/// that it is not known.
pub(super) fn is_limited(target: &ExplainTarget, lists: &ReadableLists) -> bool {
    let lacks = |collection| lists.forbidden.contains_key(&collection);
    match target {
        ExplainTarget::Claim(_) | ExplainTarget::Pod(_) => {
            lacks(Collection::Volumes) || lacks(Collection::Claims)
        }
        ExplainTarget::Volume(_) => lacks(Collection::Volumes),
        ExplainTarget::Workload(..) | ExplainTarget::Node(_) => false,
    }
}

/// What the account may not list, and what follows.
pub(super) fn notes(lists: &ReadableLists) -> impl Iterator<Item = String> {
    let note = |(collection, answer): (&Collection, &String)| {
        format!("what depends on {} is not known: {answer}", collection.label())
    };
    lists.forbidden.iter().map(note)
}

/// Explains what can be explained without seeing volumes.
pub(super) fn explain(
    cluster: &ClusterClient,
    target: &ExplainTarget,
    lists: &ReadableLists,
) -> Result<Explanation, Failure> {
    let forbidden: Vec<&str> = lists.forbidden.keys().map(|one| one.label()).collect();
    let note = format!(
        "you may not list the {} of the cluster: no PersistentVolume is compared; for all reasons use an account that may",
        forbidden.join(" and ")
    );
    match target {
        ExplainTarget::Claim(key) => {
            let mut explanation = of_claim(cluster, key, &note)?;
            let on_way = way_of_claim(cluster, key, &explanation);
            pod::attach_claim(&mut explanation, on_way);
            Ok(explanation)
        }
        ExplainTarget::Pod(key) => {
            let detail = related::pod(cluster, key)?;
            let claims = detail.pod.claims.iter();
            let claims: Result<Vec<Explanation>, Failure> =
                claims.map(|claim| of_claim(cluster, claim, &note)).collect();
            let mut explanation = pod::of_claims(&detail.pod, claims?);
            let events = related::events(cluster, ("Pod", &key.namespace, &key.name));
            let volumes = explanation.claims.iter().filter_map(|claim| claim.partner.as_deref());
            let volumes: Vec<VolumeName> = volumes.map(VolumeName::new).collect();
            let on_way = attachment::unseen(&detail, &volumes, events);
            pod::attach(&mut explanation, on_way);
            explanation.notes.push(note);
            Ok(explanation)
        }
        ExplainTarget::Volume(name) => Err(unexplained("PV", name, lists)),
        ExplainTarget::Workload(kind, key) => Err(unexplained(kind.as_str(), key, lists)),
        ExplainTarget::Node(name) => Err(unexplained("Node", name, lists)),
    }
}

/// How far the volume of a claim is on its way to the nodes of its pods.
fn way_of_claim(cluster: &ClusterClient, key: &ClaimKey, claim: &Explanation) -> VolumesOnWay {
    let Some(volume) = claim.partner.as_deref().map(VolumeName::new) else {
        return VolumesOnWay::default();
    };
    let PartialList { found, note } = related::pods(cluster, &key.namespace);
    let mut on_way = VolumesOnWay { volumes: Vec::new(), notes: note.into_iter().collect() };
    for detail in found.iter().filter(|detail| detail.pod.uses(key)) {
        let PodKey { namespace, name } = &detail.pod.key;
        let events = related::events(cluster, ("Pod", namespace, name));
        let one = attachment::unseen(detail, std::slice::from_ref(&volume), events);
        on_way.volumes.extend(one.volumes);
        on_way.notes.extend(one.notes);
    }
    on_way
}

fn unexplained(what: &str, name: &impl Display, lists: &ReadableLists) -> Failure {
    let answers: Vec<&str> = lists.forbidden.values().map(String::as_str).collect();
    Failure::unreachable(format!("{what} \"{name}\" cannot be explained: {}", answers.join("; ")))
}

fn of_claim(cluster: &ClusterClient, key: &ClaimKey, limit: &str) -> Result<Explanation, Failure> {
    let ClaimKey { namespace, name } = key;
    let path = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}");
    let text = found(cluster.get(&path), "PVC", key)?;
    let claim = claim(&text, namespace)
        .map_err(|error| Failure::usage(format!("PVC \"{key}\" cannot be read: {error}")))?;
    let PartialList { found: events, note } = related::events(cluster, event_object(key));
    let mut explanation = of_events(&claim, &events, limit);
    explanation.notes.extend(note);
    Ok(explanation)
}

fn of_events(claim: &Claim, events: &[Event], limit: &str) -> Explanation {
    let binder = events.iter().filter(|event| is_of(event, claim) && is_in_binders_name(event));
    let event = last(binder.cloned());
    let key = &claim.key;
    let (stuck, text) = match (&claim.phase, &event) {
        (ClaimPhase::Bound, _) => {
            let volume = claim.volume.as_ref().map(ToString::to_string).unwrap_or_default();
            (false, format!("PVC \"{key}\" is bound to PV \"{volume}\""))
        }
        (ClaimPhase::Lost, _) => (true, format!("PVC \"{key}\" has lost its volume")),
        (ClaimPhase::Pending | ClaimPhase::Unknown(_), Some(event)) => (
            is_failure(&event.reason),
            format!(
                "PVC \"{key}\" is {}; \"{}\" says {}: {}",
                claim.phase, event.component, event.reason, event.message
            ),
        ),
        (ClaimPhase::Pending | ClaimPhase::Unknown(_), None) => {
            (false, format!("PVC \"{key}\" is {}, and no event of a binder says why", claim.phase))
        }
    };
    let outcome = claim.phase.to_string().to_lowercase();
    let mut explanation = Explanation::of(key.into(), &outcome, stuck, text);
    explanation.partner = claim.volume.as_ref().map(ToString::to_string);
    if claim.phase == ClaimPhase::Pending {
        explanation.provisioner = provisioner(claim, events);
    }
    explanation.notes.push(limit.to_owned());
    explanation.notes.extend(event.as_ref().map(|event| source_note(event, claim)));
    explanation.event = event;
    explanation
}

/// The provisioner that was asked, and what it wrote last.
fn provisioner(claim: &Claim, events: &[Event]) -> Option<AwaitedProvisioner> {
    let name = claim.annotations.get(STORAGE_PROVISIONER)?;
    let own = events.iter().filter(|event| is_of(event, claim) && is_in_name_of(event, name));
    Some(AwaitedProvisioner { name: name.to_owned(), last_event: last(own.cloned()) })
}

/// The note that the source of an event is not verified.
fn source_note(event: &ReportedEvent, claim: &Claim) -> String {
    format!(
        "the source \"{}\" of the event is not verified: any account that may write events in namespace \"{}\" could \
         have written it",
        event.component, claim.key.namespace
    )
}

/// Returns whether the event is about this claim, and not about a former one of its name.
fn is_of(event: &Event, claim: &Claim) -> bool {
    event.uid.is_empty() || claim.uid.as_ref().is_none_or(|uid| uid.is(&event.uid))
}

/// Returns whether the event says that a binder wrote it, wherever it says who did.
///
/// Kubernetes: the in-tree binder is `persistentvolume-controller`.
fn is_in_binders_name(event: &Event) -> bool {
    let is_binder = |name: &str| matches!(name, COMPONENT | "persistentvolume-controller");
    is_binder(&event.component) && (event.reporter.is_empty() || is_binder(&event.reporter))
}

/// Returns whether an event of this reason about a claim reports a failure; others report progress.
///
/// Kubernetes: `pkg/controller/volume/events`, and `pv_controller.go` for those of a lost claim.
pub(super) fn is_failure(reason: &str) -> bool {
    matches!(
        reason,
        "FailedBinding" | "VolumeMismatch" | "ClaimLost" | "ClaimMisbound" | "ProvisioningFailed"
    )
}

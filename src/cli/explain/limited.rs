//! What a person learns who may not list volumes: what events say about the claim in the name of a binder.
//!
//! The API server does not check in whose name an event is written, so that its source is told with it.

use super::claim::{is_in_name_of, last};
use super::pod;
use super::report::{Awaited, Explanation, Object, Written};
use super::target::Target;
use super::world::{self, Seen, found};
use crate::api::claim::claim;
use crate::api::event::Event;
use crate::cli::exit::Failure;
use crate::cli::input::cluster::Cluster;
use crate::client::announce::COMPONENT;
use crate::model::annotations::STORAGE_PROVISIONER;
use crate::model::{Claim, ClaimKey, ClaimPhase};

/// What is said first.
const NOTE: &str = "you may not list the volumes and claims of the whole cluster: no volume is compared; for \
     all reasons let somebody run it who may";

/// Explains what can be explained without seeing volumes.
pub(super) fn explain(cluster: &Cluster, target: &Target) -> Result<Explanation, Failure> {
    match target {
        Target::Claim(key) => of_claim(cluster, key),
        Target::Pod(key) => {
            let (pod, _) = world::pod(cluster, key)?;
            let claims: Result<Vec<Explanation>, Failure> =
                pod.claims.iter().map(|claim| of_claim(cluster, claim)).collect();
            let mut explanation = pod::of_claims(&pod, claims?);
            explanation.notes.push(NOTE.to_owned());
            Ok(explanation)
        }
        Target::Volume(name) => Err(Failure::unreachable(format!(
            "volume \"{name}\" cannot be explained: you may not list volumes; use an account that may, or a \
             dump"
        ))),
    }
}

fn of_claim(cluster: &Cluster, key: &ClaimKey) -> Result<Explanation, Failure> {
    let ClaimKey { namespace, name } = key;
    let path = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}");
    let text = found(cluster.get(&path), "claim", key)?;
    let claim = claim(&text, namespace)
        .map_err(|error| Failure::usage(format!("claim \"{key}\" cannot be read: {error}")))?;
    let Seen { found: events, note } = world::events(cluster, key);
    let mut explanation = told(&claim, &events);
    explanation.notes.extend(note);
    Ok(explanation)
}

fn told(claim: &Claim, events: &[Event]) -> Explanation {
    let binder = events.iter().filter(|event| is_of(event, claim) && is_in_binders_name(event));
    let event = last(binder.cloned());
    let key = &claim.key;
    let (stuck, text) = match (&claim.phase, &event) {
        (ClaimPhase::Bound, _) => {
            let volume = claim.volume.as_ref().map(ToString::to_string).unwrap_or_default();
            (false, format!("claim \"{key}\" is bound to volume \"{volume}\""))
        }
        (ClaimPhase::Lost, _) => (true, format!("claim \"{key}\" has lost its volume")),
        (ClaimPhase::Pending | ClaimPhase::Unknown(_), Some(event)) => (
            is_failure(&event.reason),
            format!(
                "claim \"{key}\" is {}; \"{}\" says {}: {}",
                claim.phase, event.component, event.reason, event.message
            ),
        ),
        (ClaimPhase::Pending | ClaimPhase::Unknown(_), None) => (
            false,
            format!("claim \"{key}\" is {}, and no event of a binder says why", claim.phase),
        ),
    };
    let outcome = claim.phase.to_string().to_lowercase();
    let mut explanation = Explanation::of(Object::claim(key), &outcome, stuck, text);
    explanation.partner = claim.volume.as_ref().map(ToString::to_string);
    if claim.phase == ClaimPhase::Pending {
        explanation.provisioner = provisioner(claim, events);
    }
    explanation.notes.push(NOTE.to_owned());
    explanation.notes.extend(event.as_ref().map(|event| told_by(event, claim)));
    explanation.event = event;
    explanation
}

/// The provisioner that was asked, and what it wrote last.
fn provisioner(claim: &Claim, events: &[Event]) -> Option<Awaited> {
    let name = claim.annotations.get(STORAGE_PROVISIONER)?;
    let own = events.iter().filter(|event| is_of(event, claim) && is_in_name_of(event, name));
    Some(Awaited { name: name.to_owned(), last_event: last(own.cloned()) })
}

/// Who says what an event says, and what that is worth.
fn told_by(event: &Written, claim: &Claim) -> String {
    format!(
        "that \"{}\" says so is the event's own word: whoever may write events in namespace \"{}\" could \
         have written it",
        event.component, claim.key.namespace
    )
}

/// Whether the event is about this claim, and not about a former one of its name.
fn is_of(event: &Event, claim: &Claim) -> bool {
    event.uid.is_empty() || claim.uid.as_ref().is_none_or(|uid| uid.is(&event.uid))
}

/// Whether the event says that a binder wrote it, wherever it says who did.
///
/// Kubernetes: the in-tree binder is `persistentvolume-controller`.
fn is_in_binders_name(event: &Event) -> bool {
    let is_binder = |name: &str| matches!(name, COMPONENT | "persistentvolume-controller");
    is_binder(&event.component) && (event.reporter.is_empty() || is_binder(&event.reporter))
}

/// Whether somebody must act on an event of this reason about a claim. The others tell what is waited for.
///
/// Kubernetes: `pkg/controller/volume/events`, and `pv_controller.go` for those of a lost claim.
pub(super) fn is_failure(reason: &str) -> bool {
    matches!(
        reason,
        "FailedBinding" | "VolumeMismatch" | "ClaimLost" | "ClaimMisbound" | "ProvisioningFailed"
    )
}

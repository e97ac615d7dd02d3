//! Puts back what a re-applied manifest dropped from a bound volume or a bound claim.

use super::prelude::*;
use crate::binding::{Pairing, pairing};
use crate::model::annotations::{
    BIND_COMPLETED, CLAIM_PROTECTION, VOLUME_PREFIX, VOLUME_PROTECTION,
};
use crate::model::{Claim, ClaimPhase, Deletion, Reservation, Volume, VolumePhase};
use crate::rules::judging::change::ChangedObject;
use crate::rules::judging::rule::Endpoint;

pub(super) static MUTATION: Mutation = Mutation {
    id: "restore-binding",
    switch: Switch::On,
    warning: WarningMode::Warned,
    creators: Creators::NotProvisioners,
    request_types: &[
        RequestType {
            endpoint: Endpoint::Restore,
            resource: Resource::Volumes,
            operation: Operation::Update,
        },
        RequestType { endpoint: Endpoint::Restore, resource: Resource::Claims, operation: Operation::Update },
    ],
    page: Page {
        hazard: "A manifest of a bound volume or claim is applied or replaced again, without what the binder \
            has written since.",
        consequence: "The volume loses its owner; the claim turns Lost and the next claimant reads \
            its files. A claim is taken for one that was never bound.",
        instead: "The uid of claimRef is put back while its name stays, or the reverse; and, where a \
            manifest drops them all together, claimRef, the protection finalizer and the \
            annotations under pv.kubernetes.io/. A claim gets these annotations and its protection finalizer back. \
            Removing or re-pointing claimRef alone is refused, not repaired; so is removing bind-completed alone.",
    },
    mutated: &[
        Example {
            title: "a manifest that names the claim without its uid",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}"#,
            },
            then: &[Fact::Is("pv/pv-a", "/spec/claimRef/uid", "\"{uid:db/data}\"")],
        },
        Example {
            title: "a manifest that drops everything the binder wrote",
            given: "pair pv-a db/data 10Gi RWO annotation=pv.kubernetes.io/bound-by-controller:yes",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"metadata":{"finalizers":null,"annotations":null},"spec":{"claimRef":null}}"#,
            },
            then: &[
                Fact::Is("pv/pv-a", "/spec/claimRef/uid", "\"{uid:db/data}\""),
                Fact::Is("pv/pv-a", "/spec/claimRef/name", "\"data\""),
                Fact::Is("pv/pv-a", "/metadata/finalizers/0", "\"kubernetes.io/pv-protection\""),
                Fact::Is(
                    "pv/pv-a",
                    "/metadata/annotations/pv.kubernetes.io~1bound-by-controller",
                    "\"yes\"",
                ),
            ],
        },
        Example {
            title: "a manifest of a claim that drops everything the binder wrote",
            given: "pair pv-a db/data 10Gi RWO\npod db/app claim=data node=n1",
            by: Persona::Tenant,
            send: Send::Merge {
                target: "pvc/db/data",
                patch: r#"{"metadata":{"finalizers":null,"annotations":null}}"#,
            },
            then: &[
                Fact::Is(
                    "pvc/db/data",
                    "/metadata/annotations/pv.kubernetes.io~1bind-completed",
                    "\"yes\"",
                ),
                Fact::Is(
                    "pvc/db/data",
                    "/metadata/annotations/pv.kubernetes.io~1bound-by-controller",
                    "\"yes\"",
                ),
                Fact::Is("pvc/db/data", "/metadata/finalizers/0", "\"kubernetes.io/pvc-protection\""),
            ],
        },
    ],
    unchanged: &[Example {
        title: "clearing the uid of a volume whose claim is gone",
        given: "volume pv-a 10Gi RWO phase=Released dead=db/data",
        by: Persona::Admin,
        send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":{"uid":null}}}"# },
        then: &[Fact::Lacks("pv/pv-a", "/spec/claimRef/uid")],
    }],
    plan,
};

fn plan(change: &Change, evidence: &Evidence<'_>) -> Option<MutationPlan> {
    if change.actor.is_binder() {
        return None;
    }
    match &change.subject {
        ChangedObject::Volume(Transition::Update { old, new }) => of_volume(old, new, evidence),
        ChangedObject::Claim(Transition::Update { old, new }) => of_claim(old, new),
        ChangedObject::Volume(Transition::Create(_) | Transition::Delete(_))
        | ChangedObject::Claim(Transition::Create(_) | Transition::Delete(_))
        | ChangedObject::Namespace(_) => None,
    }
}

/// The binder's annotations of a bound claim, if all are dropped together, as by `kubectl replace`.
///
/// Kubernetes: `pv_controller.go`, `syncClaim`: without bind-completed, a claim is bound anew, or never if its
/// volume is not free.
fn of_claim(old: &Claim, new: &Claim) -> Option<MutationPlan> {
    let notes: Vec<(&str, &str)> = old.annotations.with_prefix(VOLUME_PREFIX).collect();
    let keeps_note = notes.iter().any(|(key, _)| new.annotations.has(key));
    if old.phase != ClaimPhase::Bound || !old.annotations.has(BIND_COMPLETED) || keeps_note {
        return None;
    }
    let restored = notes.into_iter().map(|(key, _)| FieldMutation::RestoreAnnotation(key.to_owned()));
    let drops_protection =
        old.finalizers.has(CLAIM_PROTECTION) && !new.finalizers.has(CLAIM_PROTECTION);
    let protection = drops_protection.then_some(FieldMutation::RestoreFinalizer(CLAIM_PROTECTION));
    Some(MutationPlan {
        edits: protection.into_iter().chain(restored).collect(),
        warning: format!(
            "what the manifest drops of the binder's annotations of claim \"{}\" was put back; it is bound",
            old.key.name
        ),
        depends_on: Vec::new(),
    })
}

fn of_volume(old: &Volume, new: &Volume, evidence: &Evidence<'_>) -> Option<MutationPlan> {
    let Reservation::Held(key, uid) = &old.reservation else { return None };
    if old.phase != VolumePhase::Bound {
        return None;
    }
    let edits = dropped(old, new)?;
    let lookup = evidence.holder(key, uid);
    let dependency = Dependency::on(Read::Claim(key.clone()), lookup);
    let whole = match lookup {
        Lookup::Present(claim) => is_whole(old, claim),
        // Assumed until the live read settles it.
        Lookup::Unknown => true,
        Lookup::Absent => false,
    };
    whole.then(|| MutationPlan {
        edits,
        warning: format!(
            "what the manifest drops from bound volume \"{}\" was put back; claim \"{key}\" has it",
            old.name
        ),
        depends_on: vec![dependency],
    })
}

/// Whether the pair is bound from both sides and stays so.
fn is_whole(old: &Volume, claim: &Claim) -> bool {
    pairing(old, claim) == Pairing::Bound && claim.deletion == Deletion::NotAsked
}

/// What a re-applied manifest dropped; nothing if the request means something else.
fn dropped(old: &Volume, new: &Volume) -> Option<Vec<FieldMutation>> {
    let Reservation::Held(key, uid) = &old.reservation else { return None };
    match &new.reservation {
        // The name stays, the uid goes.
        Reservation::Named(same) if same == key => {
            Some(dropped_together(old, new).unwrap_or_else(|| vec![FieldMutation::RestoreReservation]))
        }
        // The uid stays, the name or the namespace goes.
        Reservation::Incomplete(_, Some(same)) if same == uid => {
            Some(vec![FieldMutation::RestoreReservation])
        }
        Reservation::Free => dropped_together(old, new),
        Reservation::Named(_) | Reservation::Held(..) | Reservation::Incomplete(..) => None,
    }
}

/// claimRef, protection and notes, if all that were there are dropped by one request: that is a
/// manifest from before the binding. claimRef alone is somebody's will.
fn dropped_together(old: &Volume, new: &Volume) -> Option<Vec<FieldMutation>> {
    let notes: Vec<(&str, &str)> = old.annotations.with_prefix(VOLUME_PREFIX).collect();
    let protected = old.finalizers.has(VOLUME_PROTECTION);
    let keeps_protection = protected && new.finalizers.has(VOLUME_PROTECTION);
    let keeps_note = notes.iter().any(|(key, _)| new.annotations.has(key));
    if keeps_protection || keeps_note || (!protected && notes.is_empty()) {
        return None;
    }
    let mut edits = vec![FieldMutation::RestoreReservation];
    if protected {
        edits.push(FieldMutation::RestoreFinalizer(VOLUME_PROTECTION));
    }
    edits.extend(notes.into_iter().map(|(key, _)| FieldMutation::RestoreAnnotation(key.to_owned())));
    Some(edits)
}

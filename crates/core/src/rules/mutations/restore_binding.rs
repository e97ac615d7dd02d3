//! Puts back what a re-applied manifest dropped from a bound volume or a bound claim.

use super::prelude::*;
use crate::binding::{Pairing, pairing};
use crate::model::annotations::{
    BIND_COMPLETED, CLAIM_PROTECTION, VOLUME_PREFIX, VOLUME_PROTECTION,
};
use crate::model::{Claim, ClaimPhase, Deletion, Reservation, Volume, VolumePhase};

pub(super) static MUTATION: Mutation = Mutation {
    id: "restore-binding",
    switch: Switch::On,
    warning: WarningMode::Warned,
    creators: Creators::NotProvisioners,
    request_types: RequestTypes::of(&[
        RequestType::restore(Resource::Volumes, Operation::Update),
        RequestType::restore(Resource::Claims, Operation::Update),
    ]),
    page: Page {
        hazard: "A manifest of a bound PV or PVC is applied or replaced again, without what the binder has \
            written since.",
        consequence: "The PV loses its PVC: the PVC becomes Lost, and the next PVC reads its files. A PVC is treated \
            as never bound.",
        instead: "The uid of claimRef is restored while its name stays, or the reverse. If a manifest drops them \
            all together, claimRef, the protection finalizer and the annotations under pv.kubernetes.io/ \
            are restored. A PVC gets these annotations and its protection finalizer back. To remove or \
            change claimRef alone is denied, not mutated; so is to remove bind-completed alone.",
    },
    mutated: &[
        Example::new("a manifest that names the PVC without its uid")
            .given(PAIR)
            .merges("pv/pv-a", r#"{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}"#)
            .then(&[Fact::Is("pv/pv-a", "/spec/claimRef/uid", "\"{uid:db/data}\"")]),
        Example::new("a manifest that drops everything the binder wrote")
            .given("pair pv-a db/data 10Gi RWO annotation=pv.kubernetes.io/bound-by-controller:yes")
            .merges(
                "pv/pv-a",
                r#"{"metadata":{"finalizers":null,"annotations":null},"spec":{"claimRef":null}}"#,
            )
            .then(&[
                Fact::Is("pv/pv-a", "/spec/claimRef/uid", "\"{uid:db/data}\""),
                Fact::Is("pv/pv-a", "/spec/claimRef/name", "\"data\""),
                Fact::Is("pv/pv-a", "/metadata/finalizers/0", "\"kubernetes.io/pv-protection\""),
                Fact::Is(
                    "pv/pv-a",
                    "/metadata/annotations/pv.kubernetes.io~1bound-by-controller",
                    "\"yes\"",
                ),
            ]),
        Example::new("a manifest of a PVC that drops everything the binder wrote")
            .given("pair pv-a db/data 10Gi RWO\npod db/app claim=data node=n1")
            .by(Persona::Tenant)
            .merges("pvc/db/data", r#"{"metadata":{"finalizers":null,"annotations":null}}"#)
            .then(&[
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
                Fact::Is(
                    "pvc/db/data",
                    "/metadata/finalizers/0",
                    "\"kubernetes.io/pvc-protection\"",
                ),
            ]),
    ],
    unchanged: &[Example::new("clearing the uid of a PV whose PVC was deleted")
        .given(RELEASED)
        .merges("pv/pv-a", r#"{"spec":{"claimRef":{"uid":null}}}"#)
        .then(&[Fact::Lacks("pv/pv-a", "/spec/claimRef/uid")])],
    policy: MutationForm::Partial(
        &[MutationText {
            resource: Resource::Claims,
            variables: &[
                ("oldAnnotations", "oldObject.metadata.?annotations.orValue({})"),
                ("newAnnotations", "object.metadata.?annotations.orValue({})"),
                (
                    "dropped",
                    "variables.oldAnnotations.filter(k, k.startsWith('pv.kubernetes.io/'))",
                ),
                (
                    "isDropped",
                    "variables.oldPhase == 'Bound' && \
                     'pv.kubernetes.io/bind-completed' in variables.oldAnnotations && \
                     !variables.dropped.exists(k, k in variables.newAnnotations) && \
                     !variables.isBinder && !variables.isTerminating",
                ),
                (
                    "isUnprotected",
                    "'kubernetes.io/pvc-protection' in oldObject.metadata.?finalizers.orValue([]) && \
                     !('kubernetes.io/pvc-protection' in object.metadata.?finalizers.orValue([]))",
                ),
                ("hasFinalizers", "size(object.metadata.?finalizers.orValue([])) > 0"),
            ],
            // A list that is there is added to; a key of a map is added to a map that is there.
            patch: "!variables.isDropped ? [] : (!variables.isUnprotected ? [] : variables.hasFinalizers ? \
                [JSONPatch{op: 'add', path: '/metadata/finalizers/-', value: 'kubernetes.io/pvc-protection'}] : \
                [JSONPatch{op: 'add', path: '/metadata/finalizers', value: ['kubernetes.io/pvc-protection']}]) + \
                (size(variables.newAnnotations) > 0 ? [] : \
                [JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}]) + \
                variables.dropped.map(k, JSONPatch{op: 'add', \
                path: '/metadata/annotations/' + jsonpatch.escapeKey(k), value: variables.oldAnnotations[k]})",
        }],
        "It restores PVCs. Whether the PVC of a PV still has it shows on the PVC.",
    ),
    plan,
};

fn plan(change: &Change, evidence: &Evidence<'_>) -> Option<MutationPlan> {
    if change.actor.is_binder() {
        return None;
    }
    if let Some((old, new)) = change.volume_update() {
        return of_volume(old, new, evidence);
    }
    change.claim_update().and_then(|(old, new)| of_claim(old, new))
}

/// The binder's annotations of a bound claim, if all are dropped together, as by `kubectl replace`.
///
/// Kubernetes: `pv_controller.go`, `syncClaim`: without bind-completed, a claim is bound again, or never if its
/// volume is not free.
fn of_claim(old: &Claim, new: &Claim) -> Option<MutationPlan> {
    let annotations: Vec<(&str, &str)> = old.annotations.with_prefix(VOLUME_PREFIX).collect();
    let keeps_annotation = annotations.iter().any(|(key, _)| new.annotations.has(key));
    if old.phase != ClaimPhase::Bound || !old.annotations.has(BIND_COMPLETED) || keeps_annotation {
        return None;
    }
    let restored =
        annotations.into_iter().map(|(key, _)| FieldMutation::RestoreAnnotation(key.to_owned()));
    let drops_protection =
        old.finalizers.has(CLAIM_PROTECTION) && !new.finalizers.has(CLAIM_PROTECTION);
    let protection = drops_protection.then_some(FieldMutation::RestoreFinalizer(CLAIM_PROTECTION));
    Some(MutationPlan {
        fields: protection.into_iter().chain(restored).collect(),
        warning: format!(
            "the annotations of the binder that the manifest drops from PVC \"{}\" were restored: \
             it is bound",
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
    let fields = dropped(old, new)?;
    let lookup = evidence.holder(key, uid);
    let dependency = Dependency::on(Read::Claim(key.clone()), lookup);
    let whole = match lookup {
        Lookup::Present(claim) => is_whole(old, claim),
        // Assumed until the live read settles it.
        Lookup::Unknown => true,
        Lookup::Absent => false,
    };
    whole.then(|| MutationPlan {
        fields,
        warning: format!(
            "what the manifest drops from bound PV \"{}\" was restored: PVC \"{key}\" has it",
            old.name
        ),
        depends_on: vec![dependency],
    })
}

/// Returns whether the pair is bound from both sides and stays so.
fn is_whole(old: &Volume, claim: &Claim) -> bool {
    pairing(old, claim) == Pairing::Bound && claim.deletion == Deletion::NotAsked
}

/// Returns what a re-applied manifest dropped; nothing if the request means something else.
fn dropped(old: &Volume, new: &Volume) -> Option<Vec<FieldMutation>> {
    let Reservation::Held(key, uid) = &old.reservation else { return None };
    match &new.reservation {
        // The name stays, the uid goes.
        Reservation::Named(same) if same == key => Some(
            dropped_together(old, new).unwrap_or_else(|| vec![FieldMutation::RestoreReservation]),
        ),
        // The uid stays, the name or the namespace goes.
        Reservation::Incomplete(_, Some(same)) if same == uid => {
            Some(vec![FieldMutation::RestoreReservation])
        }
        Reservation::Free => dropped_together(old, new),
        Reservation::Named(_) | Reservation::Held(..) | Reservation::Incomplete(..) => None,
    }
}

/// claimRef, protection and annotations, if all that were there are dropped by one request: that is a
/// manifest from before the binding. To drop claimRef alone is intended.
fn dropped_together(old: &Volume, new: &Volume) -> Option<Vec<FieldMutation>> {
    let annotations: Vec<(&str, &str)> = old.annotations.with_prefix(VOLUME_PREFIX).collect();
    let protected = old.finalizers.has(VOLUME_PROTECTION);
    let keeps_protection = protected && new.finalizers.has(VOLUME_PROTECTION);
    let keeps_annotation = annotations.iter().any(|(key, _)| new.annotations.has(key));
    if keeps_protection || keeps_annotation || (!protected && annotations.is_empty()) {
        return None;
    }
    let mut fields = vec![FieldMutation::RestoreReservation];
    if protected {
        fields.push(FieldMutation::RestoreFinalizer(VOLUME_PROTECTION));
    }
    fields
        .extend(annotations.into_iter().map(|(key, _)| FieldMutation::RestoreAnnotation(key.to_owned())));
    Some(fields)
}

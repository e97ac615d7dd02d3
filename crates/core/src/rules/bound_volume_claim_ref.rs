//! Removing or re-pointing the claimRef of a bound pair.

use super::judging::actor::Actor;
use super::prelude::*;
use crate::binding::{Pairing, pairing};
use crate::model::annotations::names_populator;
use crate::model::{Claim, ClaimKey, Reservation, Stage, Volume};

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-claim-ref",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[RequestType::guard(Resource::Volumes, Operation::Update)]),
    options: RuleOptions {
        terminating: Terminating::Judged,
        scan: ScanCheck::OfClaim(lost),
        ..RuleOptions::DEFAULT
    },
    page: Page {
        hazard: "spec.claimRef of a bound PV is removed, loses its uid, or names another PVC.",
        consequence: "The PVC becomes Lost, and the next PVC that gets the PV reads its files. With another uid and \
            the policy Delete, the storage is deleted.",
        instead: "Give a PV to another PVC with `bindery transfer` or `bindery rename`: it keeps the data, and no \
            third PVC can take the PV. Without Bindery's commands, and where the trash is off: set \
            persistentVolumeReclaimPolicy to Retain, delete the PVC, then point claimRef to the new PVC with its uid. A populator that hands its PV over is recognised by the names that it uses; list others under \
            trusted.populators.",
    },
    policy: PolicyForm::Stricter(
        &[PolicyText {
            variables: &[
                (
                    "newClaim",
                    "object.spec.?claimRef.?namespace.orValue('') + '/' + object.spec.?claimRef.?name.orValue('')",
                ),
                (
                    "isNamed",
                    "object.spec.?claimRef.?namespace.orValue('') != '' && object.spec.?claimRef.?name.orValue('') \
                     != ''",
                ),
                ("newNamespace", "object.spec.?claimRef.?namespace.orValue('')"),
                (
                    "what",
                    "!object.spec.?claimRef.hasValue() ? 'be removed; PVC \"' + variables.claim + '\" may become \
                     Lost, and the next PVC would read its files; to give it to another PVC, run `bindery transfer \
                     pvc/' + variables.claim + ' --to NAMESPACE/NAME`' : !variables.isNamed ? 'lose its namespace \
                     or name; PVC \"' + variables.claim + '\" would become Lost; keep both' : variables.newClaim == \
                     variables.claim ? 'lose the uid of PVC \"' + variables.claim + '\"; the PVC would become Lost, \
                     and with policy Delete its data would be deleted; keep the uid' : 'change from PVC \"' + \
                     variables.claim + '\" to \"' + variables.newClaim + '\"; \"' + variables.claim + '\" would \
                     become Lost, and \"' + variables.newNamespace + '\" would read its files; if it is to have \
                     them, run `bindery transfer pvc/' + variables.claim + ' --to ' + variables.newClaim + '`'",
                ),
            ],
            violations: &[PolicyViolation {
                found: "variables.isBound && !variables.isBinder && !variables.isPopulator && \
                    (oldObject.spec.?claimRef.?namespace.orValue('') != \
                    object.spec.?claimRef.?namespace.orValue('') || oldObject.spec.?claimRef.?name.orValue('') != \
                    object.spec.?claimRef.?name.orValue('') || oldObject.spec.?claimRef.?uid.orValue('') != \
                    object.spec.?claimRef.?uid.orValue(''))",
                sentence: "spec.claimRef of bound PV \"{name}\" would {what}",
            }],
            ..PolicyText::of(Resource::Volumes)
        }],
        "It takes a PV whose status.phase is Bound for a bound one and does not look at the PVC: for the moment in \
         which the PVC is gone and the binder has not released the PV yet, it denies what the rule allows, and it \
         denies populators that are not configured the hand-over of the PV of the PVC that they have filled.",
    ),
    denied: &[
        Example::new("pointing a bound PV at another PVC")
            .given("pair pv-a db/data 10Gi RWO\nclaim qa/data 10Gi RWO")
            .merges("pv/pv-a", HAND_TO_QA)
            .then(&[Fact::Is("pvc/db/data", "/status/phase", "\"Lost\"")]),
        Example::new("removing the claimRef of a bound PV")
            .given(PAIR)
            .merges("pv/pv-a", CLEAR_CLAIM_REF)
            .then(&[Fact::Lacks("pv/pv-a", "/spec/claimRef/uid")]),
    ],
    allowed: &[
        Example::new("clearing the claimRef of a PV whose PVC was deleted")
            .given(RELEASED)
            .merges("pv/pv-a", CLEAR_CLAIM_REF),
        Example::new("pointing a PV whose PVC is being deleted at another PVC, with a warning")
            .given("pair pv-a db/data 10Gi RWO claim-terminating\nclaim qa/data 10Gi RWO")
            .merges("pv/pv-a", HAND_TO_QA),
        Example::new("a populator handing its PV to the PVC that it works for")
            .given("claim qa/data 10Gi RWO\npair pv-a db/prime-{uid:qa/data} 10Gi RWO")
            .by(Persona::Driver)
            .merges("pv/pv-a", HAND_TO_QA),
        Example::new(
            "KubeVirt's importer handing the clone of another namespace's disk to its PVC",
        )
        .given("claim qa/data 10Gi RWO\npair pv-a db/tmp-pvc-{uid:qa/data} 10Gi RWO")
        .by(Persona::Driver)
        .merges("pv/pv-a", HAND_TO_QA),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    if old.reservation == new.reservation || change.actor == Actor::Populator {
        return Vec::new();
    }
    let (key, claim, dependency) = match pair(old, evidence) {
        Pair::Bound { key, claim, dependency } => (key, claim, dependency),
        Pair::Ending { key, claim: Some(_), dependency } if !change.actor.is_binder() => {
            return vec![ending(old, key).depending_on(dependency).as_warning()];
        }
        Pair::Ending { .. } | Pair::Unbound => return Vec::new(),
    };
    if change.actor.is_binder() || claim.is_some_and(|claim| is_handed_over(claim, new)) {
        return Vec::new();
    }
    vec![Violation::new("spec.claimRef", text(old, key, &new.reservation)).depending_on(dependency)]
}

/// A claim that is being deleted may still be mounted by a pod.
fn ending(old: &Volume, key: &ClaimKey) -> Violation {
    let text = format!(
        "PVC \"{key}\" of PV \"{}\" is being deleted but still exists; a pod may still write to \
         the PV; make sure that no pod uses it",
        old.name
    );
    Violation::new("spec.claimRef", text)
}

fn text(old: &Volume, key: &ClaimKey, new: &Reservation) -> String {
    let head = format!("spec.claimRef of bound PV \"{}\" would", old.name);
    match new {
        Reservation::Free => format!(
            "{head} be removed; PVC \"{key}\" may become Lost, and the next PVC would read its \
             files; to give it to another PVC, run `bindery transfer pvc/{key} --to NAMESPACE/NAME`"
        ),
        Reservation::Named(other) | Reservation::Held(other, _) if other == key => format!(
            "{head} lose the uid of PVC \"{key}\"; the PVC would become Lost, and with policy \
             Delete its data would be deleted; keep the uid"
        ),
        Reservation::Named(other) | Reservation::Held(other, _) => format!(
            "{head} change from PVC \"{key}\" to \"{other}\"; \"{key}\" would become Lost, and \
             \"{}\" would read its files; if it is to have them, run `bindery transfer pvc/{key} \
             --to {other}`",
            other.namespace
        ),
        Reservation::Incomplete(..) => {
            format!("{head} lose its namespace or name; PVC \"{key}\" would become Lost; keep both")
        }
    }
}

/// What the names of claims begin with that are made for another one, and end with its uid.
const HELPERS: [&str; 2] = ["prime-", "tmp-pvc-"];

/// Returns whether `claim` is a helper that a populator made for the claim to which the volume goes.
///
/// Kubernetes: `lib-volume-populator` names it `prime-<uid>`; CDI `tmp-pvc-<uid>` where it clones
/// from another namespace (`pkg/controller/clone/planner.go`, `createDesiredClaim`); others own it by the real
/// claim or name that in an annotation.
fn is_handed_over(claim: &Claim, new: &Volume) -> bool {
    let Reservation::Held(target, uid) = &new.reservation else { return false };
    let is_named = |prefix| claim.key.name.strip_prefix(prefix).is_some_and(|name| uid.is(name));
    let annotated = claim.annotations.with_prefix("").any(|(key, value)| {
        names_populator(key) && (uid.is(value) || value == target.to_string())
    });
    HELPERS.into_iter().any(is_named) || claim.owners.contains(uid) || annotated
}

/// A claim that was bound and whose volume is gone or belongs to another claim.
fn lost(claim: &Claim, evidence: &Evidence<'_>) -> Option<Violation> {
    let name = claim.volume.as_ref().filter(|_| claim.stage() == Stage::Completed)?;
    let lookup = evidence.volume(name);
    let fact = match lookup {
        Lookup::Present(volume) if pairing(volume, claim) == Pairing::Bound => return None,
        Lookup::Present(_) => format!("spec.claimRef of PV \"{name}\" does not name it"),
        // What was not seen is assumed to be gone until a read settles it.
        Lookup::Absent | Lookup::Unknown => format!("PV \"{name}\" no longer exists"),
    };
    let text = format!(
        "PVC \"{}\" was bound, but {fact}; it is Lost, and its pods do not start; restore the PV \
         with policy Retain and a claimRef with the uid of the PVC, or delete the PVC if its data \
         is not needed",
        claim.key
    );
    let dependency = Dependency::on(Read::Volume(name.clone()), lookup);
    Some(Violation::new("spec.volumeName", text).depending_on(dependency))
}

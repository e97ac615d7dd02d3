//! Removing or re-pointing the claimRef of a bound pair.

use super::judging::actor::Actor;
use super::prelude::*;
use crate::binding::{Pairing, pairing};
use crate::model::{Claim, ClaimKey, Reservation, Stage, Volume};

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-claim-ref",
    mode: Mode::Deny,
    request_types: &[RequestType::guard(Resource::Volumes, Operation::Update)],
    terminating: Terminating::Judged,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::OfClaim(forsaken),
    page: Page {
        hazard: "spec.claimRef of a bound volume is removed, loses its uid, or is pointed at \
            another claim.",
        consequence: "The owner turns Lost; whoever is matched or named next reads the owner's \
            files. With another uid and the policy Delete the storage is destroyed.",
        instead: "Set persistentVolumeReclaimPolicy to Retain, delete the claim, then change claimRef. Populators \
            that hand a volume over pass by their pattern, or are listed under trusted.populators.",
    },
    denied: &[
        Example {
            title: "pointing a bound volume at another claim",
            given: "pair pv-a db/data 10Gi RWO\nclaim qa/data 10Gi RWO",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"claimRef":{"namespace":"qa","name":"data","uid":"{uid:qa/data}"}}}"#,
            },
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Lost\"")],
        },
        Example {
            title: "removing the claimRef of a bound volume",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":null}}"# },
            then: &[Fact::Lacks("pv/pv-a", "/spec/claimRef/uid")],
        },
    ],
    allowed: &[
        Example {
            title: "clearing the claimRef of a volume whose claim is gone",
            given: "volume pv-a 10Gi RWO phase=Released dead=db/data",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":null}}"# },
            then: &[],
        },
        Example {
            title: "pointing a volume whose claim is going at another claim, with a warning",
            given: "pair pv-a db/data 10Gi RWO claim-terminating\nclaim qa/data 10Gi RWO",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"claimRef":{"namespace":"qa","name":"data","uid":"{uid:qa/data}"}}}"#,
            },
            then: &[],
        },
        Example {
            title: "a populator handing its volume to the claim that it works for",
            given: "claim qa/data 10Gi RWO\npair pv-a db/prime-{uid:qa/data} 10Gi RWO",
            by: Persona::Driver,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"claimRef":{"namespace":"qa","name":"data","uid":"{uid:qa/data}"}}}"#,
            },
            then: &[],
        },
        Example {
            title: "KubeVirt's importer handing the clone of another namespace's disk to its claim",
            given: "claim qa/data 10Gi RWO\npair pv-a db/tmp-pvc-{uid:qa/data} 10Gi RWO",
            by: Persona::Driver,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"claimRef":{"namespace":"qa","name":"data","uid":"{uid:qa/data}"}}}"#,
            },
            then: &[],
        },
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
        "claim \"{key}\" of volume \"{}\" is being deleted but still there; a pod may be writing to \
         the volume; make sure that none is",
        old.name
    );
    Violation::new("spec.claimRef", text)
}

fn text(old: &Volume, key: &ClaimKey, new: &Reservation) -> String {
    let head = format!("spec.claimRef of bound volume \"{}\" would", old.name);
    let tail = format!(
        "set persistentVolumeReclaimPolicy to Retain, delete claim \"{key}\", then change claimRef"
    );
    match new {
        Reservation::Free => format!(
            "{head} be removed; \"{key}\" may turn Lost and the next claimant reads its files; {tail}"
        ),
        Reservation::Named(other) | Reservation::Held(other, _) if other == key => format!(
            "{head} lose the uid of \"{key}\"; the claim turns Lost, with policy Delete its data is \
             destroyed; put the uid back"
        ),
        Reservation::Named(other) | Reservation::Held(other, _) => format!(
            "{head} move from \"{key}\" to \"{other}\"; \"{key}\" turns Lost and \"{}\" reads its \
             files; {tail}",
            other.namespace
        ),
        Reservation::Incomplete(..) => {
            format!("{head} lose its namespace or name; \"{key}\" turns Lost; put them back")
        }
    }
}

/// What the names of claims begin with that are made for another one, and end with its uid.
const HELPERS: [&str; 2] = ["prime-", "tmp-pvc-"];

/// Whether `claim` is a helper that a populator made for the claim to which the volume goes.
///
/// Kubernetes: `lib-volume-populator` names it `prime-<uid>`; CDI `tmp-pvc-<uid>` where it clones
/// from another namespace (`pkg/controller/clone/planner.go`, `createDesiredClaim`); others own it by the real
/// claim or name that in an annotation.
fn is_handed_over(claim: &Claim, new: &Volume) -> bool {
    let Reservation::Held(target, uid) = &new.reservation else { return false };
    let is_named = |prefix| claim.key.name.strip_prefix(prefix).is_some_and(|name| uid.is(name));
    let annotated = claim.annotations.with_prefix("").any(|(key, value)| {
        key.contains("populator") && (uid.is(value) || value == target.to_string())
    });
    HELPERS.into_iter().any(is_named) || claim.owners.contains(uid) || annotated
}

/// A claim that was bound and whose volume is gone or somebody else's.
fn forsaken(claim: &Claim, evidence: &Evidence<'_>) -> Option<Violation> {
    let name = claim.volume.as_ref().filter(|_| claim.stage() == Stage::Completed)?;
    let lookup = evidence.volume(name);
    let fact = match lookup {
        Lookup::Present(volume) if pairing(volume, claim) == Pairing::Bound => return None,
        Lookup::Present(_) => format!("spec.claimRef of volume \"{name}\" does not name it"),
        // What was not seen is assumed to be gone until a read settles it.
        Lookup::Absent | Lookup::Unknown => format!("volume \"{name}\" is gone"),
    };
    let text = format!(
        "claim \"{}\" was bound and {fact}; it is Lost, and its pods do not start; restore the volume with \
         policy Retain and a claimRef that has the claim's uid, or delete the claim if its data is not needed",
        claim.key
    );
    let dependency = Dependency::on(Read::Volume(name.clone()), lookup);
    Some(Violation::new("spec.volumeName", text).depending_on(dependency))
}

//! Writing the phase of a volume or a claim by hand.

use super::prelude::*;
use crate::binding::{Pairing, pairing};
use crate::model::{Claim, ClaimPhase, Reservation, Volume, VolumePhase};

pub(super) static RULE: Rule = Rule {
    id: "status-forgery",
    mode: Mode::Deny,
    request_types: &[
        RequestType::advise(Resource::Volumes, Operation::UpdateStatus),
        RequestType::advise(Resource::Claims, Operation::UpdateStatus),
    ],
    terminating: Terminating::Judged,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::OfVolume(contradicted),
    page: Page {
        hazard: "status.phase of a volume or a claim is written by somebody who is not a binder.",
        consequence: "The phase alone protects a volume that is being deleted, and opens a claim's \
            request for edits: a forged one loses the volume or lies about the claim.",
        instead: "Leave the phase to the binder. A binder of your own is listed under \
            trusted.binders.",
    },
    denied: &[
        Example {
            title: "marking a bound volume as released",
            given: "pair pv-a db/data 10Gi RWO volume-terminating",
            by: Persona::Admin,
            send: Send::MergeStatus { target: "pv/pv-a", patch: r#"{"status":{"phase":"Released"}}"# },
            then: &[Fact::Gone("pv/pv-a")],
        },
        Example {
            title: "marking an unbound claim as bound",
            given: "claim db/data 10Gi RWO class=none-such",
            by: Persona::Admin,
            send: Send::MergeStatus { target: "pvc/db/data", patch: r#"{"status":{"phase":"Bound"}}"# },
            then: &[
                Fact::Is("pvc/db/data", "/status/phase", "\"Bound\""),
                Fact::Lacks("pvc/db/data", "/spec/volumeName"),
            ],
        },
    ],
    allowed: &[
        Example {
            title: "a binder of another name completing a bind",
            given: "claim db/data 10Gi RWO\nvolume pv-a 10Gi RWO phase=Available held=db/data",
            by: Persona::Driver,
            send: Send::MergeStatus { target: "pv/pv-a", patch: r#"{"status":{"phase":"Bound"}}"# },
            then: &[],
        },
        Example {
            title: "writing a condition of a claim",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Driver,
            send: Send::MergeStatus {
                target: "pvc/db/data",
                patch: r#"{"status":{"conditions":[{"type":"Resizing","status":"True"}]}}"#,
            },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    if change.actor.is_binder() {
        return Vec::new();
    }
    let violation = match &change.subject {
        ChangedObject::Volume(Transition::Update { old, new }) => volume(old, new, evidence),
        ChangedObject::Claim(Transition::Update { old, new }) => claim(old, new, evidence),
        ChangedObject::Volume(Transition::Create(_) | Transition::Delete(_))
        | ChangedObject::Claim(Transition::Create(_) | Transition::Delete(_))
        | ChangedObject::Namespace(_) => None,
    };
    violation.into_iter().collect()
}

fn volume(old: &Volume, new: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    if old.phase == new.phase {
        return None;
    }
    let text = format!(
        "status.phase of volume \"{}\" would change from {} to {}; the phase protects the volume \
         and only the binder knows it; leave it to the binder",
        old.name, old.phase, new.phase
    );
    let violation = Violation::new("status.phase", text);
    // The second write of a bind: the volume is held by a claim that lives.
    if new.phase == VolumePhase::Bound
        && let Reservation::Held(key, uid) = &old.reservation
    {
        let lookup = evidence.holder(key, uid);
        return match lookup {
            Lookup::Present(_) => None,
            Lookup::Absent => Some(violation),
            Lookup::Unknown => {
                Some(violation.depending_on(Dependency::on(Read::Claim(key.clone()), lookup)))
            }
        };
    }
    Some(violation)
}

fn claim(old: &Claim, new: &Claim, evidence: &Evidence<'_>) -> Option<Violation> {
    if old.phase == new.phase {
        return None;
    }
    let text = format!(
        "status.phase of claim \"{}\" would change from {} to {}; pods and resizers believe it, \
         right or wrong; leave it to the binder",
        old.key.name, old.phase, new.phase
    );
    let violation = Violation::new("status.phase", text);
    // The fourth write of a bind: the claim names a volume that is held by it.
    if new.phase == ClaimPhase::Bound
        && let Some(name) = &old.volume
    {
        let lookup = evidence.volume(name);
        return match lookup {
            Lookup::Present(volume) if pairing(volume, old) == Pairing::Bound => None,
            Lookup::Present(_) | Lookup::Unknown => {
                Some(violation.depending_on(Dependency::on(Read::Volume(name.clone()), lookup)))
            }
            Lookup::Absent => Some(violation),
        };
    }
    Some(violation)
}

/// A volume that is Bound to nobody.
fn contradicted(volume: &Volume, _: &Evidence<'_>) -> Option<Violation> {
    if volume.phase != VolumePhase::Bound || volume.reservation != Reservation::Free {
        return None;
    }
    let text = format!(
        "status.phase of volume \"{}\" is Bound and spec.claimRef names no claim; it is offered to \
         nobody until the binder looks at it; look who has written its status",
        volume.name
    );
    Some(Violation::new("status.phase", text))
}

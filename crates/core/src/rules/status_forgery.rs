//! Writing the phase of a volume or a claim by hand.

use super::prelude::*;
use crate::binding::{Pairing, pairing};
use crate::model::{Claim, ClaimPhase, Reservation, Volume, VolumePhase};

pub(super) static RULE: Rule = Rule {
    id: "status-forgery",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::advise(Resource::Volumes, Operation::UpdateStatus),
        RequestType::advise(Resource::Claims, Operation::UpdateStatus),
    ]),
    options: RuleOptions {
        terminating: Terminating::Judged,
        scan: ScanCheck::OfVolume(contradicted),
        ..RuleOptions::DEFAULT
    },
    page: Page {
        hazard: "status.phase of a PV or a PVC is written by a user that is not a binder.",
        consequence: "Only the phase protects a PV that is being deleted, and it allows changes of a PVC's request. \
            A forged phase loses the PV, or is wrong about the PVC.",
        instead: "Leave the phase to the binder. List a binder of your own under trusted.binders.",
    },
    policy: PolicyForm::Partial(
        &[
            PolicyText {
                violations: &[PolicyViolation {
                    found: "variables.oldPhase != variables.newPhase && !variables.isBinder && !(variables.newPhase \
                        == 'Bound' && oldObject.spec.?claimRef.?uid.orValue('') != '')",
                    sentence: "status.phase of PV \"{name}\" would change from {oldPhase} to {newPhase}; the phase \
                        protects the PV, and only the binder knows it; leave it to the binder",
                }],
                ..PolicyText::of(Resource::Volumes)
            },
            PolicyText {
                violations: &[PolicyViolation {
                    found: "variables.oldPhase != variables.newPhase && !variables.isBinder && !(variables.newPhase \
                        == 'Bound' && oldObject.spec.?volumeName.orValue('') != '')",
                    sentence: "status.phase of PVC \"{name}\" would change from {oldPhase} to {newPhase}; pods and \
                        resizers trust it, right or wrong; leave it to the binder",
                }],
                ..PolicyText::of(Resource::Claims)
            },
        ],
        "Whether a phase Bound is true shows on the other half of the pair; a policy allows every user to set Bound \
         on a PV that is reserved and on a PVC that names its PV.",
    ),
    denied: &[
        Example::new("marking a bound PV as released")
            .given("pair pv-a db/data 10Gi RWO volume-terminating")
            .merges_status("pv/pv-a", r#"{"status":{"phase":"Released"}}"#)
            .then(&[Fact::Gone("pv/pv-a")]),
        Example::new("marking an unbound PVC as bound")
            .given("claim db/data 10Gi RWO class=none-such")
            .merges_status("pvc/db/data", r#"{"status":{"phase":"Bound"}}"#)
            .then(&[
                Fact::Is("pvc/db/data", "/status/phase", "\"Bound\""),
                Fact::Lacks("pvc/db/data", "/spec/volumeName"),
            ]),
    ],
    allowed: &[
        Example::new("a binder of another name completing a bind")
            .given("claim db/data 10Gi RWO\nvolume pv-a 10Gi RWO phase=Available held=db/data")
            .by(Persona::Driver)
            .merges_status("pv/pv-a", r#"{"status":{"phase":"Bound"}}"#),
        Example::new("writing a condition of a PVC").given(PAIR).by(Persona::Driver).merges_status(
            "pvc/db/data",
            r#"{"status":{"conditions":[{"type":"Resizing","status":"True"}]}}"#,
        ),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    if change.actor.is_binder() {
        return Vec::new();
    }
    let of_volume = change.volume_update().and_then(|(old, new)| volume(old, new, evidence));
    let of_claim = change.claim_update().and_then(|(old, new)| claim(old, new, evidence));
    of_volume.or(of_claim).into_iter().collect()
}

fn volume(old: &Volume, new: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    if old.phase == new.phase {
        return None;
    }
    let text = format!(
        "status.phase of PV \"{}\" would change from {} to {}; the phase protects the PV, and \
         only the binder knows it; leave it to the binder",
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
        "status.phase of PVC \"{}\" would change from {} to {}; pods and resizers trust it, right \
         or wrong; leave it to the binder",
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

/// A volume that is Bound without a claim.
fn contradicted(volume: &Volume, _: &Evidence<'_>) -> Option<Violation> {
    if volume.phase != VolumePhase::Bound || volume.reservation != Reservation::Free {
        return None;
    }
    let text = format!(
        "status.phase of PV \"{}\" is Bound, but spec.claimRef names no PVC; no PVC can bind it \
         until the binder corrects it; check who wrote its status",
        volume.name
    );
    Some(Violation::new("status.phase", text))
}

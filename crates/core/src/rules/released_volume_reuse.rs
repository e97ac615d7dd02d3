//! Making a released volume available to any claim.

use super::prelude::*;
use crate::model::{Reservation, VolumePhase};

pub(super) static RULE: Rule = Rule {
    id: "released-volume-reuse",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Volumes, Operation::Update)]),
    options: RuleOptions::DEFAULT,
    page: Page {
        hazard: "The whole claimRef of a released PV is removed.",
        consequence: "The PV is Available again with all its files. The next PVC that binds it, in any namespace, \
            reads them.",
        instead: "Give the PV to one PVC: `bindery rescue pv/NAME` creates the PVC of the old name, or another one with \
            `--to`, and reserves the PV all the time. `bindery release pv/NAME` leaves it to the next PVC of the old \
            name. Or wipe the storage first.",
    },
    policy: PolicyForm::Stricter(
        &[PolicyText {
            violations: &[PolicyViolation {
                found: "variables.oldPhase in ['Released', 'Failed'] && !variables.isBinder && \
                    oldObject.spec.?claimRef.?uid.orValue('') != '' && !object.spec.?claimRef.hasValue()",
                sentence: "PV \"{name}\" would be Available with the files of PVC \"{claim}\" on it; the next PVC \
                    that binds it, in any namespace, reads them; to give it to one PVC, run `bindery rescue \
                    pv/{name} --to NAMESPACE/NAME`; or wipe the storage first",
            }],
            ..PolicyText::of(Resource::Volumes)
        }],
        "It does not look whether the PVC still exists.",
    ),
    denied: &[Example::new("clearing the claimRef of a released PV")
        .given(RELEASED)
        .merges("pv/pv-a", CLEAR_CLAIM_REF)
        .then(&[Fact::Lacks("pv/pv-a", "/spec/claimRef")])],
    allowed: &[
        Example::new("reserving a released PV for a new PVC of the old name")
            .given(RELEASED)
            .merges("pv/pv-a", r#"{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}"#),
        Example::new("reserving a released PV for another PVC").given(RELEASED).merges(
            "pv/pv-a",
            r#"{"spec":{"claimRef":{"name":"copy","uid":null,"resourceVersion":null}}}"#,
        ),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    let is_left = matches!(old.phase, VolumePhase::Released | VolumePhase::Failed);
    if !is_left || change.actor.is_binder() || new.reservation != Reservation::Free {
        return Vec::new();
    }
    let Reservation::Held(key, _) = &old.reservation else { return Vec::new() };
    let dependency = match pair(old, evidence) {
        // A claim that is still there is for `bound-volume-claim-ref` to speak of.
        Pair::Bound { claim: Some(_), .. }
        | Pair::Ending { claim: Some(_), .. }
        | Pair::Unbound => {
            return Vec::new();
        }
        Pair::Bound { claim: None, dependency, .. }
        | Pair::Ending { claim: None, dependency, .. } => dependency,
    };
    let text = format!(
        "PV \"{}\" would be Available with the files of PVC \"{key}\" on it; the next PVC that \
         binds it, in any namespace, reads them; to give it to one PVC, run `bindery rescue pv/{} \
         --to NAMESPACE/NAME`; or wipe the storage first",
        new.name, new.name
    );
    vec![Violation::new("spec.claimRef", text).depending_on(dependency)]
}

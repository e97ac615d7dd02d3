//! Prebinding a volume that lacks an access mode that the claim asks for.

use super::judging::examples::pairings;
use super::judging::prebind::{
    OTHER_CLAIM, Prebind, REQUEST_TYPES, unless_found_or_mutual, violations,
};
use super::prelude::*;
use crate::binding::Mismatch;
use crate::model::AccessModes;

pub(super) static RULE: Rule = Rule {
    id: "prebind-access-modes",
    mode: Mode::Deny,
    request_types: REQUEST_TYPES,
    options: RuleOptions { scan: ScanCheck::WhileUnbound, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PVC names a PV that lacks a requested access mode, or such a PV is reserved for the PVC.",
        consequence: "The PVC stays Pending forever, or two pods that must share the PV cannot.",
        instead: "Request only access modes that the PV has. If both name each other, they are bound anyway: a \
            warning.",
    },
    policy: PolicyForm::NotExpressible(
        "It compares a PV with a PVC, and a request shows one of the two. With `--volumes-as-parameters`, a policy denies \
         it where a PVC names a PV.",
    ),
    denied: pairings!(
        "pairing a PV with a PVC for more access modes",
        "volume pv-a 10Gi RWO",
        "claim db/data 10Gi RWX",
        PENDING,
        PENDING
    ),
    allowed: pairings!(
        "pairing a PV and a PVC that match",
        "volume pv-a 10Gi RWO,RWX",
        "claim db/data 10Gi RWX",
        &[],
        &[],
        Example::new(
            "a new PVC naming a PV that is reserved for it and has other modes, with a warning",
        )
        .given("volume pv-a 10Gi ROX phase=Available for=db/data")
        .by(Persona::VolumeViewer)
        .creates("claim db/data 10Gi RWX volume=pv-a"),
    ),
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let describe = |prebind: &Prebind<'_>, mismatch: &Mismatch| {
        let Mismatch::AccessModes { requested, offered } = mismatch else { return None };
        Some(text(prebind, requested, offered))
    };
    violations(change, evidence, describe, unless_found_or_mutual)
}

fn text(prebind: &Prebind<'_>, requested: &AccessModes, offered: &AccessModes) -> String {
    let (offers, requested) = (format!("offers {offered}"), requested.to_string());
    prebind.text(
        [&offers, &requested, OTHER_CLAIM],
        [&requested, "does not offer it", "request fewer access modes"],
        prebind.consequence(),
    )
}

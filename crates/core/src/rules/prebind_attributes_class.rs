//! Prebinding a volume of another attributes class.

use super::judging::examples::pairings;
use super::judging::prebind::{
    Prebind, REQUEST_TYPES, class_text, unless_found_or_mutual, violations,
};
use super::prelude::*;
use crate::binding::Mismatch;

pub(super) static RULE: Rule = Rule {
    id: "prebind-attributes-class",
    mode: Mode::Deny,
    request_types: REQUEST_TYPES,
    options: RuleOptions { scan: ScanCheck::WhileUnbound, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PVC names a PV with another VolumeAttributesClass, or such a PV is reserved for the PVC.",
        consequence: "The PVC stays Pending forever, or is bound to a PV with other performance than requested.",
        instead: "Set the same spec.volumeAttributesClassName on PV and PVC.",
    },
    policy: PolicyForm::NotExpressible("It compares a PV with a PVC, and a request shows one of the two."),
    denied: pairings!(
        "pairing two VolumeAttributesClasses",
        "volume pv-a 10Gi RWO csi=disk.example.com attributes=gold",
        "claim db/data 10Gi RWO attributes=silver",
        PENDING,
        PENDING
    ),
    allowed: pairings!(
        "pairing a PV and a PVC that match",
        "volume pv-a 10Gi RWO csi=disk.example.com attributes=gold",
        "claim db/data 10Gi RWO attributes=gold",
        &[],
        &[],
    ),
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let kind = ("VolumeAttributesClass", "the PVC would not use it");
    let describe = |prebind: &Prebind<'_>, mismatch: &Mismatch| {
        let Mismatch::AttributesClass { requested, offered } = mismatch else { return None };
        Some(class_text(prebind, kind, requested.as_ref(), offered.as_ref()))
    };
    violations(change, evidence, describe, unless_found_or_mutual)
}

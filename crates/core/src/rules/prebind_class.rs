//! Prebinding a volume to a claim of another class.

use super::judging::examples::pairings;
use super::judging::prebind::{
    Prebind, REQUEST_TYPES, class_text, unless_found_or_mutual, violations,
};
use super::prelude::*;
use crate::binding::Mismatch;

pub(super) static RULE: Rule = Rule {
    id: "prebind-class",
    mode: Mode::Deny,
    request_types: REQUEST_TYPES,
    options: RuleOptions { scan: ScanCheck::WhileUnbound, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PVC names a PV with another StorageClass, or a PV is reserved for a PVC with another \
            StorageClass.",
        consequence: "A PVC that names such a PV stays Pending forever. A PV that is reserved for such a PVC is \
            bound to it anyway: quota and expansion then follow the wrong StorageClass.",
        instead: "Use the same StorageClass for PV and PVC. A PV and a PVC without a StorageClass match each \
            other.",
    },
    policy: PolicyForm::NotExpressible(
        "It compares a PV with a PVC, and a request shows one of the two. With `--volumes-as-parameters`, a policy denies \
         it where a PVC names a PV.",
    ),
    denied: pairings!(
        "pairing two StorageClasses",
        "volume pv-a 10Gi RWO class=slow",
        "claim db/data 10Gi RWO class=fast",
        PENDING,
        SLOW
    ),
    allowed: pairings!(
        "pairing a PV and a PVC that match",
        "volume pv-a 10Gi RWO class=fast",
        "claim db/data 10Gi RWO class=fast",
        &[],
        &[],
        Example::new(
            "a StatefulSet creating its PVC, for which a PV of another StorageClass is reserved, \
             with a warning",
        )
        .given("volume pv-a 10Gi RWO class=slow phase=Available for=db/data-db-0")
        .by(Persona::Tenant)
        .creates("claim db/data-db-0 10Gi RWO class=fast"),
    ),
    check,
};

const SLOW: &[Fact] = &[Fact::Is("pv/pv-a", "/spec/storageClassName", "\"slow\"")];

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let kind = ("StorageClass", "the two would be bound anyway");
    let describe = |prebind: &Prebind<'_>, mismatch: &Mismatch| {
        let Mismatch::Class { requested, offered } = mismatch else { return None };
        Some(class_text(prebind, kind, requested.as_ref(), offered.as_ref()))
    };
    violations(change, evidence, describe, unless_found_or_mutual)
}

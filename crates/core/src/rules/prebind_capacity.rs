//! Prebinding a volume that is too small.

use super::judging::examples::pairings;
use super::judging::prebind::{
    OTHER_CLAIM, Prebind, REQUEST_TYPES, unless_found, unless_mutual, violations,
};
use super::prelude::*;
use crate::binding::Mismatch;
use crate::model::{ClassRequest, Expansion};

pub(super) static RULE: Rule = Rule {
    id: "prebind-capacity",
    mode: Mode::Deny,
    request_types: REQUEST_TYPES,
    options: RuleOptions { scan: ScanCheck::WhileUnbound, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PVC names a PV that is smaller than its request, or such a PV is reserved for the PVC.",
        consequence: "The PVC stays Pending forever. Or, if both name each other, it gets less than it requested.",
        instead: "Request no more than the PV has. It is a warning if both name each other, or if the \
            StorageClass allows expansion and the PV may follow.",
    },
    policy: PolicyForm::NotExpressible("It compares a PV with a PVC, and a request shows one of the two."),
    denied: pairings!(
        "pairing a PV with a larger request",
        "volume pv-a 5Gi RWO class=none-such",
        "claim db/data 10Gi RWO class=none-such",
        PENDING,
        PENDING
    ),
    allowed: pairings!(
        "pairing a PV and a PVC that match",
        "volume pv-a 10Gi RWO class=none-such",
        "claim db/data 10Gi RWO class=none-such",
        &[],
        &[],
        Example::new(
            "reserving a released PV for the re-created PVC that requests more, with a warning",
        )
        .given(
            "volume pv-a 5Gi RWO class=none-such phase=Released dead=db/data\n\
             claim db/data 10Gi RWO class=none-such volume=pv-a",
        )
        .merges("pv/pv-a", r#"{"spec":{"claimRef":{"uid":null}}}"#),
        Example::new("a new PVC for which a PV that fits is reserved beside one that is too small")
            .given(
                "volume pv-a 5Gi RWO class=none-such phase=Available for=db/data\n\
                 volume pv-b 10Gi RWO class=none-such phase=Available for=db/data",
            )
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=none-such"),
    ),
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let describe = |prebind: &Prebind<'_>, mismatch: &Mismatch| {
        let Mismatch::TooSmall { .. } = mismatch else { return None };
        Some(text(prebind))
    };
    let weigh = |prebind: &Prebind<'_>, violation| {
        if prebind.is_mutual() {
            return unless_mutual(prebind, violation);
        }
        unless_found(prebind, unless_it_may_grow(prebind, violation, evidence))
    };
    violations(change, evidence, describe, weigh)
}

fn text(prebind: &Prebind<'_>) -> String {
    let has = format!("has {}", prebind.volume.capacity);
    let requested = prebind.claim.request.to_string();
    prebind.text(
        [&has, &requested, OTHER_CLAIM],
        [&requested, "is smaller", "request less"],
        prebind.consequence(),
    )
}

/// A class that allows expansion may let the volume follow: a warning then.
fn unless_it_may_grow(
    prebind: &Prebind<'_>,
    violation: Violation,
    evidence: &Evidence<'_>,
) -> Violation {
    let ClassRequest::Named(name) = prebind.claim.class() else { return violation };
    let lookup = evidence.class(&name);
    match lookup {
        Lookup::Present(class) if class.expansion == Expansion::Allowed => violation.as_warning(),
        Lookup::Present(_) | Lookup::Unknown => {
            violation.depending_on(Dependency::on(Read::Class(name), lookup))
        }
        Lookup::Absent => violation,
    }
}

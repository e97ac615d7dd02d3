//! Prebinding a volume that is too small.

use super::judging::prebind::{
    Prebind, REQUEST_TYPES, Side, unless_found, unless_mutual, violations,
};
use super::prelude::*;
use crate::binding::Mismatch;
use crate::model::{ClassRequest, Expansion};

pub(super) static RULE: Rule = Rule {
    id: "prebind-capacity",
    mode: Mode::Deny,
    request_types: REQUEST_TYPES,
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::WhileUnbound,
    page: Page {
        hazard: "A claim names a volume that is smaller than its request, or such a volume is kept for the claim.",
        consequence: "The claim stays Pending for ever; or, where both name each other, it is bound to less than it \
            asked for.",
        instead: "Ask for no more than the volume has. Where both name each other, or the class allows expansion and \
            the volume may follow, it is a warning.",
    },
    denied: &[
        Example {
            title: "pairing a volume with a larger request, by a new claim",
            given: "volume pv-a 5Gi RWO class=none-such phase=Available",
            by: Persona::VolumeViewer,
            send: Send::Create("claim db/data 10Gi RWO class=none-such volume=pv-a"),
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing a volume with a larger request, by a claim that waits",
            given: "volume pv-a 5Gi RWO class=none-such phase=Available\nclaim db/data 10Gi RWO class=none-such",
            by: Persona::VolumeViewer,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"spec":{"volumeName":"pv-a"}}"# },
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing a volume with a larger request, by a new volume",
            given: "claim db/data 10Gi RWO class=none-such",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 5Gi RWO class=none-such for=db/data"),
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing a volume with a larger request, by a volume that was free",
            given: "claim db/data 10Gi RWO class=none-such\nvolume pv-a 5Gi RWO class=none-such phase=Available",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":{"namespace":"db","name":"data"}}}"# },
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
    ],
    allowed: &[
        Example {
            title: "keeping a released volume for the claim that was made anew and asks for more, with a warning",
            given: "volume pv-a 5Gi RWO class=none-such phase=Released dead=db/data\nclaim db/data 10Gi RWO class=none-such volume=pv-a",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"claimRef":{"uid":null}}}"#,
            },
            then: &[],
        },
        Example {
            title: "a new claim naming a volume that fits",
            given: "volume pv-a 10Gi RWO class=none-such phase=Available",
            by: Persona::VolumeViewer,
            send: Send::Create("claim db/data 10Gi RWO class=none-such volume=pv-a"),
            then: &[],
        },
        Example {
            title: "a claim that waits naming a volume that fits",
            given: "volume pv-a 10Gi RWO class=none-such phase=Available\nclaim db/data 10Gi RWO class=none-such",
            by: Persona::VolumeViewer,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"spec":{"volumeName":"pv-a"}}"# },
            then: &[],
        },
        Example {
            title: "a new claim for which a volume that fits is kept beside one that is too small",
            given: "volume pv-a 5Gi RWO class=none-such phase=Available for=db/data\nvolume pv-b 10Gi RWO class=none-such phase=Available for=db/data",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class=none-such"),
            then: &[],
        },
        Example {
            title: "keeping a new volume that fits",
            given: "claim db/data 10Gi RWO class=none-such",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO class=none-such for=db/data"),
            then: &[],
        },
        Example {
            title: "keeping a volume that fits",
            given: "claim db/data 10Gi RWO class=none-such\nvolume pv-a 10Gi RWO class=none-such phase=Available",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":{"namespace":"db","name":"data"}}}"# },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let tell = |prebind: &Prebind<'_>, mismatch: &Mismatch| {
        let Mismatch::TooSmall { .. } = mismatch else { return None };
        Some(text(prebind))
    };
    let weigh = |prebind: &Prebind<'_>, violation| {
        if prebind.is_mutual() {
            return unless_mutual(prebind, violation);
        }
        unless_found(prebind, unless_it_may_grow(prebind, violation, evidence))
    };
    violations(change, evidence, tell, weigh)
}

fn text(prebind: &Prebind<'_>) -> String {
    let (claim, volume) = (prebind.claim, prebind.volume);
    match prebind.side {
        Side::Volume => format!(
            "volume \"{}\" has {}, but claim \"{}\", for which it is kept, asks for {}; {}; \
             leave spec.claimRef out or name another claim",
            volume.name,
            volume.capacity,
            claim.key,
            claim.request,
            prebind.consequence()
        ),
        Side::ClaimNames | Side::ClaimFinds => format!(
            "claim \"{}\" asks for {} but {} is smaller; {}; {}",
            claim.key.name,
            claim.request,
            prebind.the_volume(),
            prebind.consequence(),
            prebind.way_out("ask for less")
        ),
    }
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

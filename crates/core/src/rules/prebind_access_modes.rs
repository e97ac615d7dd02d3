//! Prebinding a volume that lacks an access mode that the claim asks for.

use super::judging::prebind::{
    Prebind, REQUEST_TYPES, Side, unless_found, unless_mutual, violations,
};
use super::prelude::*;
use crate::binding::Mismatch;
use crate::model::AccessModes;

pub(super) static RULE: Rule = Rule {
    id: "prebind-access-modes",
    mode: Mode::Deny,
    request_types: REQUEST_TYPES,
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::WhileUnbound,
    page: Page {
        hazard: "A claim names a volume without one of the access modes that it asks for, or such a volume is kept \
            for the claim.",
        consequence: "The claim stays Pending for ever, or two pods that must share the volume cannot.",
        instead: "Ask only for access modes that the volume has. Where both name each other they are bound all the \
            same: a warning.",
    },
    denied: &[
        Example {
            title: "pairing a volume with a claim for more access modes, by a new claim",
            given: "volume pv-a 10Gi RWO phase=Available",
            by: Persona::VolumeViewer,
            send: Send::Create("claim db/data 10Gi RWX volume=pv-a"),
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing a volume with a claim for more access modes, by a claim that waits",
            given: "volume pv-a 10Gi RWO phase=Available\nclaim db/data 10Gi RWX",
            by: Persona::VolumeViewer,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"spec":{"volumeName":"pv-a"}}"# },
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing a volume with a claim for more access modes, by a new volume",
            given: "claim db/data 10Gi RWX",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO for=db/data"),
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing a volume with a claim for more access modes, by a volume that was free",
            given: "claim db/data 10Gi RWX\nvolume pv-a 10Gi RWO phase=Available",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":{"namespace":"db","name":"data"}}}"# },
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
    ],
    allowed: &[
        Example {
            title: "a new claim naming a volume that fits",
            given: "volume pv-a 10Gi RWO,RWX phase=Available",
            by: Persona::VolumeViewer,
            send: Send::Create("claim db/data 10Gi RWX volume=pv-a"),
            then: &[],
        },
        Example {
            title: "a new claim naming a volume that is kept for it and has other modes, with a warning",
            given: "volume pv-a 10Gi ROX phase=Available for=db/data",
            by: Persona::VolumeViewer,
            send: Send::Create("claim db/data 10Gi RWX volume=pv-a"),
            then: &[],
        },
        Example {
            title: "a claim that waits naming a volume that fits",
            given: "volume pv-a 10Gi RWO,RWX phase=Available\nclaim db/data 10Gi RWX",
            by: Persona::VolumeViewer,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"spec":{"volumeName":"pv-a"}}"# },
            then: &[],
        },
        Example {
            title: "keeping a new volume that fits",
            given: "claim db/data 10Gi RWX",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO,RWX for=db/data"),
            then: &[],
        },
        Example {
            title: "keeping a volume that fits",
            given: "claim db/data 10Gi RWX\nvolume pv-a 10Gi RWO,RWX phase=Available",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":{"namespace":"db","name":"data"}}}"# },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let tell = |prebind: &Prebind<'_>, mismatch: &Mismatch| {
        let Mismatch::AccessModes { requested, offered } = mismatch else { return None };
        Some(text(prebind, requested, offered))
    };
    violations(change, evidence, tell, |prebind, violation| {
        unless_found(prebind, unless_mutual(prebind, violation))
    })
}

fn text(prebind: &Prebind<'_>, requested: &AccessModes, offered: &AccessModes) -> String {
    match prebind.side {
        Side::Volume => format!(
            "volume \"{}\" offers {offered}, but claim \"{}\", for which it is kept, asks for \
             {requested}; {}; leave spec.claimRef out or name another claim",
            prebind.volume.name,
            prebind.claim.key,
            prebind.consequence()
        ),
        Side::ClaimNames | Side::ClaimFinds => format!(
            "claim \"{}\" asks for {requested} but {} does not offer that; {}; {}",
            prebind.claim.key.name,
            prebind.the_volume(),
            prebind.consequence(),
            prebind.way_out("ask for fewer access modes")
        ),
    }
}

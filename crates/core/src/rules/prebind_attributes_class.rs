//! Prebinding a volume of another attributes class.

use super::judging::prebind::{Prebind, REQUEST_TYPES, class_text, unless_found, unless_mutual, violations};
use super::prelude::*;
use crate::binding::Mismatch;

pub(super) static RULE: Rule = Rule {
    id: "prebind-attributes-class",
    mode: Mode::Deny,
    request_types: REQUEST_TYPES,
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::WhileUnbound,
    page: Page {
        hazard: "A claim names a volume of another volume attributes class, or such a volume is kept for the claim.",
        consequence: "The claim stays Pending for ever, or is bound to a volume that performs otherwise than asked.",
        instead: "Give volume and claim the same spec.volumeAttributesClassName.",
    },
    denied: &[
        Example {
            title: "pairing two attributes classes, by a new claim",
            given: "volume pv-a 10Gi RWO csi=disk.example.com attributes=gold phase=Available",
            by: Persona::VolumeViewer,
            send: Send::Create("claim db/data 10Gi RWO attributes=silver volume=pv-a"),
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing two attributes classes, by a claim that waits",
            given: "volume pv-a 10Gi RWO csi=disk.example.com attributes=gold phase=Available\nclaim db/data 10Gi RWO attributes=silver",
            by: Persona::VolumeViewer,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"spec":{"volumeName":"pv-a"}}"# },
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing two attributes classes, by a new volume",
            given: "claim db/data 10Gi RWO attributes=silver",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO csi=disk.example.com attributes=gold for=db/data"),
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing two attributes classes, by a volume that was free",
            given: "claim db/data 10Gi RWO attributes=silver\nvolume pv-a 10Gi RWO csi=disk.example.com attributes=gold phase=Available",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":{"namespace":"db","name":"data"}}}"# },
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
    ],
    allowed: &[
        Example {
            title: "a new claim naming a volume that fits",
            given: "volume pv-a 10Gi RWO csi=disk.example.com attributes=gold phase=Available",
            by: Persona::VolumeViewer,
            send: Send::Create("claim db/data 10Gi RWO attributes=gold volume=pv-a"),
            then: &[],
        },
        Example {
            title: "a claim that waits naming a volume that fits",
            given: "volume pv-a 10Gi RWO csi=disk.example.com attributes=gold phase=Available\nclaim db/data 10Gi RWO attributes=gold",
            by: Persona::VolumeViewer,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"spec":{"volumeName":"pv-a"}}"# },
            then: &[],
        },
        Example {
            title: "keeping a new volume that fits",
            given: "claim db/data 10Gi RWO attributes=gold",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO csi=disk.example.com attributes=gold for=db/data"),
            then: &[],
        },
        Example {
            title: "keeping a volume that fits",
            given: "claim db/data 10Gi RWO attributes=gold\nvolume pv-a 10Gi RWO csi=disk.example.com attributes=gold phase=Available",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":{"namespace":"db","name":"data"}}}"# },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let kind = ("attributes class", "the claim would pass it over");
    let tell = |prebind: &Prebind<'_>, mismatch: &Mismatch| {
        let Mismatch::AttributesClass { requested, offered } = mismatch else { return None };
        Some(class_text(prebind, kind, requested.as_ref(), offered.as_ref()))
    };
    violations(change, evidence, tell, |prebind, violation| {
        unless_found(prebind, unless_mutual(prebind, violation))
    })
}

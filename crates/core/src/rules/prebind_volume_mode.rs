//! Prebinding a raw device to a claim for a file system, or the reverse.

use super::judging::prebind::{Prebind, REQUEST_TYPES, Side, unless_found, violations};
use super::prelude::*;
use crate::binding::Mismatch;
use crate::model::VolumeMode;

pub(super) static RULE: Rule = Rule {
    id: "prebind-volume-mode",
    mode: Mode::Deny,
    request_types: REQUEST_TYPES,
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::WhileUnbound,
    page: Page {
        hazard: "A claim for a file system names a raw device, or the reverse; or a volume is kept for such a claim.",
        consequence: "The claim stays Pending, or the two are bound and no pod can ever start with them.",
        instead: "Give volume and claim the same spec.volumeMode.",
    },
    denied: &[
        Example {
            title: "pairing a device with a claim for a file system, by a new claim",
            given: "volume pv-a 10Gi RWO class=none-such mode=Block phase=Available",
            by: Persona::VolumeViewer,
            send: Send::Create("claim db/data 10Gi RWO class=none-such volume=pv-a"),
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing a device with a claim for a file system, by a claim that waits",
            given: "volume pv-a 10Gi RWO class=none-such mode=Block phase=Available\nclaim db/data 10Gi RWO class=none-such",
            by: Persona::VolumeViewer,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"spec":{"volumeName":"pv-a"}}"# },
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing a device with a claim for a file system, by a new volume",
            given: "claim db/data 10Gi RWO class=none-such",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO class=none-such mode=Block for=db/data"),
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing a device with a claim for a file system, by a volume that was free",
            given: "claim db/data 10Gi RWO class=none-such\nvolume pv-a 10Gi RWO class=none-such mode=Block phase=Available",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":{"namespace":"db","name":"data"}}}"# },
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
    ],
    allowed: &[
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
        let Mismatch::VolumeMode { requested, offered } = mismatch else { return None };
        Some(text(prebind, requested, offered))
    };
    violations(change, evidence, tell, unless_found)
}

fn text(prebind: &Prebind<'_>, requested: &VolumeMode, offered: &VolumeMode) -> String {
    match prebind.side {
        Side::Volume => format!(
            "volume \"{}\" is {offered}, but claim \"{}\", for which it is kept, asks for \
             {requested}; no pod could start with it; leave spec.claimRef out or name another claim",
            prebind.volume.name, prebind.claim.key
        ),
        Side::ClaimNames | Side::ClaimFinds => format!(
            "claim \"{}\" asks for volume mode {requested} but {} has another; no pod could start \
             with it; {}",
            prebind.claim.key.name,
            prebind.the_volume(),
            prebind.way_out("use the volume's mode")
        ),
    }
}

//! Prebinding a volume of another attributes class.

use super::judging::prebind::{Prebind, Side, prebinds};
use super::prelude::*;
use crate::binding::Mismatch;
use crate::model::ClassName;

pub(super) static RULE: Rule = Rule {
    id: "prebind-attributes-class",
    mode: Mode::Deny,
    routes: &[
        Route::advise(Resource::Volumes, Operation::Create),
        Route::advise(Resource::Volumes, Operation::Update),
        Route::advise(Resource::Claims, Operation::Create),
        Route::advise(Resource::Claims, Operation::Update),
    ],
    terminating: Terminating::Passes,
    extent: Extent::Whole,
    exemption: Exemptable::Yes,
    page: Page {
        hazard: "A claim names a volume of another volume attributes class, or such a volume is kept for the claim.",
        consequence: "The claim stays Pending for ever, or is bound to a volume that performs otherwise than asked.",
        instead: "Give volume and claim the same spec.volumeAttributesClassName.",
    },
    refuses: &[
        Example {
            title: "pairing two attributes classes, by a new claim",
            given: "volume pv-a 10Gi RWO csi=disk.example.com attributes=gold phase=Available",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO attributes=silver volume=pv-a"),
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing two attributes classes, by a claim that waits",
            given: "volume pv-a 10Gi RWO csi=disk.example.com attributes=gold phase=Available\nclaim db/data 10Gi RWO attributes=silver",
            by: Persona::Tenant,
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
    allows: &[
        Example {
            title: "a new claim naming a volume that fits",
            given: "volume pv-a 10Gi RWO csi=disk.example.com attributes=gold phase=Available",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO attributes=gold volume=pv-a"),
            then: &[],
        },
        Example {
            title: "a claim that waits naming a volume that fits",
            given: "volume pv-a 10Gi RWO csi=disk.example.com attributes=gold phase=Available\nclaim db/data 10Gi RWO attributes=gold",
            by: Persona::Tenant,
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
    let mut found = Vec::new();
    for prebind in prebinds(change, evidence) {
        for mismatch in &prebind.mismatches {
            let Mismatch::AttributesClass { requested, offered } = mismatch else { continue };
            let text = text(&prebind, requested.as_ref(), offered.as_ref());
            let violation =
                Violation::new(prebind.field(), text).resting_on(prebind.rest.clone());
            // Kubernetes binds a pair that names each other whatever the classes are.
            found.push(if prebind.is_mutual() { violation.as_warning() } else { violation });
        }
    }
    found
}

fn text(
    prebind: &Prebind<'_>,
    requested: Option<&ClassName>,
    offered: Option<&ClassName>,
) -> String {
    let named = |class: Option<&ClassName>| match class {
        None => "no attributes class".to_owned(),
        Some(name) => format!("attributes class \"{name}\""),
    };
    let requested = named(requested);
    match prebind.side {
        Side::Volume => format!(
            "volume \"{}\" has {}, but claim \"{}\", for which it is kept, asks for {requested}; the \
             claim would not find it; use the claim's or leave spec.claimRef out",
            prebind.volume.name,
            named(offered),
            prebind.claim.key
        ),
        Side::ClaimNames | Side::ClaimFinds => format!(
            "claim \"{}\" asks for {requested} but {} has another; it would stay Pending for ever; {}",
            prebind.claim.key.name,
            prebind.the_volume(),
            prebind.way_out("use the volume's attributes class")
        ),
    }
}

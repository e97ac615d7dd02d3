//! Prebinding a volume to a claim of another class.

use super::judging::prebind::{Prebind, Side, prebinds};
use super::prelude::*;
use crate::binding::Mismatch;
use crate::model::ClassName;

pub(super) static RULE: Rule = Rule {
    id: "prebind-class",
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
        hazard: "A claim names a volume of another class, or a volume is kept for a claim of another class.",
        consequence: "A claim that names such a volume stays Pending for ever. A volume that is kept for such a \
            claim is bound to it all the same: quotas and expansion then follow the wrong class.",
        instead: "Give volume and claim the same class. Both without a class match each other.",
    },
    refuses: &[
        Example {
            title: "pairing two classes, by a new claim",
            given: "volume pv-a 10Gi RWO class=slow phase=Available",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class=fast volume=pv-a"),
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing two classes, by a claim that waits",
            given: "volume pv-a 10Gi RWO class=slow phase=Available\nclaim db/data 10Gi RWO class=fast",
            by: Persona::Tenant,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"spec":{"volumeName":"pv-a"}}"# },
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing two classes, by a new volume",
            given: "claim db/data 10Gi RWO class=fast",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO class=slow for=db/data"),
            then: &[Fact::Is("pv/pv-a", "/spec/storageClassName", "\"slow\"")],
        },
        Example {
            title: "pairing two classes, by a volume that was free",
            given: "claim db/data 10Gi RWO class=fast\nvolume pv-a 10Gi RWO class=slow phase=Available",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":{"namespace":"db","name":"data"}}}"# },
            then: &[Fact::Is("pv/pv-a", "/spec/storageClassName", "\"slow\"")],
        },
    ],
    allows: &[
        Example {
            title: "a new claim naming a volume that fits",
            given: "volume pv-a 10Gi RWO class=fast phase=Available",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class=fast volume=pv-a"),
            then: &[],
        },
        Example {
            title: "a claim that waits naming a volume that fits",
            given: "volume pv-a 10Gi RWO class=fast phase=Available\nclaim db/data 10Gi RWO class=fast",
            by: Persona::Tenant,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"spec":{"volumeName":"pv-a"}}"# },
            then: &[],
        },
        Example {
            title: "keeping a new volume that fits",
            given: "claim db/data 10Gi RWO class=fast",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO class=fast for=db/data"),
            then: &[],
        },
        Example {
            title: "keeping a volume that fits",
            given: "claim db/data 10Gi RWO class=fast\nvolume pv-a 10Gi RWO class=fast phase=Available",
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
            let Mismatch::Class { requested, offered } = mismatch else { continue };
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
        None => "no class".to_owned(),
        Some(name) => format!("class \"{name}\""),
    };
    let (claim, requested) = (prebind.claim, named(requested));
    match prebind.side {
        Side::Volume => format!(
            "volume \"{}\" has {}, but claim \"{}\", for which it is kept, asks for {requested}; \
             they would be bound in spite of it; use the claim's class or leave spec.claimRef out",
            prebind.volume.name,
            named(offered),
            claim.key
        ),
        Side::ClaimNames | Side::ClaimFinds => format!(
            "claim \"{}\" asks for {requested} but {} has another class; it would {}; {}",
            claim.key.name,
            prebind.the_volume(),
            if prebind.side == Side::ClaimNames && !prebind.is_mutual() {
                "stay Pending for ever"
            } else {
                "be bound in spite of it"
            },
            prebind.way_out("use the volume's class")
        ),
    }
}

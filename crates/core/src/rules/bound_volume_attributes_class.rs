//! Changing the attributes class of a bound volume by hand.

use super::prelude::*;
use crate::model::{Claim, ClassName};

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-attributes-class",
    mode: Mode::Warn,
    request_types: &[RequestType::advise(Resource::Volumes, Operation::Update)],
    terminating: Terminating::Judged,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::Unseen,
    page: Page {
        hazard: "spec.volumeAttributesClassName of a bound volume is changed by hand.",
        consequence: "The driver is not asked to change anything. The volume claims attributes that \
            its disk does not have, and differs from its claim.",
        instead: "Change spec.volumeAttributesClassName of the claim: its driver then changes the disk \
            and writes the volume.",
    },
    denied: &[Example {
        title: "changing the attributes class of a bound volume by hand",
        given: "pair pv-a db/data 10Gi RWO csi=disk.example.com attributes=silver",
        by: Persona::Admin,
        send: Send::Merge {
            target: "pv/pv-a",
            patch: r#"{"spec":{"volumeAttributesClassName":"gold"}}"#,
        },
        then: &[Fact::Is("pv/pv-a", "/spec/volumeAttributesClassName", "\"gold\"")],
    }],
    allowed: &[
        Example {
            title: "a driver giving a volume the attributes class that its claim asks for",
            given: "pair pv-a db/data 10Gi RWO csi=disk.example.com attributes=silver wants=gold",
            by: Persona::Driver,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"volumeAttributesClassName":"gold"}}"#,
            },
            then: &[],
        },
        Example {
            title: "a driver finishing a change after the claim was set back to its former class",
            given: "pair pv-a db/data 10Gi RWO csi=disk.example.com attributes=silver modifying=gold",
            by: Persona::Driver,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"volumeAttributesClassName":"gold"}}"#,
            },
            then: &[],
        },
        Example {
            title: "a driver setting a volume back with its claim",
            given: "pair pv-a db/data 10Gi RWO csi=disk.example.com attributes=gold wants=silver modifying=gold",
            by: Persona::Driver,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"volumeAttributesClassName":"silver"}}"#,
            },
            then: &[],
        },
        Example {
            title: "changing the attributes class of a volume that nobody has",
            given: "volume pv-a 10Gi RWO csi=disk.example.com attributes=silver phase=Available",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"volumeAttributesClassName":"gold"}}"#,
            },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    if old.attributes_class == new.attributes_class {
        return Vec::new();
    }
    let Pair::Bound { key, claim, dependency } = pair(old, evidence) else { return Vec::new() };
    // Kubernetes: `external-resizer`, `modify_status.go`, `markControllerModifyVolumeCompleted`: the volume gets what
    // the driver was asked for, although the claim may ask for its former class again by then.
    let follows = |claim: &Claim| {
        let target = &claim.modifying_to;
        claim.attributes_class == new.attributes_class
            || (target.is_some() && *target == new.attributes_class)
    };
    if claim.is_some_and(follows) {
        return Vec::new();
    }
    let told = |class: &Option<ClassName>| match class {
        None => "none".to_owned(),
        Some(name) => format!("\"{name}\""),
    };
    let text = format!(
        "attributes class of bound volume \"{}\" would change from {} to {}; its driver is not asked \
         to change the disk; change it on claim \"{key}\" instead",
        old.name,
        told(&old.attributes_class),
        told(&new.attributes_class)
    );
    vec![Violation::new("spec.volumeAttributesClassName", text).depending_on(dependency)]
}

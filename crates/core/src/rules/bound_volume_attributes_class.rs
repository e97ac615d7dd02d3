//! Changing the attributes class of a bound volume by hand.

use super::prelude::*;
use crate::model::{Claim, ClassName};

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-attributes-class",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Volumes, Operation::Update)]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "spec.volumeAttributesClassName of a bound PV is changed by hand.",
        consequence: "The driver does not change the disk. The PV then states attributes that its disk does not \
            have, and differs from its PVC.",
        instead: "Change spec.volumeAttributesClassName of the PVC: its driver changes the disk and updates the \
            PV.",
    },
    policy: PolicyForm::NotExpressible("Which class the driver was asked for shows on the PVC."),
    denied: &[Example::new("changing the VolumeAttributesClass of a bound PV by hand")
        .given("pair pv-a db/data 10Gi RWO csi=disk.example.com attributes=silver")
        .merges("pv/pv-a", r#"{"spec":{"volumeAttributesClassName":"gold"}}"#)
        .then(&[Fact::Is("pv/pv-a", "/spec/volumeAttributesClassName", "\"gold\"")])],
    allowed: &[
        Example::new("a driver giving a PV the VolumeAttributesClass that its PVC requests")
            .given("pair pv-a db/data 10Gi RWO csi=disk.example.com attributes=silver wants=gold")
            .by(Persona::Driver)
            .merges("pv/pv-a", r#"{"spec":{"volumeAttributesClassName":"gold"}}"#),
        Example::new("a driver finishing a change after the PVC was set back to its former one")
            .given(
                "pair pv-a db/data 10Gi RWO csi=disk.example.com attributes=silver \
                    modifying=gold",
            )
            .by(Persona::Driver)
            .merges("pv/pv-a", r#"{"spec":{"volumeAttributesClassName":"gold"}}"#),
        Example::new("a driver setting a PV back with its PVC")
            .given(
                "pair pv-a db/data 10Gi RWO csi=disk.example.com attributes=gold wants=silver \
                    modifying=gold",
            )
            .by(Persona::Driver)
            .merges("pv/pv-a", r#"{"spec":{"volumeAttributesClassName":"silver"}}"#),
        Example::new("changing the VolumeAttributesClass of a PV that is not bound")
            .given("volume pv-a 10Gi RWO csi=disk.example.com attributes=silver phase=Available")
            .merges("pv/pv-a", r#"{"spec":{"volumeAttributesClassName":"gold"}}"#),
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
    let quoted = |class: &Option<ClassName>| match class {
        None => "none".to_owned(),
        Some(name) => format!("\"{name}\""),
    };
    let text = format!(
        "spec.volumeAttributesClassName of bound PV \"{}\" would change from {} to {}; its driver \
         would not change the disk; change it on PVC \"{key}\" instead",
        old.name,
        quoted(&old.attributes_class),
        quoted(&new.attributes_class)
    );
    vec![Violation::new("spec.volumeAttributesClassName", text).depending_on(dependency)]
}

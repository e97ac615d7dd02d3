//! Deleting a StorageClass of which there are volumes, or for which claims wait.

use super::prelude::*;
use crate::model::{ClaimKey, Class, Provisioner, VolumeClass};

pub(super) static RULE: Rule = Rule {
    id: "storage-class-delete-in-use",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Classes, Operation::Delete)]),
    options: RuleOptions::DEFAULT,
    page: Page {
        hazard: "A StorageClass is deleted while bound PVs are of it, or PVCs wait for a PV of it.",
        consequence: "Data stays. But no PVC of the class can be expanded any more, and for new ones nothing makes a \
            PV: the next replica of a StatefulSet, a restored backup. If PVs are made by hand, new PVCs of the class \
            are bound at once, wherever their pods can run: for local PVs that is often the wrong node.",
        instead: "Keep the class as long as there are PVCs of it. To change its parameters, make a class of another \
            name for new PVCs: a class cannot be changed, and PVs keep what they were made with.",
    },
    policy: PolicyForm::NotExpressible("Which PVCs and PVs have the StorageClass shows on them."),
    denied: &[
        Example::new("deleting the class of a bound PV")
            .given("class fast provisioner=disk.example.com\npair pv-a db/data 10Gi RWO class=fast csi=disk.example.com")
            .deletes("sc/fast")
            .then(&[Fact::Gone("sc/fast")]),
        Example::new("deleting the class that a PVC waits for")
            .given("class fast wait\nclaim db/data 10Gi RWO class=fast")
            .deletes("sc/fast")
            .then(&[Fact::Gone("sc/fast")]),
    ],
    allowed: &[
        Example::new("deleting a class that nothing is of")
            .given("class fast\nclass slow\npair pv-a db/data 10Gi RWO class=slow")
            .deletes("sc/fast"),
        Example::new("deleting a class of which only free PVs are left")
            .given("class fast\nvolume pv-a 10Gi RWO class=fast phase=Available")
            .deletes("sc/fast"),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let ChangedObject::Class(Transition::Delete(class)) = &change.subject else {
        return Vec::new();
    };
    of_bound(class, evidence).or_else(|| of_waiting(class, evidence)).into_iter().collect()
}

fn of_bound(class: &Class, evidence: &Evidence<'_>) -> Option<Violation> {
    let volumes = evidence.view().volumes_of_class(VolumeClass::Named(&class.name));
    let mut held = volumes.filter_map(|volume| Some((volume, bound(volume, evidence)?)));
    let (volume, (key, dependency)) = held.next()?;
    let more = match held.count() {
        0 => String::new(),
        more => format!(", as {more} more bound PVs are"),
    };
    let text = format!(
        "PV \"{}\", bound to PVC \"{key}\", is of StorageClass \"{}\"{more}; without the class no such PVC can be \
         expanded, and {}; keep it, and make a class of another name for other parameters",
        volume.name,
        class.name,
        of_new_ones(class)
    );
    Some(Violation::new("metadata.name", text).depending_on(dependency))
}

fn of_waiting(class: &Class, evidence: &Evidence<'_>) -> Option<Violation> {
    let waits = |key: &&ClaimKey| {
        let claim = evidence.claim(key).present();
        claim.is_some_and(|claim| {
            claim.volume.is_none() && claim.class().wanted() == VolumeClass::Named(&class.name)
        })
    };
    let mut waiting = evidence.view().unbound_claims().filter(waits);
    let key = waiting.next()?;
    let (more, wait) = match waiting.count() {
        0 => (String::new(), "waits"),
        more => (format!(" and {more} more"), "wait"),
    };
    let text = format!(
        "PVC \"{key}\"{more} {wait} for a PV of StorageClass \"{}\"; without the class {}; keep the class until it is \
         bound",
        class.name,
        of_new_ones(class)
    );
    let dependency = Dependency::on(Read::Claim(key.clone()), evidence.claim(key));
    Some(Violation::new("metadata.name", text).depending_on(dependency))
}

/// What becomes of PVCs without a PV.
fn of_new_ones(class: &Class) -> &'static str {
    match class.provisioner {
        Provisioner::Named(_) => "PVCs without a PV stay Pending",
        Provisioner::Static => "PVCs without a PV are bound at once, wherever their pods can run",
    }
}

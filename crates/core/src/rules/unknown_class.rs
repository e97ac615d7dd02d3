//! A claim of a class that does not exist.

use super::judging::parameters::Unlisted;
use super::judging::tenancy::{Admission, admission};
use super::prelude::*;
use crate::model::{ClassRequest, Volume, VolumeClass};

pub(super) static RULE: Rule = Rule {
    id: "unknown-class",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Claims, Operation::Create)]),
    options: RuleOptions { scan: ScanCheck::WhileUnbound, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PVC requests a StorageClass that does not exist and that no PV has.",
        consequence: "No PV is created for it. It stays Pending until the StorageClass, or a PV with that name of a \
            StorageClass, is created.",
        instead: "Correct the name, or create the StorageClass first. A StorageClass name that only PVs use is \
            fine once the PVs exist.",
    },
    policy: PolicyForm::NotExpressible("Whether the StorageClass exists shows on the StorageClass."),
    denied: &[Example::new("requesting a StorageClass that does not exist")
        .by(Persona::Tenant)
        .creates("claim db/data 10Gi RWO class=none-such")
        .then(PENDING)],
    allowed: &[
        Example::new("requesting a StorageClass that exists")
            .given("class fast provisioner=disk.example.com")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=fast"),
        Example::new("requesting a StorageClass that only PVs name")
            .given("volume pv-a 10Gi RWO class=manual phase=Available")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=manual"),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Create(new)) = change.claim() else { return Vec::new() };
    let ClassRequest::Named(name) = new.class() else { return Vec::new() };
    let lookup = evidence.class(&name);
    // A volume that does not admit the namespace is one that the claim cannot get and must not learn of.
    let admits = |volume: &Volume| {
        let found = admission(volume, &new.key.namespace, Unlisted::Allow, evidence);
        found == Admission::Admitted
    };
    let mut volumes = evidence.view().volumes_of_class(VolumeClass::Named(&name));
    let mut is_on_a_volume = || volumes.any(|volume| admits(volume));
    if lookup.present().is_some() || new.volume.is_some() || is_on_a_volume() {
        return Vec::new();
    }
    let text = format!(
        "StorageClass \"{name}\" of PVC \"{}\" does not exist; the PVC stays Pending until it is \
         created; correct spec.storageClassName, or create the StorageClass",
        new.key.name
    );
    let dependency = Dependency::on(Read::Class(name.clone()), lookup);
    vec![Violation::new("spec.storageClassName", text).depending_on(dependency)]
}

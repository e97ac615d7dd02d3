//! A claim without a class where there is no default class.

use super::prelude::*;
use crate::model::ClassRequest;

pub(super) static RULE: Rule = Rule {
    id: "static-claim-default-class",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Claims, Operation::Create)]),
    options: RuleOptions { exemption: Exemptable::No, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PVC does not set a StorageClass, and the cluster has no default StorageClass.",
        consequence: "The PVC is Pending until a PV without a StorageClass fits. When a StorageClass is marked as \
            default, the PVC gets that StorageClass, and a provisioner creates an empty PV for it.",
        instead: "Set spec.storageClassName to \"\" for PVs that are created by hand, or to a StorageClass.",
    },
    policy: PolicyForm::NotExpressible("Which StorageClass is the default shows on the StorageClasses."),
    denied: &[Example::new("requesting no StorageClass where there is no default")
        .given("class fast provisioner=disk.example.com")
        .by(Persona::Tenant)
        .creates("claim db/data 10Gi RWO")
        .then(&[Fact::Lacks("pvc/db/data", "/spec/storageClassName")])],
    allowed: &[
        Example::new("requesting PVs without a StorageClass")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class="),
        Example::new("requesting a StorageClass")
            .given("class fast provisioner=disk.example.com")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=fast"),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Create(new)) = change.claim() else { return Vec::new() };
    if new.class() != ClassRequest::Unset {
        return Vec::new();
    }
    let lookup = evidence.default_class();
    if lookup.present().is_some() {
        return Vec::new();
    }
    let text = format!(
        "PVC \"{}\" requests no StorageClass, and the cluster has no default; the first default \
         StorageClass takes it over; set spec.storageClassName to \"\" or to a StorageClass",
        new.key.name
    );
    let dependency = Dependency::on(Read::DefaultClass, lookup);
    vec![Violation::new("spec.storageClassName", text).depending_on(dependency)]
}

//! A claim without a class where there is no default class.

use super::prelude::*;
use crate::model::ClassRequest;

pub(super) static RULE: Rule = Rule {
    id: "static-claim-default-class",
    mode: Mode::Warn,
    request_types: &[RequestType::advise(Resource::Claims, Operation::Create)],
    terminating: Terminating::Passes,
    exemption: Exemptable::No,
    reported_as: None,
    scan: ScanCheck::Unseen,
    page: Page {
        hazard: "A claim says nothing of a class, and the cluster has no default class.",
        consequence: "It waits for a volume without a class. The day somebody marks a class as default, the \
            claim becomes one of that class, and a provisioner makes an empty volume for it.",
        instead: "Set spec.storageClassName to \"\" for volumes that are made by hand, or to a class.",
    },
    denied: &[Example {
        title: "asking for no class where there is no default",
        given: "class fast provisioner=disk.example.com",
        by: Persona::Tenant,
        send: Send::Create("claim db/data 10Gi RWO"),
        then: &[Fact::Lacks("pvc/db/data", "/spec/storageClassName")],
    }],
    allowed: &[
        Example {
            title: "asking for volumes without a class",
            given: "",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class="),
            then: &[],
        },
        Example {
            title: "asking for a class",
            given: "class fast provisioner=disk.example.com",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class=fast"),
            then: &[],
        },
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
        "claim \"{}\" asks for no class and there is no default one; the first that is marked takes \
         it over; set spec.storageClassName to \"\" or to a class",
        new.key.name
    );
    let dependency = Dependency::on(Read::DefaultClass, lookup);
    vec![Violation::new("spec.storageClassName", text).depending_on(dependency)]
}

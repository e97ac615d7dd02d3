//! A claim that names a volume that does not exist.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "missing-volume",
    mode: Mode::Warn,
    routes: &[
        Route::advise(Resource::Claims, Operation::Create),
        Route::advise(Resource::Claims, Operation::Update),
    ],
    terminating: Terminating::Passes,
    exemption: Exemptable::No,
    told_as: None,
    standing: Standing::WhileUnbound,
    page: Page {
        hazard: "A claim names a volume that does not exist.",
        consequence: "It stays Pending, without a word, until a volume of that name is made; whoever \
            makes one gives it to this claim.",
        instead: "Correct the name, or make the volume. When both are restored, either order is fine.",
    },
    refuses: &[Example {
        title: "naming a volume that does not exist",
        given: "",
        by: Persona::Tenant,
        send: Send::Create("claim db/data 10Gi RWO volume=pv-a"),
        then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
    }],
    allows: &[Example {
        title: "naming a volume that exists",
        given: "volume pv-a 10Gi RWO phase=Available",
        by: Persona::Tenant,
        send: Send::Create("claim db/data 10Gi RWO volume=pv-a"),
        then: &[],
    }],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let new = match change.claim() {
        Some(Transition::Create(new)) => new,
        Some(Transition::Update { old, new }) if old.volume.is_none() => new,
        Some(Transition::Update { .. } | Transition::Delete(_)) | None => return Vec::new(),
    };
    let Some(name) = &new.volume else { return Vec::new() };
    let lookup = evidence.volume(name);
    if lookup.present().is_some() {
        return Vec::new();
    }
    let text = format!(
        "volume \"{name}\", which claim \"{}\" names, does not exist; the claim stays Pending until \
         it does; correct spec.volumeName, or make the volume",
        new.key.name
    );
    let rest = Rest::on(Read::Volume(name.clone()), lookup);
    vec![Violation::new("spec.volumeName", text).resting_on(rest)]
}

//! A claim that names a volume that does not exist.

use super::prelude::*;

const PENDING: &[Fact] = &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")];

pub(super) static RULE: Rule = Rule {
    id: "missing-volume",
    mode: Mode::Warn,
    request_types: &[
        RequestType::advise(Resource::Claims, Operation::Create),
        RequestType::advise(Resource::Claims, Operation::Update),
    ],
    terminating: Terminating::Passes,
    exemption: Exemptable::No,
    reported_as: None,
    scan: ScanCheck::WhileUnbound,
    page: Page {
        hazard: "A claim names a volume that does not exist. Or it names one that the asker may not read and that \
            the claim cannot get, whatever the reason.",
        consequence: "It stays Pending, without a word, until a volume of that name is made; whoever \
            makes one gives it to this claim.",
        instead: "Correct the name, or make the volume. When both are restored, either order is fine. Who may read \
            PersistentVolumes is told the reason; the API server's authorizer decides who may.",
    },
    denied: &[
        Example {
            title: "naming a volume that does not exist",
            given: "",
            by: Persona::VolumeViewer,
            send: Send::Create("claim db/data 10Gi RWO volume=pv-a"),
            then: PENDING,
        },
        Example {
            title: "naming a volume that does not exist, without the right to read it",
            given: "",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class= volume=pv-a"),
            then: PENDING,
        },
        Example {
            title: "naming a volume that another claim has, without the right to read it",
            given: "pair pv-a qa/data 10Gi RWO",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class= volume=pv-a"),
            then: PENDING,
        },
        Example {
            title: "naming a volume that is too small, without the right to read it",
            given: "volume pv-a 5Gi RWO phase=Available\nclaim db/data 10Gi RWO class=",
            by: Persona::Tenant,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"spec":{"volumeName":"pv-a"}}"# },
            then: PENDING,
        },
    ],
    allowed: &[
        Example {
            title: "naming a volume that exists",
            given: "volume pv-a 10Gi RWO phase=Available",
            by: Persona::VolumeViewer,
            send: Send::Create("claim db/data 10Gi RWO volume=pv-a"),
            then: &[],
        },
        Example {
            title: "naming a free volume that fits, without the right to read it",
            given: "volume pv-a 10Gi RWO phase=Available",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class= volume=pv-a"),
            then: &[],
        },
        Example {
            title: "a claim that waits naming a free volume that fits, without the right to read it",
            given: "volume pv-a 10Gi RWO phase=Available\nclaim db/data 10Gi RWO class=",
            by: Persona::Tenant,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"spec":{"volumeName":"pv-a"}}"# },
            then: &[],
        },
    ],
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
    let dependency = Dependency::on(Read::Volume(name.clone()), lookup);
    vec![Violation::new("spec.volumeName", text).depending_on(dependency)]
}

//! A claim that names a volume that does not exist.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "missing-volume",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[
        RequestType::advise(Resource::Claims, Operation::Create),
        RequestType::advise(Resource::Claims, Operation::Update),
    ]),
    options: RuleOptions {
        exemption: Exemptable::No,
        scan: ScanCheck::WhileUnbound,
        ..RuleOptions::DEFAULT
    },
    page: Page {
        hazard: "A PVC names a PV that does not exist. Or it names one that the user may not read and that the \
            PVC cannot get, for whatever reason.",
        consequence: "The PVC stays Pending, without an event, until a PV of that name is created. That PV then goes \
            to this PVC.",
        instead: "Correct the name, or create the PV. If you restore both, either order is fine. Users who may \
            read PersistentVolumes see the reason; the API server's authorizer decides who may.",
    },
    policy: PolicyForm::NotExpressible("Whether the PV exists shows on the PV."),
    denied: &[
        Example::new("naming a PV that does not exist")
            .by(Persona::VolumeViewer)
            .creates("claim db/data 10Gi RWO volume=pv-a")
            .then(PENDING),
        Example::new("naming a PV that does not exist, without the right to read it")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class= volume=pv-a")
            .then(PENDING),
        Example::new("naming a PV that another PVC has, without the right to read it")
            .given("pair pv-a qa/data 10Gi RWO")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class= volume=pv-a")
            .then(PENDING),
        Example::new("naming a PV that is too small, without the right to read it")
            .given("volume pv-a 5Gi RWO phase=Available\nclaim db/data 10Gi RWO class=")
            .by(Persona::Tenant)
            .merges("pvc/db/data", NAME_PV_A)
            .then(PENDING),
    ],
    allowed: &[
        Example::new("naming a PV that exists")
            .given(FREE)
            .by(Persona::VolumeViewer)
            .creates("claim db/data 10Gi RWO volume=pv-a"),
        Example::new("naming an Available PV that fits, without the right to read it")
            .given(FREE)
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class= volume=pv-a"),
        Example::new(
            "a Pending PVC naming an Available PV that fits, without the right to read it",
        )
        .given("volume pv-a 10Gi RWO phase=Available\nclaim db/data 10Gi RWO class=")
        .by(Persona::Tenant)
        .merges("pvc/db/data", NAME_PV_A),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let new = change.claim().and_then(|claim| claim.created_or(|old, _| old.volume.is_none()));
    let Some(new) = new else { return Vec::new() };
    let Some(name) = &new.volume else { return Vec::new() };
    let lookup = evidence.volume(name);
    if lookup.present().is_some() {
        return Vec::new();
    }
    let text = format!(
        "PVC \"{}\" names PV \"{name}\", which does not exist; the PVC stays Pending until it \
         does; correct spec.volumeName, or create the PV",
        new.key.name
    );
    let dependency = Dependency::on(Read::Volume(name.clone()), lookup);
    vec![Violation::new("spec.volumeName", text).depending_on(dependency)]
}

//! A claim that names a volume of another tenant.

use super::judging::parameters::Unlisted;
use super::judging::prebind::not_available;
use super::judging::tenancy::{Admission, admission};
use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "foreign-namespace-volume",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::advise(Resource::Claims, Operation::Create),
        RequestType::advise(Resource::Claims, Operation::Update),
    ]),
    options: RuleOptions {
        reported_as: Some("prebind-taken"),
        scan: ScanCheck::AsCreated,
        ..RuleOptions::DEFAULT
    },
    page: Page {
        hazard: "A PVC names a PV that does not admit its namespace. The PV's annotation \
            `bindery.dev/allowed-namespaces` does not list it (names, or prefixes with `*`, separated by \
            commas), and the PV's label `bindery.dev/tenant` is not that of the namespace. With \
            `rules.parameters.unlisted: deny`, a PV without either admits no namespace.",
        consequence: "Kubernetes gives the PV to the first PVC that names it, whatever is on it.",
        instead: "Name a PV of your own, or ask your platform team to label this one. The message is that of \
            `prebind-taken`, word for word: a tenant who guesses names learns nothing.",
    },
    policy: PolicyForm::NotExpressible(
        "Whom a PV admits shows on the PV, and the request is about the PVC. With `--volumes-as-parameters`, a policy \
         denies it.",
    ),
    denied: &[
        Example::new("naming a PV that is for another namespace")
            .given(
                "volume pv-a 10Gi RWO phase=Available \
                    annotation=bindery.dev/allowed-namespaces:qa",
            )
            .by(Persona::VolumeViewer)
            .creates("claim db/data 10Gi RWO class= volume=pv-a")
            .then(&[Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\"")]),
        Example::new("naming a PV of another tenant")
            .given(
                "namespace db bindery.dev/tenant:blue\n\
                    volume pv-a 10Gi RWO phase=Available label=bindery.dev/tenant:red",
            )
            .by(Persona::VolumeViewer)
            .creates("claim db/data 10Gi RWO class= volume=pv-a")
            .then(&[Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\"")]),
    ],
    allowed: &[
        Example::new("naming a PV that is for the namespace")
            .given(
                "volume pv-a 10Gi RWO phase=Available \
                    annotation=bindery.dev/allowed-namespaces:qa,d*",
            )
            .by(Persona::VolumeViewer)
            .creates("claim db/data 10Gi RWO class= volume=pv-a"),
        Example::new("naming a PV that is for every namespace")
            .given(FREE)
            .by(Persona::VolumeViewer)
            .creates("claim db/data 10Gi RWO class= volume=pv-a"),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let new = change.claim().and_then(|claim| claim.created_or(|old, _| old.volume.is_none()));
    let Some(new) = new else { return Vec::new() };
    let Some(name) = new.volume.as_ref().filter(|_| !change.actor.is_binder()) else {
        return Vec::new();
    };
    let unlisted = change.parameters.unlisted;
    let lookup = evidence.volume(name);
    let dependencies = match lookup {
        Lookup::Present(volume) => {
            match admission(volume, &new.key.namespace, unlisted, evidence) {
                Admission::Admitted => return Vec::new(),
                Admission::Foreign(dependencies) => dependencies,
            }
        }
        // With `unlisted: deny`, a volume that does not exist is as foreign as one that does.
        Lookup::Absent if unlisted == Unlisted::Allow => return Vec::new(),
        Lookup::Absent | Lookup::Unknown => Vec::new(),
    };
    let violation = Violation::new("spec.volumeName", not_available(name, &new.key.name));
    let on_volume = Dependency::on(Read::Volume(name.clone()), lookup);
    vec![violation.depending_on(on_volume).depending_on_all(dependencies)]
}

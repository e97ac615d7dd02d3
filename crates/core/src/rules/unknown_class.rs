//! A claim of a class that does not exist.

use super::judging::policy::Unlisted;
use super::judging::tenancy::{Admission, admission};
use super::prelude::*;
use crate::model::{ClassRequest, Volume, VolumeClass};

pub(super) static RULE: Rule = Rule {
    id: "unknown-class",
    mode: Mode::Warn,
    request_types: &[RequestType::advise(Resource::Claims, Operation::Create)],
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::WhileUnbound,
    page: Page {
        hazard: "A claim asks for a class of which there is neither an object nor a volume.",
        consequence: "Nobody makes a volume for it. It stays Pending until somebody makes the class, or a \
            volume that names it.",
        instead: "Correct the name, or make the class first. A class that is only a name on volumes is \
            fine once the volumes are there.",
    },
    denied: &[Example {
        title: "asking for a class that does not exist",
        given: "",
        by: Persona::Tenant,
        send: Send::Create("claim db/data 10Gi RWO class=none-such"),
        then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
    }],
    allowed: &[
        Example {
            title: "asking for a class that exists",
            given: "class fast provisioner=disk.example.com",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class=fast"),
            then: &[],
        },
        Example {
            title: "asking for a class that is only a name on volumes",
            given: "volume pv-a 10Gi RWO class=manual phase=Available",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class=manual"),
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Create(new)) = change.claim() else { return Vec::new() };
    let ClassRequest::Named(name) = new.class() else { return Vec::new() };
    let lookup = evidence.class(&name);
    // A volume that does not admit the namespace is none that the claim could get, and not told of.
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
        "class \"{name}\" of claim \"{}\" does not exist; the claim stays Pending until somebody makes \
         it; correct spec.storageClassName, or make the class",
        new.key.name
    );
    let dependency = Dependency::on(Read::Class(name.clone()), lookup);
    vec![Violation::new("spec.storageClassName", text).depending_on(dependency)]
}

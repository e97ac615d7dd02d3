//! A volume that only some nodes reach, in a class that binds before a pod has a node.

use super::prelude::*;
use crate::model::annotations::PROVISIONED_BY;
use crate::model::{BindingMode, NodeAffinity, VolumeClass};

pub(super) static RULE: Rule = Rule {
    id: "local-volume-immediate-class",
    mode: Mode::Warn,
    request_types: &[RequestType::advise(Resource::Volumes, Operation::Create)],
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::AsCreated,
    page: Page {
        hazard: "A volume that only some nodes reach is of a class that binds at once, or of none.",
        consequence: "A claim takes it before its pod has a node. The pod then has to go where the volume \
            is, and waits for ever if it cannot.",
        instead: "Give it a class with volumeBindingMode WaitForFirstConsumer: the scheduler then chooses \
            volume and node together.",
    },
    denied: &[
        Example {
            title: "making a volume of one node in a class that binds at once",
            given: "class fast",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO class=fast local=/mnt/a node=n1"),
            then: &[Fact::Is("pv/pv-a", "/status/phase", "\"Available\"")],
        },
        Example {
            title: "making a volume of one node without a class",
            given: "",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO local=/mnt/a node=n1"),
            then: &[Fact::Is("pv/pv-a", "/status/phase", "\"Available\"")],
        },
    ],
    allowed: &[
        Example {
            title: "making a volume of one node in a class that waits for the pod",
            given: "class local wait",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO class=local local=/mnt/a node=n1"),
            then: &[],
        },
        Example {
            title: "making a volume of one node for one claim",
            given: "",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO local=/mnt/a node=n1 for=db/data"),
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Create(new)) = change.volume() else { return Vec::new() };
    let is_anywhere = new.node_affinity == NodeAffinity::Unrestricted;
    // Whoever keeps it for a claim chose for its pod; a provisioner made it where the pod is.
    if is_anywhere || new.reservation.key().is_some() || new.annotations.has(PROVISIONED_BY) {
        return Vec::new();
    }
    let of = new.class();
    let (why, dependency) = match of.as_class() {
        VolumeClass::Classless => ("has no class, so claims bind".to_owned(), None),
        VolumeClass::Named(name) => {
            let lookup = evidence.class(name);
            if lookup.present().is_some_and(|class| class.binding_mode != BindingMode::Immediate) {
                return Vec::new();
            }
            let dependency = Dependency::on(Read::Class(name.clone()), lookup);
            (format!("is of class \"{name}\", which binds"), Some(dependency))
        }
    };
    let text = format!(
        "volume \"{}\" is reached from some nodes only and {why} to it before their pod has a node; \
         the pod may find no node; use a class with WaitForFirstConsumer",
        new.name
    );
    let mut violation = Violation::new("spec.storageClassName", text);
    violation.depends_on.extend(dependency);
    vec![violation]
}

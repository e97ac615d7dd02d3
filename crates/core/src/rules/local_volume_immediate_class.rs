//! A volume that only some nodes reach, in a class that binds before a pod has a node.

use super::prelude::*;
use crate::model::annotations::PROVISIONED_BY;
use crate::model::{BindingMode, NodeAffinity, VolumeClass};

pub(super) static RULE: Rule = Rule {
    id: "local-volume-immediate-class",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Volumes, Operation::Create)]),
    options: RuleOptions { scan: ScanCheck::AsCreated, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PV that only some nodes reach has a StorageClass that binds at once, or none.",
        consequence: "A PVC binds to it before its pod has a node. The pod then must run where the PV is, and is \
            Pending forever if it cannot.",
        instead: "Use a StorageClass with volumeBindingMode WaitForFirstConsumer: the scheduler then chooses PV \
            and node together.",
    },
    policy: PolicyForm::NotExpressible("When a PVC is bound shows on the StorageClass."),
    denied: &[
        Example::new("creating a PV of one node in a StorageClass that binds at once")
            .given("class fast")
            .creates("volume pv-a 10Gi RWO class=fast local=/mnt/a node=n1")
            .then(&[Fact::Is("pv/pv-a", "/status/phase", "\"Available\"")]),
        Example::new("creating a PV of one node without a StorageClass")
            .creates("volume pv-a 10Gi RWO local=/mnt/a node=n1")
            .then(&[Fact::Is("pv/pv-a", "/status/phase", "\"Available\"")]),
    ],
    allowed: &[
        Example::new("creating a PV of one node in a StorageClass that waits for the pod")
            .given("class local wait")
            .creates("volume pv-a 10Gi RWO class=local local=/mnt/a node=n1"),
        Example::new("creating a PV of one node for one PVC")
            .creates("volume pv-a 10Gi RWO local=/mnt/a node=n1 for=db/data"),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Create(new)) = change.volume() else { return Vec::new() };
    let is_anywhere = new.node_affinity == NodeAffinity::Unrestricted;
    // A reserved volume was chosen for the pod of its claim; a provisioner creates a volume where the pod is.
    if is_anywhere || new.reservation.key().is_some() || new.annotations.has(PROVISIONED_BY) {
        return Vec::new();
    }
    let of = new.class();
    let (why, dependency) = match of.as_class() {
        VolumeClass::Classless => ("has no StorageClass".to_owned(), None),
        VolumeClass::Named(name) => {
            let lookup = evidence.class(name);
            if lookup.present().is_some_and(|class| class.binding_mode != BindingMode::Immediate) {
                return Vec::new();
            }
            let dependency = Dependency::on(Read::Class(name.clone()), lookup);
            (format!("has StorageClass \"{name}\""), Some(dependency))
        }
    };
    let text = format!(
        "PV \"{}\" is reachable from some nodes only and {why}; PVCs bind to it before their pod \
         has a node, and the pod may find none; use a StorageClass with volumeBindingMode \
         WaitForFirstConsumer",
        new.name
    );
    vec![Violation::new("spec.storageClassName", text).depending_on_all(dependency)]
}

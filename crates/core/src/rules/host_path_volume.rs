//! A volume that is a folder of whatever node its pod runs on.

use super::prelude::*;
use crate::model::{Backend, NodeAffinity};

pub(super) static RULE: Rule = Rule {
    id: "host-path-volume",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Volumes, Operation::Create)]),
    options: RuleOptions { scan: ScanCheck::AsCreated, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A hostPath PV has no node affinity.",
        consequence: "Every node has its own folder at that path. When the pod starts on another node, its data \
            seems to vanish. Two pods that share the PVC write to different folders.",
        instead: "Use a local volume, which names its node, or set spec.nodeAffinity. On a cluster with one node \
            nothing is wrong.",
    },
    policy: PolicyForm::Exact(&[PolicyText {
        violations: &[PolicyViolation {
            found: "object.spec.?hostPath.hasValue() && !object.spec.?nodeAffinity.?required.hasValue()",
            sentence: "PV \"{name}\" is a hostPath on whichever node its pod runs; when the pod moves, its data \
                seems to vanish; set spec.nodeAffinity, or use a local volume",
        }],
        ..PolicyText::of(Resource::Volumes)
    }]),
    denied: &[Example::new("creating a hostPath PV for every node")
        .creates("volume pv-a 10Gi RWO hostPath=/srv/a")
        .then(&[Fact::Lacks("pv/pv-a", "/spec/nodeAffinity")])],
    allowed: &[Example::new("creating a hostPath PV for one node")
        .creates("volume pv-a 10Gi RWO hostPath=/srv/a node=n1")],
    check,
};

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Create(new)) = change.volume() else { return Vec::new() };
    if new.backend != Backend::HostPath || new.node_affinity != NodeAffinity::Unrestricted {
        return Vec::new();
    }
    let text = format!(
        "PV \"{}\" is a hostPath on whichever node its pod runs; when the pod moves, its data \
         seems to vanish; set spec.nodeAffinity, or use a local volume",
        new.name
    );
    vec![Violation::new("spec.hostPath", text)]
}

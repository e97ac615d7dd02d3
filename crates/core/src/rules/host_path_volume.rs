//! A volume that is a folder of whatever node its pod runs on.

use super::prelude::*;
use crate::model::{Backend, NodeAffinity};

pub(super) static RULE: Rule = Rule {
    id: "host-path-volume",
    mode: Mode::Warn,
    request_types: &[RequestType::advise(Resource::Volumes, Operation::Create)],
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::AsCreated,
    page: Page {
        hazard: "A hostPath volume has no node affinity.",
        consequence: "Every node has a folder of its own under that path. When the pod starts on \
            another node its data seems to have vanished, and two pods that share the claim write to \
            different folders.",
        instead: "Use a local volume, which must say its node, or set spec.nodeAffinity. On a cluster \
            of one node nothing is wrong.",
    },
    denied: &[Example {
        title: "making a hostPath volume for every node",
        given: "",
        by: Persona::Admin,
        send: Send::Create("volume pv-a 10Gi RWO hostPath=/srv/a"),
        then: &[Fact::Lacks("pv/pv-a", "/spec/nodeAffinity")],
    }],
    allowed: &[Example {
        title: "making a hostPath volume for one node",
        given: "",
        by: Persona::Admin,
        send: Send::Create("volume pv-a 10Gi RWO hostPath=/srv/a node=n1"),
        then: &[],
    }],
    check,
};

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Create(new)) = change.volume() else { return Vec::new() };
    if new.backend != Backend::HostPath || new.node_affinity != NodeAffinity::Unrestricted {
        return Vec::new();
    }
    let text = format!(
        "volume \"{}\" is a folder of whatever node its pod runs on; when the pod moves, its data \
         seems to have vanished; set spec.nodeAffinity, or make it a local volume",
        new.name
    );
    vec![Violation::new("spec.hostPath", text)]
}

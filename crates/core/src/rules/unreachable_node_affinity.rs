//! A volume that no node reaches.

use super::prelude::*;
use crate::model::{NodeAffinity, NodeTerm, Volume};

pub(super) static RULE: Rule = Rule {
    id: "unreachable-node-affinity",
    mode: Mode::Warn,
    request_types: &[
        RequestType::advise(Resource::Volumes, Operation::Create),
        RequestType::advise(Resource::Volumes, Operation::Update),
    ],
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::AsCreated,
    page: Page {
        hazard: "The node affinity of a volume admits none of the nodes that there are.",
        consequence: "No pod can use it. A claim that is given it is stuck, and so is its pod.",
        instead: "Correct the label or its value: `kubectl get nodes --show-labels`. If the node joins \
            later, nothing is wrong.",
    },
    denied: &[Example {
        title: "making a volume for a node that is not there",
        given: "class local wait\nnode n1",
        by: Persona::Admin,
        send: Send::Create("volume pv-a 10Gi RWO class=local local=/mnt/a node=n2"),
        then: &[Fact::Has("pv/pv-a", "/spec/nodeAffinity")],
    }],
    allowed: &[
        Example {
            title: "making a volume for a node that is there",
            given: "class local wait\nnode n1",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO class=local local=/mnt/a node=n1"),
            then: &[],
        },
        Example {
            title: "labelling a volume of a node that has gone",
            given: "class local wait\nvolume pv-a 10Gi RWO class=local local=/mnt/a node=n2",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"metadata":{"labels":{"a":"b"}}}"# },
            then: &[],
        },
    ],
    check,
};

/// So many terms are asked about: each costs a live read, and a usual affinity has one for each zone.
const TERMS_COUNT_MAX: usize = 8;

/// What is said of more.
fn unread(new: &Volume) -> Violation {
    let text = format!(
        "spec.nodeAffinity of volume \"{}\" has more than {TERMS_COUNT_MAX} terms; whether it admits a \
         node was not looked at, and without one no pod can use it; look at it yourself",
        new.name
    );
    Violation::new("spec.nodeAffinity", text)
}

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let new = match change.volume() {
        Some(Transition::Create(new)) => new,
        Some(Transition::Update { old, new }) if old.node_affinity != new.node_affinity => new,
        Some(Transition::Update { .. } | Transition::Delete(_)) | None => return Vec::new(),
    };
    let terms = match &new.node_affinity {
        NodeAffinity::Unrestricted => return Vec::new(),
        NodeAffinity::Required(terms) if terms.len() <= TERMS_COUNT_MAX => terms,
        NodeAffinity::Required(_) | NodeAffinity::Unread(_) => return vec![unread(new)],
    };
    let lookup = |term: &NodeTerm| evidence.any_node(term);
    if terms.iter().any(|term| lookup(term).present().is_some()) {
        return Vec::new();
    }
    let text = format!(
        "spec.nodeAffinity of volume \"{}\" admits no node that there is ({}); no pod can use it; \
         correct the label or its value",
        new.name, new.node_affinity
    );
    let dependencies = terms.iter().map(|term| Dependency::on(Read::AnyNode(term.clone()), lookup(term)));
    let mut violation = Violation::new("spec.nodeAffinity", text);
    violation.depends_on.extend(dependencies);
    vec![violation]
}

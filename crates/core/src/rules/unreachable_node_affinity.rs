//! A volume that no node reaches.

use super::prelude::*;
use crate::model::{NodeAffinity, NodeTerm, Volume};

pub(super) static RULE: Rule = Rule {
    id: "unreachable-node-affinity",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[
        RequestType::advise(Resource::Volumes, Operation::Create),
        RequestType::advise(Resource::Volumes, Operation::Update),
    ]),
    options: RuleOptions { scan: ScanCheck::AsCreated, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "The node affinity of a PV admits no existing node.",
        consequence: "No pod can use it. A PVC that is bound to it is stuck, and so is its pod.",
        instead: "Correct the label or its value: `kubectl get nodes --show-labels`. If the node joins later, \
            nothing is wrong.",
    },
    policy: PolicyForm::NotExpressible("Which nodes there are shows on the nodes."),
    denied: &[Example::new("creating a PV for a node that does not exist")
        .given("class local wait\nnode n1")
        .creates("volume pv-a 10Gi RWO class=local local=/mnt/a node=n2")
        .then(&[Fact::Has("pv/pv-a", "/spec/nodeAffinity")])],
    allowed: &[
        Example::new("creating a PV for a node that exists")
            .given("class local wait\nnode n1")
            .creates("volume pv-a 10Gi RWO class=local local=/mnt/a node=n1"),
        Example::new("labelling a PV of a node that was removed")
            .given("class local wait\nvolume pv-a 10Gi RWO class=local local=/mnt/a node=n2")
            .merges("pv/pv-a", LABEL),
    ],
    check,
};

/// So many terms are asked about: each costs a live read, and a usual affinity has one for each zone.
const TERMS_COUNT_MAX: usize = 8;

/// Returns what is said of more.
fn unread(new: &Volume) -> Violation {
    let text = format!(
        "spec.nodeAffinity of PV \"{}\" has more than {TERMS_COUNT_MAX} terms; Bindery did not \
         check them, and unless one admits a node no pod can use the PV; check them yourself",
        new.name
    );
    Violation::new("spec.nodeAffinity", text)
}

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let differs = |old: &Volume, new: &Volume| old.node_affinity != new.node_affinity;
    let new = change.volume().and_then(|volume| volume.created_or(differs));
    let Some(new) = new else { return Vec::new() };
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
        "spec.nodeAffinity of PV \"{}\" admits no existing node ({}); no pod could use it; \
         correct the label or its value",
        new.name, new.node_affinity
    );
    let dependencies =
        terms.iter().map(|term| Dependency::on(Read::AnyNode(term.clone()), lookup(term)));
    vec![Violation::new("spec.nodeAffinity", text).depending_on_all(dependencies)]
}

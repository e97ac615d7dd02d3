//! Setting or changing the node affinity of a bound volume.

use super::judging::creator::proof;
use super::judging::violation::Certainty;
use super::prelude::*;
use crate::model::{Volume, WiderLabel};

/// So many labels that span more are looked at, as each costs two live reads: a volume has one or two terms.
const WIDER_LABELS_COUNT_MAX: usize = 4;

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-node-affinity",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[RequestType::guard(Resource::Volumes, Operation::Update)]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "spec.nodeAffinity of a bound PV is set, or is changed so that it no longer admits the same \
            nodes.",
        consequence: "Pods cannot restart where their data is. Without the feature gate MutablePVNodeAffinity, \
            Kubernetes does not allow to change it back.",
        instead: "Set it when you create the PV. A change that admits more nodes passes: another zone, the \
            region of the zone, the present name of a beta label. So does every change by the PV's driver.",
    },
    policy: PolicyForm::NotExpressible(
        "Drivers that move a disk, and changes that only widen the affinity, are known by other objects: the \
         CSIDriver's account and the labels of nodes.",
    ),
    denied: &[Example::new("pinning a bound PV to a node")
        .given(PAIR)
        .merges("pv/pv-a", NOWHERE)
        .then(&[Fact::Has("pv/pv-a", "/spec/nodeAffinity/required")])],
    allowed: &[Example::new("pinning a PV that is not bound")
        .given(FREE)
        .merges("pv/pv-a", NOWHERE)],
    check,
};

const NOWHERE: &str = r#"{"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["nowhere"]}]}]}}}}"#;

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    if old.node_affinity == new.node_affinity {
        return Vec::new();
    }
    let nodes = match widening(old, new, evidence) {
        Ok(()) => return Vec::new(),
        Err(nodes) => nodes,
    };
    let Some((key, dependency)) = bound(old, evidence) else { return Vec::new() };
    // Kubernetes: KEP-5381: a driver that moved the disk writes where it is now.
    let Err(open) = proof(change, old, evidence) else { return Vec::new() };
    let text = format!(
        "spec.nodeAffinity of bound PV \"{}\" would no longer admit the same nodes; pods with PVC \
         \"{key}\" may find no node that reaches the data; keep its nodes and add others",
        old.name
    );
    // What would let it pass has to be proven: it stands where that cannot be read.
    let exceptions = nodes.into_iter().chain(open);
    let exceptions = exceptions.map(|read| Dependency { read, certainty: Certainty::Seen });
    let violation = Violation::new("spec.nodeAffinity", text).depending_on(dependency);
    vec![violation.depending_on_all(exceptions)]
}

/// Returns whether the new affinity admits every node that the old one admits, by the nodes that there are where one of
/// its labels spans more: a region for a zone of it.
///
/// # Errors
///
/// The reads that would show whether it does.
fn widening(old: &Volume, new: &Volume, evidence: &Evidence<'_>) -> Result<(), Vec<Read>> {
    let Some(wider) = old.node_affinity.widened_if(&new.node_affinity) else {
        return Err(Vec::new());
    };
    if wider.len() > WIDER_LABELS_COUNT_MAX {
        return Err(Vec::new());
    }
    let is_open = |label: &WiderLabel| {
        let (lost, remaining) =
            (evidence.any_node(&label.lost), evidence.any_node(&label.remaining));
        (lost, remaining) != (Lookup::Absent, Lookup::Present(&()))
    };
    let open = wider.into_iter().filter(is_open);
    let reads: Vec<Read> =
        open.flat_map(|label| [label.lost, label.remaining].map(Read::AnyNode)).collect();
    if reads.is_empty() { Ok(()) } else { Err(reads) }
}

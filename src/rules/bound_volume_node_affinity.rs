//! Setting or changing the node affinity of a bound volume.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-node-affinity",
    mode: Mode::Deny,
    routes: &[Route::guard(Resource::Volumes, Operation::Update)],
    terminating: Terminating::Passes,
    extent: Extent::Whole,
    exemption: Exemptable::Yes,
    told_as: None,
    standing: Standing::Unseen,
    page: Page {
        hazard: "spec.nodeAffinity of a bound volume is set or changed so that it admits other \
            nodes.",
        consequence: "It can be set once and then never be changed. Pods that run elsewhere cannot \
            restart where their data is.",
        instead: "Set it when the volume is made. Renaming beta labels to their present names, or \
            admitting more nodes, passes.",
    },
    refuses: &[Example {
        title: "pinning a bound volume to a node",
        given: "pair pv-a db/data 10Gi RWO",
        by: Persona::Admin,
        send: Send::Merge {
            target: "pv/pv-a",
            patch: r#"{"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["nowhere"]}]}]}}}}"#,
        },
        then: &[Fact::Has("pv/pv-a", "/spec/nodeAffinity/required")],
    }],
    allows: &[Example {
        title: "pinning a volume that nobody has",
        given: "volume pv-a 10Gi RWO phase=Available",
        by: Persona::Admin,
        send: Send::Merge {
            target: "pv/pv-a",
            patch: r#"{"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["nowhere"]}]}]}}}}"#,
        },
        then: &[],
    }],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    if old.node_affinity == new.node_affinity || old.node_affinity.widened_by(&new.node_affinity) {
        return Vec::new();
    }
    let Some((key, rest)) = bound(old, evidence) else { return Vec::new() };
    let text = format!(
        "spec.nodeAffinity of bound volume \"{}\" would admit other nodes; it can never be changed \
         back and pods of claim \"{key}\" may find no node; leave it as it is",
        old.name
    );
    vec![Violation::new("spec.nodeAffinity", text).resting_on(rest)]
}

//! Giving a bound volume the policy Delete.

use super::judging::restored_policy::is_restored;
use super::prelude::*;
use super::released_volume_policy::harmless;
use crate::model::ReclaimPolicy;

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-reclaim-policy",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Volumes, Operation::Update)]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "The reclaim policy of a bound PV is changed to Delete, unless a move or an import ends and restores it.",
        consequence: "Nothing happens at once. When the PVC or its namespace is deleted, the data is deleted with \
            it.",
        instead: "Keep Retain for data that you cannot restore. Remove PV and storage by hand when they are no \
            longer needed.",
    },
    policy: PolicyForm::Stricter(
        &[PolicyText {
            violations: &[PolicyViolation {
                found: "variables.isBound && variables.oldPolicy != variables.newPolicy && variables.newPolicy == \
                    'Delete' && !variables.isRestored",
                sentence: "persistentVolumeReclaimPolicy of bound PV \"{name}\" would become Delete; its data would \
                    be deleted with PVC \"{claim}\"; {harmlessPolicy}, or make sure that there is a copy",
            }],
            ..PolicyText::of(Resource::Volumes)
        }],
        BY_PHASE,
    ),
    denied: &[Example::new("changing the policy of a bound PV to Delete")
        .given(PAIR)
        .merges("pv/pv-a", POLICY_DELETE)
        .then(&[Fact::Is("pv/pv-a", "/spec/persistentVolumeReclaimPolicy", "\"Delete\"")])],
    allowed: &[
        Example::new("changing the policy of a bound PV to Retain")
            .given("pair pv-a db/data 10Gi RWO policy=Delete")
            .merges("pv/pv-a", POLICY_RETAIN),
        Example::new("labelling a bound PV whose policy is Delete")
            .given("pair pv-a db/data 10Gi RWO policy=Delete")
            .merges("pv/pv-a", LABEL),
        Example::new("ending a move with the policy that the PV had before")
            .given(MOVING)
            .merges("pv/pv-a", END_MOVE),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    if old.policy == new.policy || new.policy != ReclaimPolicy::Delete || is_restored(old, new) {
        return Vec::new();
    }
    let Some((key, dependency)) = bound(old, evidence) else { return Vec::new() };
    let text = format!(
        "persistentVolumeReclaimPolicy of bound PV \"{}\" would become Delete; its data would be \
         deleted with PVC \"{key}\"; {}, or make sure that there is a copy",
        new.name,
        harmless(&old.policy)
    );
    vec![Violation::new("spec.persistentVolumeReclaimPolicy", text).depending_on(dependency)]
}

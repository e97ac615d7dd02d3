//! Editing the binder's and provisioner's annotations of a bound volume.

use super::judging::actor::Actor;
use super::prelude::*;
use crate::model::annotations::{MIGRATED_TO, PROVISIONED_BY, VOLUME_PREFIX};
use crate::model::{Backend, Volume};

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-annotations",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::guard(Resource::Volumes, Operation::Update),
        RequestType::guard(Resource::Volumes, Operation::UpdateStatus),
    ]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "An annotation under pv.kubernetes.io/ of a bound PV is added, changed or removed by hand.",
        consequence: "These annotations decide who deletes the storage, whether a released PV becomes Available, and \
            which driver serves it.",
        instead: "Leave them to the binder and the drivers.",
    },
    policy: PolicyForm::Partial(
        &[PolicyText {
            variables: &[
                (
                    "changed",
                    "['pv.kubernetes.io/bind-completed', 'pv.kubernetes.io/bound-by-controller', \
                     'pv.kubernetes.io/migrated-to', 'pv.kubernetes.io/provisioned-by'].filter(k, \
                     oldObject.metadata.?annotations[?k] != object.metadata.?annotations[?k] && !(k in \
                     ['pv.kubernetes.io/migrated-to', 'pv.kubernetes.io/provisioned-by'] && \
                     object.spec.?csi.?driver.hasValue() && object.metadata.?annotations[?k] == \
                     object.spec.?csi.?driver))",
                ),
                ("first", "variables.changed[0]"),
                (
                    "others",
                    "variables.changed.size() > 1 ? ' and ' + string(variables.changed.size() - 1) + ' more' : ''",
                ),
            ],
            violations: &[PolicyViolation {
                found: "variables.isBound && !variables.isBinder && !variables.isScheduler && \
                    variables.changed.size() > 0",
                sentence: "annotation {first}{others} of PV \"{name}\", bound to PVC \"{claim}\", would change; it \
                    decides who deletes or reuses the storage; keep the old value",
            }],
            ..PolicyText::of(Resource::Volumes)
        }],
        "CEL would need too long to look through all annotations of an object; a policy looks at the four that \
         Kubernetes acts on. It takes a PV whose status.phase is Bound for a bound one and does not look at the \
         PVC: for the moment in which the PVC is gone and the binder has not released the PV yet, it denies what \
         the rule allows.",
    ),
    denied: &[Example::new("naming another provisioner for a bound PV")
        .given(
            "pair pv-a db/data 10Gi RWO policy=Delete \
                    annotation=pv.kubernetes.io/provisioned-by:disk.example.com",
        )
        .merges("pv/pv-a", OTHER_PROVISIONER)
        .then(&[Fact::Is(
            "pv/pv-a",
            "/metadata/annotations/pv.kubernetes.io~1provisioned-by",
            "\"other.example.com\"",
        )])],
    allowed: &[Example::new("annotating a bound PV with a key of another domain")
        .given(PAIR)
        .merges("pv/pv-a", r#"{"metadata":{"annotations":{"example.com/team":"storage"}}}"#)],
    check,
};

const OTHER_PROVISIONER: &str =
    r#"{"metadata":{"annotations":{"pv.kubernetes.io/provisioned-by":"other.example.com"}}}"#;

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    if change.actor.is_binder() || change.actor == Actor::Scheduler {
        return Vec::new();
    }
    let mut keys = old.annotations.changed_keys(&new.annotations, VOLUME_PREFIX);
    keys.retain(|key| !is_drivers_annotation(new, key));
    let Some(first) = keys.first() else { return Vec::new() };
    let Some((key, dependency)) = bound(old, evidence) else { return Vec::new() };
    let others =
        if keys.len() > 1 { format!(" and {} more", keys.len() - 1) } else { String::new() };
    let text = format!(
        "annotation {first}{others} of PV \"{}\", bound to PVC \"{key}\", would change; it \
         decides who deletes or reuses the storage; keep the old value",
        old.name
    );
    vec![Violation::new("metadata.annotations", text).depending_on(dependency)]
}

/// Returns whether the key names the very driver that serves the volume: that is what a driver writes.
fn is_drivers_annotation(new: &Volume, key: &str) -> bool {
    let Backend::Csi(driver) = &new.backend else { return false };
    matches!(key, PROVISIONED_BY | MIGRATED_TO) && new.annotations.get(key) == Some(driver)
}

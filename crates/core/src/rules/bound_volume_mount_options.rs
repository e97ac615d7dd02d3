//! Changing the mount options of a bound volume.

use super::judging::change::Field;
use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-mount-options",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Volumes, Operation::Update)]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "spec.mountOptions of a bound PV is changed.",
        consequence: "Running pods keep the old options. The next pod mounts with the new ones, and does not start \
            if one is wrong. An option that protected the data is gone without notice.",
        instead: "Stop the pods, change the options, and start one pod at once to see that it mounts.",
    },
    policy: PolicyForm::Stricter(
        &[PolicyText {
            violations: &[PolicyViolation {
                found: "variables.isBound && oldObject.spec.?mountOptions.orValue([]) != \
                    object.spec.?mountOptions.orValue([])",
                sentence: "spec.mountOptions of bound PV \"{name}\" would change; the next pod with PVC \"{claim}\" \
                    mounts with them, or does not start; restart one pod at once, or keep the old options",
            }],
            ..PolicyText::of(Resource::Volumes)
        }],
        BY_PHASE,
    ),
    denied: &[Example::new("changing the mount options of a bound PV")
        .given(PAIR)
        .merges("pv/pv-a", r#"{"spec":{"mountOptions":["noexec"]}}"#)
        .then(&[Fact::Is("pv/pv-a", "/spec/mountOptions", "[\"noexec\"]")])],
    allowed: &[
        Example::new("changing the mount options of a PV that is not bound")
            .given(FREE)
            .merges("pv/pv-a", r#"{"spec":{"mountOptions":["noexec"]}}"#),
        Example::new("labelling a bound PV").given(PAIR).merges("pv/pv-a", LABEL),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, _)) = change.volume_update() else { return Vec::new() };
    if change.detail.mount_options == Field::Same {
        return Vec::new();
    }
    let Some((key, dependency)) = bound(old, evidence) else { return Vec::new() };
    let text = format!(
        "spec.mountOptions of bound PV \"{}\" would change; the next pod with PVC \"{key}\" \
         mounts with them, or does not start; restart one pod at once, or keep the old options",
        old.name
    );
    vec![Violation::new("spec.mountOptions", text).depending_on(dependency)]
}

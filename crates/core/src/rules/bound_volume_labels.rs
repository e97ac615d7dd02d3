//! Changing the zone or region label of a bound volume.

use super::prelude::*;
use crate::model::annotations::TOPOLOGY_LABELS;

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-labels",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[
        RequestType::advise(Resource::Volumes, Operation::Update),
        RequestType::advise(Resource::Volumes, Operation::UpdateStatus),
    ]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A zone or region label of a bound PV is changed.",
        consequence: "The scheduler places pods in the zone of the label. The disk stays where it is, so the next \
            pod is Pending forever, or runs where it cannot mount.",
        instead: "Keep the labels, unless the disk really moved.",
    },
    policy: PolicyForm::Stricter(
        &[PolicyText {
            variables: &[
                (
                    "changed",
                    "['topology.kubernetes.io/zone', 'topology.kubernetes.io/region', \
                     'failure-domain.beta.kubernetes.io/zone', \
                     'failure-domain.beta.kubernetes.io/region'].filter(k, oldObject.metadata.?labels[?k] != \
                     object.metadata.?labels[?k])",
                ),
                ("label", "variables.changed[0]"),
            ],
            violations: &[PolicyViolation {
                found: "variables.isBound && variables.changed.size() > 0",
                sentence: "label {label} of bound PV \"{name}\" would change; the scheduler would place pods where \
                    its disk is not; keep the old value unless the disk has moved",
            }],
            ..PolicyText::of(Resource::Volumes)
        }],
        BY_PHASE,
    ),
    denied: &[Example::new("changing the zone of a bound PV")
        .given(PAIR)
        .merges("pv/pv-a", r#"{"metadata":{"labels":{"topology.kubernetes.io/zone":"b"}}}"#)
        .then(&[Fact::Is("pv/pv-a", "/metadata/labels/topology.kubernetes.io~1zone", "\"b\"")])],
    allowed: &[
        Example::new("giving a bound PV a label that is not used for scheduling")
            .given(PAIR)
            .merges("pv/pv-a", LABEL),
        Example::new("changing the zone of a PV that is not bound")
            .given(FREE)
            .merges("pv/pv-a", r#"{"metadata":{"labels":{"topology.kubernetes.io/zone":"b"}}}"#),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    let differs = |key: &&str| old.labels.get(key) != new.labels.get(key);
    let Some(key) = TOPOLOGY_LABELS.into_iter().find(differs) else { return Vec::new() };
    let Some((_, dependency)) = bound(old, evidence) else { return Vec::new() };
    let text = format!(
        "label {key} of bound PV \"{}\" would change; the scheduler would place pods where its \
         disk is not; keep the old value unless the disk has moved",
        old.name
    );
    vec![Violation::new("metadata.labels", text).depending_on(dependency)]
}

//! Changing the zone or region label of a bound volume.

use super::prelude::*;
use crate::model::annotations::TOPOLOGY_LABELS;

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-labels",
    mode: Mode::Warn,
    request_types: &[
        RequestType::advise(Resource::Volumes, Operation::Update),
        RequestType::advise(Resource::Volumes, Operation::UpdateStatus),
    ],
    terminating: Terminating::Judged,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::Unseen,
    page: Page {
        hazard: "A zone or region label of a bound volume is changed.",
        consequence: "The scheduler keeps pods in the zone that the label names. The disk is where it \
            was, so the next pod waits for ever, or is placed where it cannot mount.",
        instead: "Leave the labels as they are, unless the disk really moved.",
    },
    denied: &[Example {
        title: "changing the zone of a bound volume",
        given: "pair pv-a db/data 10Gi RWO",
        by: Persona::Admin,
        send: Send::Merge {
            target: "pv/pv-a",
            patch: r#"{"metadata":{"labels":{"topology.kubernetes.io/zone":"b"}}}"#,
        },
        then: &[Fact::Is("pv/pv-a", "/metadata/labels/topology.kubernetes.io~1zone", "\"b\"")],
    }],
    allowed: &[
        Example {
            title: "giving a bound volume a label that nobody schedules by",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"metadata":{"labels":{"a":"b"}}}"# },
            then: &[],
        },
        Example {
            title: "changing the zone of a volume that nobody has",
            given: "volume pv-a 10Gi RWO phase=Available",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"metadata":{"labels":{"topology.kubernetes.io/zone":"b"}}}"#,
            },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    let differs = |key: &&str| old.labels.get(key) != new.labels.get(key);
    let Some(key) = TOPOLOGY_LABELS.into_iter().find(differs) else { return Vec::new() };
    let Some((_, dependency)) = bound(old, evidence) else { return Vec::new() };
    let text = format!(
        "label {key} of bound volume \"{}\" would change; the scheduler then places pods where its \
         disk is not; put the old value back unless the disk has moved",
        old.name
    );
    vec![Violation::new("metadata.labels", text).depending_on(dependency)]
}

//! Giving a bound volume the policy Delete.

use super::prelude::*;
use super::released_volume_policy::harmless;
use crate::model::ReclaimPolicy;

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-reclaim-policy",
    mode: Mode::Warn,
    request_types: &[RequestType::advise(Resource::Volumes, Operation::Update)],
    terminating: Terminating::Judged,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::Unseen,
    page: Page {
        hazard: "The reclaim policy of a bound volume is switched to Delete.",
        consequence: "Nothing happens at once. The day somebody deletes the claim, or its namespace, \
            the data is gone with it.",
        instead: "Keep Retain for data that nobody can make again; delete volume and storage by hand \
            when they are done with.",
    },
    denied: &[Example {
        title: "switching a bound volume to Delete",
        given: "pair pv-a db/data 10Gi RWO",
        by: Persona::Admin,
        send: Send::Merge {
            target: "pv/pv-a",
            patch: r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#,
        },
        then: &[Fact::Is("pv/pv-a", "/spec/persistentVolumeReclaimPolicy", "\"Delete\"")],
    }],
    allowed: &[
        Example {
            title: "switching a bound volume to Retain",
            given: "pair pv-a db/data 10Gi RWO policy=Delete",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}"#,
            },
            then: &[],
        },
        Example {
            title: "labelling a bound volume whose policy is Delete",
            given: "pair pv-a db/data 10Gi RWO policy=Delete",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"metadata":{"labels":{"a":"b"}}}"# },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    if old.policy == new.policy || new.policy != ReclaimPolicy::Delete {
        return Vec::new();
    }
    let Some((key, dependency)) = bound(old, evidence) else { return Vec::new() };
    let text = format!(
        "policy of bound volume \"{}\" would become Delete; its data goes when claim \"{key}\" does; \
         {}, or make sure that there is a copy",
        new.name,
        harmless(&old.policy)
    );
    vec![Violation::new("spec.persistentVolumeReclaimPolicy", text).depending_on(dependency)]
}

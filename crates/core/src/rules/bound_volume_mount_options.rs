//! Changing the mount options of a bound volume.

use super::judging::change::Field;
use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-mount-options",
    mode: Mode::Warn,
    request_types: &[RequestType::advise(Resource::Volumes, Operation::Update)],
    terminating: Terminating::Judged,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::Unseen,
    page: Page {
        hazard: "spec.mountOptions of a bound volume is changed.",
        consequence: "Pods that run keep the old options. The next to start mounts with the new ones, \
            and does not start if one is wrong; an option that protected the data is gone unseen.",
        instead: "Stop the pods, change the options, and start one of them at once to see that it \
            mounts.",
    },
    denied: &[Example {
        title: "changing the mount options of a bound volume",
        given: "pair pv-a db/data 10Gi RWO",
        by: Persona::Admin,
        send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"mountOptions":["noexec"]}}"# },
        then: &[Fact::Is("pv/pv-a", "/spec/mountOptions", "[\"noexec\"]")],
    }],
    allowed: &[
        Example {
            title: "changing the mount options of a volume that nobody has",
            given: "volume pv-a 10Gi RWO phase=Available",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"mountOptions":["noexec"]}}"#,
            },
            then: &[],
        },
        Example {
            title: "labelling a bound volume",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"metadata":{"labels":{"a":"b"}}}"# },
            then: &[],
        },
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
        "spec.mountOptions of bound volume \"{}\" would change; the next pod that uses claim \
         \"{key}\" mounts with them, or does not start; try one at once, or put the old ones back",
        old.name
    );
    vec![Violation::new("spec.mountOptions", text).depending_on(dependency)]
}

//! What a claim asks for in vain because it names its volume.

use super::prelude::*;
use crate::model::Content;

pub(super) static RULE: Rule = Rule {
    id: "ignored-by-prebind",
    mode: Mode::Warn,
    request_types: &[
        RequestType::advise(Resource::Claims, Operation::Create),
        RequestType::advise(Resource::Claims, Operation::Update),
    ],
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::WhileUnbound,
    page: Page {
        hazard: "A claim names its volume and has a selector or a data source besides.",
        consequence: "Kubernetes gives it the volume that it names, whatever its labels are and whatever \
            is on it: the selector is not asked, and nothing is copied.",
        instead: "Keep one of them: spec.volumeName, or the selector or data source.",
    },
    denied: &[
        Example {
            title: "naming a volume and selecting by labels",
            given: "volume pv-a 10Gi RWO phase=Available",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO volume=pv-a selector=tier:gold"),
            then: &[Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\"")],
        },
        Example {
            title: "naming a volume and asking for a copy of a snapshot",
            given: "volume pv-a 10Gi RWO phase=Available",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO volume=pv-a snapshot=monday"),
            then: &[Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\"")],
        },
    ],
    allowed: &[
        Example {
            title: "selecting by labels alone",
            given: "volume pv-a 10Gi RWO phase=Available",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class= selector=tier:gold"),
            then: &[],
        },
        Example {
            title: "labelling a claim that names its volume and selects by labels",
            given: "volume pv-a 10Gi RWO phase=Available\n\
                claim db/data 10Gi RWO class= volume=pv-a selector=tier:gold",
            by: Persona::Tenant,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"metadata":{"labels":{"a":"b"}}}"# },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    let new = match change.claim() {
        Some(Transition::Create(new)) => new,
        Some(Transition::Update { old, new }) if old.volume.is_none() => new,
        Some(Transition::Update { .. } | Transition::Delete(_)) | None => return Vec::new(),
    };
    if new.volume.is_none() || change.actor.is_binder() {
        return Vec::new();
    }
    let ignored = match (&new.selector, new.content) {
        (Some(_), Content::Empty) => "a selector, which is not asked",
        (None, Content::Copied) => "a data source, of which nothing is copied",
        (Some(_), Content::Copied) => "a selector and a data source, which both count for nothing",
        (None, Content::Empty) => return Vec::new(),
    };
    let text = format!(
        "claim \"{}\" names its volume and has {ignored}; it is given that volume as it is; remove \
         spec.volumeName, or what does not count",
        new.key.name
    );
    vec![Violation::new("spec.volumeName", text)]
}

//! Prebinding a volume to a claim of another class.

use super::judging::prebind::{Prebind, REQUEST_TYPES, class_text, unless_found, unless_mutual, violations};
use super::prelude::*;
use crate::binding::Mismatch;

pub(super) static RULE: Rule = Rule {
    id: "prebind-class",
    mode: Mode::Deny,
    request_types: REQUEST_TYPES,
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::WhileUnbound,
    page: Page {
        hazard: "A claim names a volume of another class, or a volume is kept for a claim of another class.",
        consequence: "A claim that names such a volume stays Pending for ever. A volume that is kept for such a \
            claim is bound to it all the same: quotas and expansion then follow the wrong class.",
        instead: "Give volume and claim the same class. Both without a class match each other.",
    },
    denied: &[
        Example {
            title: "pairing two classes, by a new claim",
            given: "volume pv-a 10Gi RWO class=slow phase=Available",
            by: Persona::VolumeViewer,
            send: Send::Create("claim db/data 10Gi RWO class=fast volume=pv-a"),
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing two classes, by a claim that waits",
            given: "volume pv-a 10Gi RWO class=slow phase=Available\nclaim db/data 10Gi RWO class=fast",
            by: Persona::VolumeViewer,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"spec":{"volumeName":"pv-a"}}"# },
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")],
        },
        Example {
            title: "pairing two classes, by a new volume",
            given: "claim db/data 10Gi RWO class=fast",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO class=slow for=db/data"),
            then: &[Fact::Is("pv/pv-a", "/spec/storageClassName", "\"slow\"")],
        },
        Example {
            title: "pairing two classes, by a volume that was free",
            given: "claim db/data 10Gi RWO class=fast\nvolume pv-a 10Gi RWO class=slow phase=Available",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":{"namespace":"db","name":"data"}}}"# },
            then: &[Fact::Is("pv/pv-a", "/spec/storageClassName", "\"slow\"")],
        },
    ],
    allowed: &[
        Example {
            title: "a new claim naming a volume that fits",
            given: "volume pv-a 10Gi RWO class=fast phase=Available",
            by: Persona::VolumeViewer,
            send: Send::Create("claim db/data 10Gi RWO class=fast volume=pv-a"),
            then: &[],
        },
        Example {
            title: "a claim that waits naming a volume that fits",
            given: "volume pv-a 10Gi RWO class=fast phase=Available\nclaim db/data 10Gi RWO class=fast",
            by: Persona::VolumeViewer,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"spec":{"volumeName":"pv-a"}}"# },
            then: &[],
        },
        Example {
            title: "a StatefulSet making its claim, for which a volume of another class is kept, with a warning",
            given: "volume pv-a 10Gi RWO class=slow phase=Available for=db/data-db-0",
            by: Persona::Tenant,
            send: Send::Create("claim db/data-db-0 10Gi RWO class=fast"),
            then: &[],
        },
        Example {
            title: "keeping a new volume that fits",
            given: "claim db/data 10Gi RWO class=fast",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO class=fast for=db/data"),
            then: &[],
        },
        Example {
            title: "keeping a volume that fits",
            given: "claim db/data 10Gi RWO class=fast\nvolume pv-a 10Gi RWO class=fast phase=Available",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":{"namespace":"db","name":"data"}}}"# },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let kind = ("class", "they would be bound in spite of it");
    let tell = |prebind: &Prebind<'_>, mismatch: &Mismatch| {
        let Mismatch::Class { requested, offered } = mismatch else { return None };
        Some(class_text(prebind, kind, requested.as_ref(), offered.as_ref()))
    };
    violations(change, evidence, tell, |prebind, violation| {
        unless_found(prebind, unless_mutual(prebind, violation))
    })
}

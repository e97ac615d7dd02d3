//! Changing the access modes of a bound volume.

use super::prelude::*;
use crate::model::{ClaimPhase, Volume};

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-access-modes",
    mode: Mode::Deny,
    request_types: &[RequestType::guard(Resource::Volumes, Operation::Update)],
    terminating: Terminating::Judged,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::OfVolume(changed),
    page: Page {
        hazard: "spec.accessModes of a bound volume is changed.",
        consequence: "The binder copies the new modes to the claim. A disk that only one node may \
            write can then be attached to several, which corrupts its file system; or its pods can \
            no longer be scheduled.",
        instead: "Make a new volume with the modes and move the data, or set \
            persistentVolumeReclaimPolicy to Retain, delete the claim, change the modes and bind a new claim.",
    },
    denied: &[Example {
        title: "opening a bound volume to many writers",
        given: "pair pv-a db/data 10Gi RWO",
        by: Persona::Admin,
        send: Send::Merge {
            target: "pv/pv-a",
            patch: r#"{"spec":{"accessModes":["ReadWriteMany"]}}"#,
        },
        then: &[Fact::Is("pvc/db/data", "/status/accessModes", "[\"ReadWriteMany\"]")],
    }],
    allowed: &[Example {
        title: "changing the modes of a volume that nobody has",
        given: "volume pv-a 10Gi RWO phase=Available",
        by: Persona::Admin,
        send: Send::Merge {
            target: "pv/pv-a",
            patch: r#"{"spec":{"accessModes":["ReadWriteMany"]}}"#,
        },
        then: &[],
    }],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    if old.access_modes == new.access_modes {
        return Vec::new();
    }
    let Some((key, dependency)) = bound(old, evidence) else { return Vec::new() };
    let text = format!(
        "spec.accessModes of bound volume \"{}\" would change from {} to {}; claim \"{key}\" gets \
         the new modes and its disk may be written by two nodes or by none; put {} back",
        old.name, old.access_modes, new.access_modes, old.access_modes
    );
    vec![Violation::new("spec.accessModes", text).depending_on(dependency)]
}

/// A volume whose modes are not those that its claim was told.
fn changed(volume: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let Pair::Bound { claim: Some(claim), key, dependency } = pair(volume, evidence) else { return None };
    let reported = &claim.reported.access_modes;
    if claim.phase != ClaimPhase::Bound || *reported == volume.access_modes {
        return None;
    }
    let text = format!(
        "spec.accessModes of bound volume \"{}\" is {} and claim \"{key}\" reports {reported}; the binder \
         gives the claim what the volume says; put {reported} back unless the change is meant",
        volume.name, volume.access_modes
    );
    Some(Violation::new("spec.accessModes", text).depending_on(dependency))
}

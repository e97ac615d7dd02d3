//! Changing the access modes of a bound volume.

use super::prelude::*;
use crate::model::{ClaimPhase, Volume};

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-access-modes",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[RequestType::guard(Resource::Volumes, Operation::Update)]),
    options: RuleOptions {
        terminating: Terminating::Judged,
        scan: ScanCheck::OfVolume(changed),
        ..RuleOptions::DEFAULT
    },
    page: Page {
        hazard: "spec.accessModes of a bound PV is changed.",
        consequence: "The binder copies the new modes to the PVC. A disk for one node can then be attached to \
            several nodes, which corrupts its file system. Or its pods can no longer be scheduled.",
        instead: "Create a PV with the new modes and move the data. Or set persistentVolumeReclaimPolicy to \
            Retain, delete the PVC, change the modes and bind a new PVC.",
    },
    policy: PolicyForm::Stricter(
        &[PolicyText {
            variables: &[
                (
                    "listed",
                    "['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'].filter(m, m in \
                     oldObject.spec.?accessModes.orValue([])).map(m, {'ReadWriteOnce': 'RWO', 'ReadOnlyMany': \
                     'ROX', 'ReadWriteMany': 'RWX', 'ReadWriteOncePod': 'RWOP'}[m]).join(',')",
                ),
                (
                    "listedNow",
                    "['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'].filter(m, m in \
                     object.spec.?accessModes.orValue([])).map(m, {'ReadWriteOnce': 'RWO', 'ReadOnlyMany': 'ROX', \
                     'ReadWriteMany': 'RWX', 'ReadWriteOncePod': 'RWOP'}[m]).join(',')",
                ),
                ("before", "variables.listed == '' ? 'none' : variables.listed"),
                ("after", "variables.listedNow == '' ? 'none' : variables.listedNow"),
            ],
            violations: &[PolicyViolation {
                found: "variables.isBound && oldObject.spec.?accessModes != object.spec.?accessModes && \
                    !sets.equivalent(oldObject.spec.?accessModes.orValue([]), \
                    object.spec.?accessModes.orValue([]))",
                sentence: "spec.accessModes of bound PV \"{name}\" would change from {before} to {after}; PVC \
                    \"{claim}\" would get the new modes, and several nodes could write its disk, or none; keep \
                    {before}",
            }],
            ..PolicyText::of(Resource::Volumes)
        }],
        BY_PHASE,
    ),
    denied: &[Example::new("allowing many writers on a bound PV")
        .given(PAIR)
        .merges("pv/pv-a", r#"{"spec":{"accessModes":["ReadWriteMany"]}}"#)
        .then(&[Fact::Is("pvc/db/data", "/status/accessModes", "[\"ReadWriteMany\"]")])],
    allowed: &[Example::new("changing the modes of a PV that is not bound")
        .given(FREE)
        .merges("pv/pv-a", r#"{"spec":{"accessModes":["ReadWriteMany"]}}"#)],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    if old.access_modes == new.access_modes {
        return Vec::new();
    }
    let Some((key, dependency)) = bound(old, evidence) else { return Vec::new() };
    let text = format!(
        "spec.accessModes of bound PV \"{}\" would change from {} to {}; PVC \"{key}\" would get \
         the new modes, and several nodes could write its disk, or none; keep {}",
        old.name, old.access_modes, new.access_modes, old.access_modes
    );
    vec![Violation::new("spec.accessModes", text).depending_on(dependency)]
}

/// A volume whose modes differ from those that its claim reports.
fn changed(volume: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let Pair::Bound { claim: Some(claim), key, dependency } = pair(volume, evidence) else {
        return None;
    };
    let reported = &claim.reported.access_modes;
    if claim.phase != ClaimPhase::Bound || *reported == volume.access_modes {
        return None;
    }
    let text = format!(
        "spec.accessModes of bound PV \"{}\" is {}, but PVC \"{key}\" reports {reported}; the \
         binder copies the modes of the PV to the PVC; set {reported} again unless the change is \
         intended",
        volume.name, volume.access_modes
    );
    Some(Violation::new("spec.accessModes", text).depending_on(dependency))
}

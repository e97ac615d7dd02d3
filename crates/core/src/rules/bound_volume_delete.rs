//! Deleting a volume of a bound pair.

use super::prelude::*;
use crate::model::{Backend, Deletion, ReclaimPolicy, Volume};

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-delete",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[RequestType::guard(Resource::Volumes, Operation::Delete)]),
    options: RuleOptions { scan: ScanCheck::OfVolume(deleted), ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PV is deleted, alone or in a collection, while it is bound to a PVC.",
        consequence: "A deletion cannot be undone. The PV stays, marked for deletion, until its PVC is deleted; then \
            the PV is deleted too. With the policy Delete its data is deleted as well. With the policy \
            Retain its data is left without a PV. The garbage collector deletes a PV whose owners no \
            longer exist, and retries until the PVC is gone or those owners are removed.",
        instead: "To keep the data, run `bindery retain` for the PV, or set persistentVolumeReclaimPolicy to Retain where \
            the trash is off; then delete the PVC, and the PV after it. If the garbage collector deletes the PV, remove metadata.ownerReferences.",
    },
    policy: PolicyForm::Stricter(
        &[PolicyText {
            variables: &[
                (
                    "consequence",
                    "{'Delete': 'PV and data would be deleted with the PVC (policy Delete)', 'Recycle': 'with the \
                     PVC, the PV would be deleted and its files may be wiped (policy Recycle)', 'Retain': 'the PV \
                     would be deleted with the PVC, and its data left without a PV (policy \
                     Retain)'}[?variables.oldPolicy].orValue('the PV would be deleted with the PVC (policy ' + \
                     variables.oldPolicy + ')')",
                ),
                (
                    "advice",
                    "variables.isGarbageCollector ? 'its owners no longer exist: remove metadata.ownerReferences of \
                     the PV' : variables.oldPolicy == 'Retain' ? 'to remove both, delete the PVC, then retry' : 'to \
                     remove both and keep the data, set persistentVolumeReclaimPolicy to Retain, delete the PVC, \
                     then retry'",
                ),
            ],
            violations: &[PolicyViolation {
                found: "variables.isBound",
                sentence: "PV \"{name}\" is bound to PVC \"{claim}\"; its deletion cannot be undone: {consequence}; \
                    {advice}",
            }],
            ..PolicyText::of(Resource::Volumes)
        }],
        BY_PHASE,
    ),
    denied: &[
        Example::new("deleting a bound PV")
            .given(PAIR)
            .deletes("pv/pv-a")
            .then(&[Fact::Has("pv/pv-a", "/metadata/deletionTimestamp")]),
        Example::new("the garbage collector deleting a bound PV whose owner no longer exists")
            .given("pair pv-a db/data 10Gi RWO policy=Delete")
            .by(Persona::GarbageCollector)
            .deletes("pv/pv-a")
            .then(&[Fact::Has("pv/pv-a", "/metadata/deletionTimestamp")]),
    ],
    allowed: &[
        Example::new("deleting a PV that is not bound").given(FREE).deletes("pv/pv-a"),
        Example::new("deleting a PV whose PVC was deleted")
            .given("volume pv-a 10Gi RWO phase=Bound dead=db/data")
            .deletes("pv/pv-a"),
        Example::new("deleting a PV whose PVC is being deleted")
            .given("pair pv-a db/data 10Gi RWO claim-terminating")
            .deletes("pv/pv-a"),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Delete(volume)) = change.volume() else { return Vec::new() };
    let violation = match pair(volume, evidence) {
        Pair::Bound { key, dependency, .. } => {
            let advice = match &volume.policy {
                _ if change.actor.is_garbage_collector() => {
                    "its owners no longer exist: remove metadata.ownerReferences of the PV"
                }
                ReclaimPolicy::Retain => "to remove both, delete the PVC, then retry",
                ReclaimPolicy::Delete | ReclaimPolicy::Recycle | ReclaimPolicy::Newer(_) => {
                    "to remove both and keep the data, set persistentVolumeReclaimPolicy to Retain, \
                     delete the PVC, then retry"
                }
            };
            let text = format!(
                "PV \"{}\" is bound to PVC \"{key}\"; its deletion cannot be undone: {}; {advice}",
                volume.name,
                consequence(&volume.policy)
            );
            Violation::new("metadata.name", text).depending_on(dependency)
        }
        Pair::Ending { key, dependency, .. } => {
            let text = format!(
                "PVC \"{key}\" of PV \"{}\" is gone or being deleted; the PV would be deleted too; \
                 check that its data is not needed",
                volume.name
            );
            Violation::new("metadata.name", text).depending_on(dependency).as_warning()
        }
        Pair::Unbound => return Vec::new(),
    };
    vec![violation]
}

/// Returns what happens to the PV and its data once the PVC is deleted.
fn consequence(policy: &ReclaimPolicy) -> String {
    match policy {
        ReclaimPolicy::Delete => {
            "PV and data would be deleted with the PVC (policy Delete)".to_owned()
        }
        ReclaimPolicy::Recycle => {
            "with the PVC, the PV would be deleted and its files may be wiped (policy Recycle)"
                .to_owned()
        }
        ReclaimPolicy::Retain => {
            "the PV would be deleted with the PVC, and its data left without a PV (policy Retain)"
                .to_owned()
        }
        ReclaimPolicy::Newer(_) => {
            format!("the PV would be deleted with the PVC (policy {policy})")
        }
    }
}

/// A PV that was deleted while it is bound.
fn deleted(volume: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let (key, dependency) = bound(volume, evidence)?;
    if volume.deletion == Deletion::NotAsked {
        return None;
    }
    let name = &volume.name;
    let advice = match volume.backend {
        // For its disk, the provisioner of its node creates another one.
        Backend::Local => {
            format!("run `bindery retain pv/{name}`, and copy the data while the PVC exists")
        }
        Backend::Csi(_) | Backend::Nfs | Backend::HostPath | Backend::Other => {
            format!("create it again, with its data: bindery rescue pv/{name}")
        }
    };
    let text = format!(
        "PV \"{name}\" is being deleted while it is bound to PVC \"{key}\"; {}; {advice}",
        consequence(&volume.policy)
    );
    Some(Violation::new("metadata.deletionTimestamp", text).depending_on(dependency))
}

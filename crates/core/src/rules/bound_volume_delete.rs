//! Deleting a volume of a bound pair.

use super::prelude::*;
use crate::model::{Deletion, ReclaimPolicy, Volume};

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-delete",
    mode: Mode::Deny,
    request_types: &[RequestType::guard(Resource::Volumes, Operation::Delete)],
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::OfVolume(deleted),
    page: Page {
        hazard: "A volume is deleted, alone or in a collection, while a claim is bound to it.",
        consequence: "A deletion cannot be taken back. The volume stays, marked for deletion, until \
            its claim goes; then the object goes with it, and with the policy Delete the data too. \
            With the policy Retain the data is left without an object. The garbage collector deletes \
            what has only owners that are gone, and tries again until its claim is gone or it has no \
            such owner.",
        instead: "To keep the data, set persistentVolumeReclaimPolicy to Retain; then delete the claim, and \
            the volume after it. If the garbage collector deletes it, remove metadata.ownerReferences.",
    },
    denied: &[
        Example {
            title: "deleting a bound volume",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Admin,
            send: Send::Delete("pv/pv-a"),
            then: &[Fact::Has("pv/pv-a", "/metadata/deletionTimestamp")],
        },
        Example {
            title: "the garbage collector deleting a bound volume whose owner is gone",
            given: "pair pv-a db/data 10Gi RWO policy=Delete",
            by: Persona::GarbageCollector,
            send: Send::Delete("pv/pv-a"),
            then: &[Fact::Has("pv/pv-a", "/metadata/deletionTimestamp")],
        },
    ],
    allowed: &[
        Example {
            title: "deleting a volume that nobody has",
            given: "volume pv-a 10Gi RWO phase=Available",
            by: Persona::Admin,
            send: Send::Delete("pv/pv-a"),
            then: &[],
        },
        Example {
            title: "deleting a volume whose claim is gone",
            given: "volume pv-a 10Gi RWO phase=Bound dead=db/data",
            by: Persona::Admin,
            send: Send::Delete("pv/pv-a"),
            then: &[],
        },
        Example {
            title: "deleting a volume whose claim is going",
            given: "pair pv-a db/data 10Gi RWO claim-terminating",
            by: Persona::Admin,
            send: Send::Delete("pv/pv-a"),
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Delete(volume)) = change.volume() else { return Vec::new() };
    let violation = match pair(volume, evidence) {
        Pair::Bound { key, dependency, .. } => {
            let instead = match &volume.policy {
                _ if change.actor.is_garbage_collector() => {
                    "its owners are gone: remove metadata.ownerReferences of the volume"
                }
                ReclaimPolicy::Retain => "delete the claim first, then retry",
                ReclaimPolicy::Delete | ReclaimPolicy::Recycle | ReclaimPolicy::Newer(_) => {
                    "set persistentVolumeReclaimPolicy to Retain, delete the claim, then retry"
                }
            };
            let text = format!(
                "volume \"{}\" is bound to claim \"{key}\"; a delete cannot be undone: when the \
                 claim goes, the volume object goes with it (policy Delete: the data too); {instead}",
                volume.name
            );
            Violation::new("metadata.name", text).depending_on(dependency)
        }
        Pair::Ending { key, dependency, .. } => {
            let text = format!(
                "claim \"{key}\" of volume \"{}\" is gone or going; the volume object goes too; \
                 check that its data is not needed",
                volume.name
            );
            Violation::new("metadata.name", text).depending_on(dependency).as_warning()
        }
        Pair::Unbound => return Vec::new(),
    };
    vec![violation]
}

/// A volume that was deleted while its claim had it.
fn deleted(volume: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let (key, dependency) = bound(volume, evidence)?;
    if volume.deletion == Deletion::NotAsked {
        return None;
    }
    let text = format!(
        "volume \"{}\" is being deleted while it is bound to claim \"{key}\"; when the claim goes, the \
         volume goes with it (policy Delete: the data too); set persistentVolumeReclaimPolicy to Retain, \
         copy the data, and create both again",
        volume.name
    );
    Some(Violation::new("metadata.deletionTimestamp", text).depending_on(dependency))
}

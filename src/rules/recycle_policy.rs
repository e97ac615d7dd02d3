//! The reclaim policy Recycle.

use super::prelude::*;
use crate::model::{ReclaimPolicy, Volume};

pub(super) static RULE: Rule = Rule {
    id: "recycle-policy",
    mode: Mode::Deny,
    routes: &[
        Route::advise(Resource::Volumes, Operation::Create),
        Route::advise(Resource::Volumes, Operation::Update),
    ],
    terminating: Terminating::Passes,
    extent: Extent::Whole,
    exemption: Exemptable::Yes,
    told_as: None,
    standing: Standing::OfVolume(recycled),
    page: Page {
        hazard: "A volume is given the reclaim policy Recycle.",
        consequence: "When its claim goes, a pod deletes every file under the share, whoever put it \
            there, and the next claimant finds what the pod could not delete. Kubernetes advises \
            against it, and can recycle NFS and hostPath volumes only; others turn Failed.",
        instead: "Use Retain and empty the volume by hand, or a class whose driver deletes and makes \
            volumes.",
    },
    refuses: &[
        Example {
            title: "making a volume that is recycled",
            given: "",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO policy=Recycle"),
            then: &[Fact::Is("pv/pv-a", "/spec/persistentVolumeReclaimPolicy", "\"Recycle\"")],
        },
        Example {
            title: "switching a volume to Recycle",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"persistentVolumeReclaimPolicy":"Recycle"}}"#,
            },
            then: &[Fact::Is("pv/pv-a", "/spec/persistentVolumeReclaimPolicy", "\"Recycle\"")],
        },
    ],
    allows: &[
        Example {
            title: "labelling a volume that is recycled already",
            given: "volume pv-a 10Gi RWO policy=Recycle phase=Available",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"metadata":{"labels":{"a":"b"}}}"# },
            then: &[],
        },
        Example {
            title: "making a volume that is kept",
            given: "",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO policy=Retain"),
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    let Some(transition) = change.volume() else { return Vec::new() };
    let (before, new) = match transition {
        Transition::Create(new) => (None, new),
        Transition::Update { old, new } => (Some(&old.policy), new),
        Transition::Delete(_) => return Vec::new(),
    };
    if new.policy != ReclaimPolicy::Recycle || before == Some(&new.policy) {
        return Vec::new();
    }
    let text = format!(
        "policy of volume \"{}\" would be Recycle; when its claim goes, a pod deletes every file \
         under it; use Retain, or a class whose driver deletes volumes",
        new.name
    );
    vec![Violation::new("spec.persistentVolumeReclaimPolicy", text)]
}

/// A volume that will be emptied.
fn recycled(volume: &Volume, _: &Evidence<'_>) -> Option<Violation> {
    if volume.policy != ReclaimPolicy::Recycle {
        return None;
    }
    let text = format!(
        "policy of volume \"{}\" is Recycle; when its claim goes, a pod deletes every file under it; use \
         Retain, or a class whose driver deletes volumes",
        volume.name
    );
    Some(Violation::new("spec.persistentVolumeReclaimPolicy", text).as_warning())
}

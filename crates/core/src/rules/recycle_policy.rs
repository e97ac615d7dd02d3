//! The reclaim policy Recycle.

use super::prelude::*;
use crate::binding::share_files;
use crate::model::{ReclaimPolicy, Volume};

pub(super) static RULE: Rule = Rule {
    id: "recycle-policy",
    mode: Mode::Deny,
    request_types: &[
        RequestType::advise(Resource::Volumes, Operation::Create),
        RequestType::advise(Resource::Volumes, Operation::Update),
    ],
    terminating: Terminating::Judged,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::OfVolume(recycled),
    page: Page {
        hazard: "A volume is given the reclaim policy Recycle.",
        consequence: "When its claim goes, a pod deletes every file under the share, whoever put it \
            there, and the next claimant finds what the pod could not delete. Kubernetes advises \
            against it, and can recycle NFS and hostPath volumes only; others turn Failed.",
        instead: "Use Retain and empty the volume by hand, or a class whose driver deletes and makes \
            volumes.",
    },
    denied: &[
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
        Example {
            title: "switching a volume around the files of another to Recycle",
            given: "volume pv-a 10Gi RWO share=/exports phase=Available\n\
                pair pv-b db/data 10Gi RWO share=/exports/b",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"persistentVolumeReclaimPolicy":"Recycle"}}"#,
            },
            then: &[Fact::Is("pv/pv-a", "/spec/persistentVolumeReclaimPolicy", "\"Recycle\"")],
        },
    ],
    allowed: &[
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

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some(transition) = change.volume() else { return Vec::new() };
    let (before, new) = match transition {
        Transition::Create(new) => (None, new),
        Transition::Update { old, new } => (Some(&old.policy), new),
        Transition::Delete(_) => return Vec::new(),
    };
    if new.policy != ReclaimPolicy::Recycle || before == Some(&new.policy) {
        return Vec::new();
    }
    vec![violation(new, "would be", evidence)]
}

/// A volume that will be emptied.
fn recycled(volume: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let is_recycled = volume.policy == ReclaimPolicy::Recycle;
    is_recycled.then(|| violation(volume, "is", evidence).as_warning())
}

fn violation(volume: &Volume, verb: &str, evidence: &Evidence<'_>) -> Violation {
    let others = evidence.view().volumes().filter(|other| other.name != volume.name);
    let mut others = others.filter_map(|other| {
        let lookup = evidence.volume(&other.name);
        let other = lookup.present().filter(|other| share_files(volume, other))?;
        Some((other, Dependency::on(Read::Volume(other.name.clone()), lookup)))
    });
    let other = others.next();
    let of_others = match &other {
        Some((other, _)) => format!(", those of volume \"{}\" too", other.name),
        None => String::new(),
    };
    let text = format!(
        "policy of volume \"{}\" {verb} Recycle; when its claim goes, a pod deletes every file under \
         it{of_others}; use Retain, or a class whose driver deletes volumes",
        volume.name
    );
    let violation = Violation::new("spec.persistentVolumeReclaimPolicy", text);
    other.into_iter().fold(violation, |violation, (_, dependency)| violation.depending_on(dependency))
}

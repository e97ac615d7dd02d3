//! The reclaim policy Recycle.

use super::judging::restored_policy::is_restored;
use super::prelude::*;
use crate::binding::share_files;
use crate::model::{ReclaimPolicy, Volume};

pub(super) static RULE: Rule = Rule {
    id: "recycle-policy",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::advise(Resource::Volumes, Operation::Create),
        RequestType::advise(Resource::Volumes, Operation::Update),
    ]),
    options: RuleOptions {
        terminating: Terminating::Judged,
        scan: ScanCheck::OfVolume(recycled),
        ..RuleOptions::DEFAULT
    },
    page: Page {
        hazard: "A PV gets the reclaim policy Recycle, unless a move or an import ends and restores it.",
        consequence: "When its PVC is deleted, a pod deletes every file under the share, even those of other PVs. The next \
            PVC finds what the pod could not delete. Kubernetes has deprecated it, and recycles NFS and \
            hostPath volumes only; others become Failed.",
        instead: "Use Retain and wipe the PV by hand, or a StorageClass whose driver creates and deletes PVs.",
    },
    policy: PolicyForm::Exact(&[PolicyText {
        violations: &[PolicyViolation {
            found: "variables.newPolicy == 'Recycle' && (request.operation == 'CREATE' || variables.oldPolicy != \
                variables.newPolicy && !variables.isRestored)",
            sentence: "persistentVolumeReclaimPolicy of PV \"{name}\" would be Recycle; when its PVC is deleted, a \
                pod deletes every file on it; use Retain, or a StorageClass whose driver deletes PVs",
        }],
        ..PolicyText::of(Resource::Volumes)
    }]),
    denied: &[
        Example::new("creating a PV that is recycled")
            .creates("volume pv-a 10Gi RWO policy=Recycle")
            .then(&[Fact::Is("pv/pv-a", "/spec/persistentVolumeReclaimPolicy", "\"Recycle\"")]),
        Example::new("changing the policy of a PV to Recycle")
            .given(PAIR)
            .merges("pv/pv-a", POLICY_RECYCLE)
            .then(&[Fact::Is("pv/pv-a", "/spec/persistentVolumeReclaimPolicy", "\"Recycle\"")]),
        Example::new("changing the policy of a PV around the files of another to Recycle")
            .given(
                "volume pv-a 10Gi RWO share=/exports phase=Available\n\
                    pair pv-b db/data 10Gi RWO share=/exports/b",
            )
            .merges("pv/pv-a", POLICY_RECYCLE)
            .then(&[Fact::Is("pv/pv-a", "/spec/persistentVolumeReclaimPolicy", "\"Recycle\"")]),
    ],
    allowed: &[
        Example::new("labelling a PV that is recycled already")
            .given("volume pv-a 10Gi RWO policy=Recycle phase=Available")
            .merges("pv/pv-a", LABEL),
        Example::new("ending a move with the policy that the PV had before")
            .given(r#"pair pv-a db/data 10Gi RWO annotation=bindery.dev/move:{"reclaimPolicy":"Recycle"}"#)
            .merges("pv/pv-a", END_MOVE_RECYCLED),
        Example::new("creating a PV that is retained")
            .creates("volume pv-a 10Gi RWO policy=Retain"),
    ],
    check,
};

const END_MOVE_RECYCLED: &str = r#"{"metadata":{"annotations":{"bindery.dev/move":null}},"spec":{"persistentVolumeReclaimPolicy":"Recycle"}}"#;

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let differs = |old: &Volume, new: &Volume| old.policy != new.policy && !is_restored(old, new);
    let new = change.volume().and_then(|volume| volume.created_or(differs));
    let recycled = new.filter(|new| new.policy == ReclaimPolicy::Recycle);
    recycled.map(|new| violation(new, "would be", evidence)).into_iter().collect()
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
        Some((other, _)) => format!(", also those of PV \"{}\"", other.name),
        None => String::new(),
    };
    let text = format!(
        "persistentVolumeReclaimPolicy of PV \"{}\" {verb} Recycle; when its PVC is deleted, a \
         pod deletes every file on it{of_others}; use Retain, or a StorageClass whose driver \
         deletes PVs",
        volume.name
    );
    let violation = Violation::new("spec.persistentVolumeReclaimPolicy", text);
    violation.depending_on_all(other.map(|(_, dependency)| dependency))
}

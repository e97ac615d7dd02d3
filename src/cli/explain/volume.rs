//! The explanation of a volume: its claim, the claims that could bind to it, and why none does.

use super::moving::moving;
use super::nearness::{self, MismatchedPair};
use super::report::{CandidateMismatches, Explanation};
use crate::api::trash::trash_record;
use crate::binding::{FitCheck, ObjectKey, ReleasedFor, VolumeOutcome, fit};
use crate::cli::exit::Failure;
use crate::cli::input::dump::StorageState;
use crate::cli::preview::outcome::Planner;
use crate::cli::preview::planned::VolumeForecast;
use crate::cli::preview::settled::SettledCluster;
use crate::model::annotations::TRASH;
use crate::model::{
    Backend, BindingMode, Claim, ClaimKey, ClaimPhase, Deletion, ReclaimPolicy, Reservation, Stage,
    Volume, VolumeName,
};

/// Explains the volume of this name.
pub(super) fn explain(cluster: &SettledCluster, name: &VolumeName) -> Result<Explanation, Failure> {
    let SettledCluster { state, settlement, .. } = cluster;
    let StorageState { view: after, pods, .. } = state;
    if let Some(reason) = cluster.denied.volumes.get(name) {
        return Ok(Explanation::denied(name.into(), &format!("PV \"{name}\""), reason));
    }
    let (Some(volume), Some(outcome)) = (after.volume(name), settlement.volume(name)) else {
        let names = after.volumes().map(|volume| volume.name.to_string());
        return Err(cluster.missing("PV", name.as_str(), names));
    };
    let planned = Planner::new(after, settlement, pods).volume(volume, outcome);
    let waiting = after.claims().map(AsRef::as_ref).filter(|claim| is_waiting(claim));
    let has_claim = matches!(planned.outcome, VolumeForecast::Bound | VolumeForecast::Binds);
    // Only claims that name it can still wait for a volume that has a claim.
    let waiting = waiting.filter(|claim| !has_claim || claim.volume.as_ref() == Some(name));
    let misses = nearness::claims(after, volume, waiting, immediate());
    let is_free = planned.outcome == VolumeForecast::Free;
    let fitting = after.claims().filter(|claim| {
        is_free && is_waiting(claim) && fit(volume, claim, after.home(claim), immediate()).is_ok()
    });
    let fitting: Vec<String> = fitting.map(|claim| claim.key.to_string()).collect();
    let (stuck, text) = match fitting.as_slice() {
        [] => state_of(volume, outcome, misses.len()),
        [claim] => {
            (false, format!("PVC \"{claim}\" matches it and is Pending until its pod is scheduled"))
        }
        [claim, others @ ..] => {
            let count = others.len();
            (
                false,
                format!(
                    "PVC \"{claim}\" and {count} more match it and are Pending until their pods are scheduled"
                ),
            )
        }
    };
    let summary = match (planned.outcome, &planned.claim) {
        (VolumeForecast::Bound, Some(claim)) => {
            format!("PV \"{name}\" is bound to PVC \"{claim}\"")
        }
        (VolumeForecast::Binds, Some(claim)) => format!("PV \"{name}\" binds to PVC \"{claim}\""),
        _ => format!("PV \"{name}\" is {}: {text}", planned.outcome),
    };
    let mut explanation = Explanation::of(name.into(), &planned.outcome, stuck, summary);
    if let Some(text) = deletion(volume).filter(|_| has_claim) {
        explanation.stuck = true;
        explanation.summary.extend(["; it is ", &text]);
    }
    if let Some(text) = moving(volume) {
        explanation.stuck = true;
        explanation.summary.extend(["; it is being ", &text]);
    }
    explanation.partner = planned.claim;
    explanation.notes.extend(cluster.notes_on(&ObjectKey::Volume(name.clone())));
    let fitting = fitting.into_iter();
    explanation.candidates = fitting
        .map(CandidateMismatches::fitting)
        .chain(misses.iter().map(MismatchedPair::of_claim))
        .collect();
    Ok(explanation)
}

/// Returns what follows for a volume that has a claim and was deleted.
///
/// Kubernetes: a deletion cannot be undone; `pv_protection_controller.go` removes its finalizer once the volume is not
/// Bound.
pub(super) fn deletion(volume: &Volume) -> Option<String> {
    if volume.deletion != Deletion::Terminating {
        return None;
    }
    let storage = match volume.policy {
        ReclaimPolicy::Retain => "and its storage stays (Retain)",
        ReclaimPolicy::Delete | ReclaimPolicy::Recycle | ReclaimPolicy::Newer(_) => "with its data",
    };
    let name = &volume.name;
    let advice = match volume.backend {
        Backend::Local => {
            format!("run `bindery retain pv/{name}`, and copy the data while the PVC exists")
        }
        Backend::Csi(_) | Backend::Nfs | Backend::HostPath | Backend::Other => {
            format!("create it again under another name, with its data: bindery rescue pv/{name}")
        }
    };
    Some(format!(
        "being deleted, which cannot be undone: it is removed once its PVC is deleted, {storage}; {advice}"
    ))
}

const NOT_OFFERED: &str = "its local disk is not offered yet; if it stays so, read the log of the pod that offers the disks of its node";

fn immediate() -> FitCheck<'static> {
    FitCheck::Controller(BindingMode::Immediate)
}

/// Returns whether the claim was never bound and has no volume.
fn is_waiting(claim: &Claim) -> bool {
    claim.stage() == Stage::Unbound && claim.phase != ClaimPhase::Bound
}

/// Returns whether the volume needs a fix, and why no claim binds to it.
fn state_of(volume: &Volume, outcome: &VolumeOutcome, waiting: usize) -> (bool, String) {
    let holder = volume.reservation.key().map(ToString::to_string).unwrap_or_default();
    match outcome {
        VolumeOutcome::Bound(_) => (false, String::new()),
        VolumeOutcome::Offered | VolumeOutcome::Unreserved(_) | VolumeOutcome::Unseen => {
            let text = match &volume.reservation {
                Reservation::Free if waiting == 0 => "no PVC is Pending".to_owned(),
                Reservation::Free => format!("it matches none of the {waiting} Pending PVCs"),
                Reservation::Named(key) if *key == ClaimKey::before_offer(&volume.name) => {
                    NOT_OFFERED.to_owned()
                }
                Reservation::Named(_) | Reservation::Held(..) | Reservation::Incomplete(..) => {
                    format!("it is reserved for PVC \"{holder}\", which does not exist")
                }
            };
            (false, text)
        }
        VolumeOutcome::Unusable => {
            (true, "its claimRef lacks a namespace or a name, so no PVC can bind to it".to_owned())
        }
        VolumeOutcome::ClaimUnknown if holder.is_empty() => {
            (true, "whether a PVC binds to it is not known".to_owned())
        }
        VolumeOutcome::ClaimUnknown => {
            (true, format!("whether PVC \"{holder}\" exists is not known"))
        }
        VolumeOutcome::AwaitsClaim(key) | VolumeOutcome::Serves(key) => {
            (false, format!("it is reserved for PVC \"{key}\", which is not bound yet"))
        }
        VolumeOutcome::OtherMode(key) => {
            (true, format!("it is reserved for PVC \"{key}\", which requests another volume mode"))
        }
        VolumeOutcome::Released(why) => released(volume, why, &holder),
    }
}

/// Returns when a volume goes that is in the trash; nothing if it is not.
fn in_trash(volume: &Volume) -> Option<String> {
    let uid = volume.uid.as_ref()?;
    let record = trash_record(volume.annotations.get(TRASH)?, uid).ok()??;
    let when = match &record.release {
        Some(release) => release.until.strftime("at %Y-%m-%dT%H:%M:%SZ").to_string(),
        None => "some time after Bindery's controller sees that".to_owned(),
    };
    Some(format!(
        "it gets the reclaim policy {} again {when}, and its data is deleted then; bindery rescue pv/{} gives it back",
        record.policy, volume.name
    ))
}

fn released(volume: &Volume, why: &ReleasedFor, holder: &str) -> (bool, String) {
    let gone = format!("its PVC \"{holder}\" is deleted");
    match why {
        ReleasedFor::Administrator => {
            let text = in_trash(volume).map_or_else(
                || {
                    let name = &volume.name;
                    format!(
                        "{gone} and its data is retained (Retain); bindery rescue pv/{name} gives it back; otherwise back the \
                         data up, then delete it"
                    )
                },
                |text| format!("{gone}; {text}"),
            );
            (true, text)
        }
        ReleasedFor::Driver => (false, format!("{gone}; its CSI driver deletes it")),
        ReleasedFor::Pods(pods) => {
            let pods: Vec<String> = pods.iter().map(ToString::to_string).collect();
            let pods = pods.join(", ");
            (false, format!("{gone}; the recycler empties it once pods {pods} have finished"))
        }
        ReleasedFor::OtherVolume(other) => (
            true,
            format!(
                "{gone}, and the recycler does not empty it, because the files of PV \"{other}\" are inside or \
                 around its path; set persistentVolumeReclaimPolicy to Retain"
            ),
        ),
        ReleasedFor::Recycler => (false, format!("{gone}; the recycler empties it")),
        ReleasedFor::NoDeleter => {
            let advice = "set persistentVolumeReclaimPolicy to Retain and copy what is needed, then delete both by hand";
            (true, format!("{gone} and no driver deletes this kind of volume; {advice}"))
        }
        ReleasedFor::UnknownPolicy => (
            true,
            format!(
                "{gone} and its reclaim policy is unknown; set persistentVolumeReclaimPolicy to Retain to keep its data"
            ),
        ),
    }
}

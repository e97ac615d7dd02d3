//! Who has a volume, who waits for it, and why nobody takes it.

use super::nearness::{self, Miss};
use super::report::{Candidate, Explanation, Object};
use super::world::World;
use crate::binding::{FitCheck, ObjectKey, ReleasedFor, VolumeOutcome, fit};
use crate::cli::exit::Failure;
use crate::cli::preview::outcome::Planner;
use crate::cli::preview::planned::VolumeFate;
use crate::cli::preview::settled::SettledCluster;
use crate::model::{BindingMode, Claim, ClaimPhase, Reservation, Stage, Volume, VolumeName};

/// Explains the volume of this name.
pub(super) fn explain(world: &World, name: &VolumeName) -> Result<Explanation, Failure> {
    let SettledCluster { after, settlement, pods, .. } = &world.settled;
    if let Some(reason) = world.settled.denied.volumes.get(name) {
        return Ok(Explanation::denied(
            Object::volume(name),
            &format!("volume \"{name}\""),
            reason,
        ));
    }
    let (Some(volume), Some(outcome)) = (after.volume(name), settlement.volume(name)) else {
        let names = after.volumes().map(|volume| volume.name.to_string());
        return Err(world.missing("volume", name.as_str(), names));
    };
    let planned = Planner::new(after, settlement, pods).volume(volume, outcome);
    let waiting = after.claims().map(AsRef::as_ref).filter(|claim| is_waiting(claim));
    let misses = match planned.outcome {
        // Others can only wait for it if they name it.
        VolumeFate::Bound | VolumeFate::Binds => {
            let naming = waiting.filter(|claim| claim.volume.as_ref() == Some(name));
            nearness::claims(after, volume, naming, immediate())
        }
        VolumeFate::Free
        | VolumeFate::Released
        | VolumeFate::Reserved
        | VolumeFate::Failed
        | VolumeFate::Unknown => nearness::claims(after, volume, waiting, immediate()),
    };
    let is_free = planned.outcome == VolumeFate::Free;
    let fitting = after.claims().filter(|claim| {
        is_free && is_waiting(claim) && fit(volume, claim, after.home(claim), immediate()).is_ok()
    });
    let fitting: Vec<String> = fitting.map(|claim| claim.key.to_string()).collect();
    let (stuck, told) = match fitting.as_slice() {
        [] => told(volume, outcome, misses.len()),
        [claim] => (false, format!("claim \"{claim}\" could have it, and waits for its pod")),
        [claim, others @ ..] => {
            let count = others.len();
            (
                false,
                format!(
                    "claim \"{claim}\" and {count} more could have it, and wait for their pods"
                ),
            )
        }
    };
    let summary = match (planned.outcome, &planned.claim) {
        (VolumeFate::Bound, Some(claim)) => {
            format!("volume \"{name}\" is bound to claim \"{claim}\"")
        }
        (VolumeFate::Binds, Some(claim)) => format!("volume \"{name}\" binds to claim \"{claim}\""),
        _ => format!("volume \"{name}\" is {}: {told}", planned.outcome.as_str()),
    };
    let mut explanation =
        Explanation::of(Object::volume(name), planned.outcome.as_str(), stuck, summary);
    explanation.partner = planned.claim;
    explanation.notes.extend(world.notes_on(&ObjectKey::Volume(name.clone())));
    let fitting = fitting.into_iter();
    explanation.candidates =
        fitting.map(Candidate::fitting).chain(misses.iter().map(Miss::of_claim)).collect();
    Ok(explanation)
}

fn immediate() -> FitCheck<'static> {
    FitCheck::Controller(BindingMode::Immediate)
}

/// Whether the claim was never bound and has no volume.
fn is_waiting(claim: &Claim) -> bool {
    claim.stage() == Stage::Unbound && claim.phase != ClaimPhase::Bound
}

/// Whether somebody has to do something about the volume, and what stands in the way of a claim.
fn told(volume: &Volume, outcome: &VolumeOutcome, waiting: usize) -> (bool, String) {
    let holder = volume.reservation.key().map(ToString::to_string).unwrap_or_default();
    match outcome {
        VolumeOutcome::Bound(_) => (false, String::new()),
        VolumeOutcome::Offered | VolumeOutcome::Unreserved(_) | VolumeOutcome::Unseen => {
            let text = match &volume.reservation {
                Reservation::Free if waiting == 0 => "no claim waits for a volume".to_owned(),
                Reservation::Free => format!("it fits none of the {waiting} claims that wait"),
                Reservation::Named(_) | Reservation::Held(..) | Reservation::Incomplete(..) => {
                    format!("it is kept for claim \"{holder}\", which has not come")
                }
            };
            (false, text)
        }
        VolumeOutcome::Unusable => (
            true,
            "its claimRef lacks a namespace or a name, so that no claim can have it".to_owned(),
        ),
        VolumeOutcome::ClaimUnknown if holder.is_empty() => {
            (true, "whether a claim takes it is not known".to_owned())
        }
        VolumeOutcome::ClaimUnknown => {
            (true, format!("whether claim \"{holder}\" exists is not known"))
        }
        VolumeOutcome::AwaitsClaim(key) | VolumeOutcome::Serves(key) => {
            (false, format!("it is kept for claim \"{key}\", which has not taken it yet"))
        }
        VolumeOutcome::OtherMode(key) => {
            (true, format!("it is kept for claim \"{key}\", which asks for another volume mode"))
        }
        VolumeOutcome::Released(why) => released(why, &holder),
    }
}

fn released(why: &ReleasedFor, holder: &str) -> (bool, String) {
    let gone = format!("its claim \"{holder}\" is gone");
    match why {
        ReleasedFor::Administrator => (
            true,
            format!(
                "{gone} and its data is kept (Retain); delete it, or name a new claim in its claimRef"
            ),
        ),
        ReleasedFor::Driver => (false, format!("{gone}; its driver deletes it")),
        ReleasedFor::Pods(pods) => {
            let pods: Vec<String> = pods.iter().map(ToString::to_string).collect();
            let pods = pods.join(", ");
            (false, format!("{gone}; the recycler empties it once pods {pods} have finished"))
        }
        ReleasedFor::OtherVolume(other) => (
            true,
            format!(
                "{gone}, and the recycler does not empty it, because the files of volume \"{other}\" are inside or \
                 around its path; set Retain, or give one of the two another path"
            ),
        ),
        ReleasedFor::Recycler => (false, format!("{gone}; the recycler empties it")),
        ReleasedFor::NoDeleter => {
            let advice = "set persistentVolumeReclaimPolicy to Retain and copy what is needed, then delete both by hand";
            (true, format!("{gone} and no driver deletes this kind of storage; {advice}"))
        }
        ReleasedFor::UnknownPolicy => {
            (true, format!("{gone} and its reclaim policy is unknown; set Retain to keep its data"))
        }
    }
}

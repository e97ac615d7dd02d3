//! Rules for giving a volume back, and for phases: I3, I4, I10.

use bindery_sim::Accepted;
use serde_json::Value;

use super::seen::Seen;
use super::{
    BIND_COMPLETED, CLAIMS, Found, Invariant, PROVISIONED_BY, VOLUMES, annotation, path, text,
};

/// Judges a controller's write.
pub(super) fn judge(seen: &Seen, write: &Accepted) -> Found {
    match (write.resource, &write.before, &write.after) {
        (VOLUMES, Some(before), Some(after)) => {
            let mut found = judge_release(seen, before, after, &write.user);
            found.extend(judge_unreserve(seen, before, after));
            found.extend(judge_phase(before, after));
            // A delete of an object with finalizers only marks it.
            if !is_marked(before) && is_marked(after) {
                found.extend(judge_delete(seen, before, &write.user));
            }
            found
        }
        // What was marked already goes with its last finalizer.
        (VOLUMES, Some(before), None) if !is_marked(before) => {
            judge_delete(seen, before, &write.user)
        }
        (CLAIMS, Some(before), Some(after)) => judge_claim_phase(before, after),
        _ => Vec::new(),
    }
}

fn is_marked(object: &Value) -> bool {
    !text(object, "/metadata/deletionTimestamp").is_empty()
}

fn phase(object: &Value) -> &str {
    text(object, "/status/phase")
}

fn policy(volume: &Value) -> &str {
    text(volume, "/spec/persistentVolumeReclaimPolicy")
}

/// Returns why the volume may not be released: its claim exists, and the volume is no surplus copy that a
/// provisioner made for it, nor one that a user deletes before the claim had it.
fn held_by(seen: &Seen, volume: &Value, user: &str) -> Option<String> {
    let claim = seen.claim_of_uid(text(volume, "/spec/claimRef/uid"))?;
    let named = text(claim, "/spec/volumeName");
    let took_another = !named.is_empty() && named != text(volume, "/metadata/name");
    let is_provisioned = !annotation(volume, PROVISIONED_BY).is_empty();
    let is_unwanted = took_another || (is_marked(volume) && is_without_volume(seen, claim, user));
    let is_surplus = is_unwanted && is_provisioned && policy(volume) == "Delete";
    (!is_surplus).then(|| path(claim))
}

/// Returns whether the claim has no volume and never had one, as `user` could know. Another leader may have named one
/// to it meanwhile; no pod runs with a claim that is Pending.
fn is_without_volume(seen: &Seen, claim: &Value, user: &str) -> bool {
    let is_unnamed =
        text(claim, "/spec/volumeName").is_empty() && annotation(claim, BIND_COMPLETED).is_empty();
    let namer = seen.namer(text(claim, "/metadata/uid"));
    is_unnamed || (phase(claim) == "Pending" && namer.is_some_and(|namer| namer != user))
}

fn judge_release(seen: &Seen, before: &Value, after: &Value, user: &str) -> Found {
    // What is Failed was to be emptied or deleted: that is asked again.
    let is_given_up = matches!(phase(after), "Released" | "Failed");
    if phase(before) == phase(after) || !is_given_up {
        return Vec::new();
    }
    let reported = |claim| {
        let text = format!("volume {} is {} while claim {claim} exists", path(after), phase(after));
        (Invariant::ReleasedOnlyWithoutClaim, text)
    };
    held_by(seen, after, user).map(reported).into_iter().collect()
}

fn judge_delete(seen: &Seen, volume: &Value, user: &str) -> Found {
    let mut found = Vec::new();
    let name = path(volume);
    if let Some(claim) = held_by(seen, volume, user) {
        let text = format!("volume {name} is deleted while claim {claim} exists");
        found.push((Invariant::ReleasedOnlyWithoutClaim, text));
    }
    if policy(volume) == "Retain" {
        found.push((Invariant::RetainedKept, format!("volume {name} is deleted")));
    }
    found
}

/// A reservation is taken back only if its claim took another volume or was never bound to this one under
/// it; a recycled volume is empty, so its reservation goes as well. A user who takes the reservation of a bound
/// claim back by hand has given the volume free for everybody: one that the controller makes for the same
/// claim after that is a new one.
fn judge_unreserve(seen: &Seen, before: &Value, after: &Value) -> Found {
    let holder = text(before, "/spec/claimRef/uid");
    if holder.is_empty() || !text(after, "/spec/claimRef/uid").is_empty() {
        return Vec::new();
    }
    let claim = seen.claim_of_uid(holder);
    let took_another = claim.is_some_and(|claim| {
        let named = text(claim, "/spec/volumeName");
        !named.is_empty() && named != text(before, "/metadata/name")
    });
    let is_recycled = policy(before) == "Recycle"
        && matches!(phase(before), "Released" | "Failed")
        && claim.is_none();
    let uid = text(before, "/metadata/uid");
    let was_bound = seen.was_bound(uid, holder) && seen.was_used_as_reserved(uid, holder);
    if took_another || is_recycled || !was_bound {
        return Vec::new();
    }
    let text = format!("volume {} forgets claim {holder}, which was bound to it", path(before));
    vec![(Invariant::RetainedKept, text)]
}

/// Kubernetes: `syncVolume`, `reclaimVolume` and `bind` of the persistent volume controller.
fn judge_phase(before: &Value, after: &Value) -> Found {
    let (from, to) = (phase(before), phase(after));
    if from == to {
        return Vec::new();
    }
    let is_reserved = !text(after, "/spec/claimRef/uid").is_empty();
    let is_allowed = match to {
        "Available" => !is_reserved,
        "Bound" => is_reserved,
        "Released" => is_reserved && from != "Failed",
        "Failed" => from == "Released",
        _ => false,
    };
    let text = format!("volume {} goes from {from} to {to}", path(after));
    if is_allowed { Vec::new() } else { vec![(Invariant::PhaseTransitions, text)] }
}

/// Kubernetes: `syncUnboundClaim`, `syncBoundClaim` and `bind`.
fn judge_claim_phase(before: &Value, after: &Value) -> Found {
    let (from, to) = (phase(before), phase(after));
    if from == to {
        return Vec::new();
    }
    let is_completed = !annotation(after, BIND_COMPLETED).is_empty();
    let is_allowed = match to {
        "Pending" => !is_completed,
        "Bound" => is_completed && !text(after, "/spec/volumeName").is_empty(),
        "Lost" => is_completed,
        _ => false,
    };
    let text = format!("claim {} goes from {from} to {to}", path(after));
    if is_allowed { Vec::new() } else { vec![(Invariant::PhaseTransitions, text)] }
}

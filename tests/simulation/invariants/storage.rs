//! Rules for what is behind a volume: its files are not removed while they are in use, and its storage
//! is not left over when the volume is gone.

use bindery_sim::{Accepted, Method};
use serde_json::Value;

use super::seen::Seen;
use super::{Found, Invariant, PODS, Terms, VOLUMES, path, text};

/// The label of a pod that empties a volume: its uid.
const EMPTIES: &str = "bindery.dev/recycles-volume";

/// Judges a controller's pod that empties a volume.
pub(super) fn judge_emptied(seen: &Seen, write: &Accepted, terms: &Terms) -> Found {
    if write.resource != PODS || write.method != Method::Post {
        return Vec::new();
    }
    let uid = write.object()["metadata"]["labels"][EMPTIES].as_str().unwrap_or_default();
    let Some(volume) = seen.volume_of_uid(uid) else { return Vec::new() };
    // A claim that has just got the volume came while the request was on its way.
    let is_new = seen.reserved_at(uid).is_some_and(|at| write.at.duration_since(at) <= terms.way);
    let holder = text(volume, "/spec/claimRef/uid");
    if is_new || holder.is_empty() {
        return Vec::new();
    }
    let claim = seen.claim_of_uid(holder).map(|claim| format!("claim {} exists", path(claim)));
    let pod = seen.user_of(holder).map(|pod| format!("pod {pod} has it mounted"));
    let reported = |why| {
        let text = format!("volume {} is emptied while {why}", path(volume));
        (Invariant::EmptiedUnused, text)
    };
    claim.into_iter().chain(pod).map(reported).collect()
}

/// Judges the end of a volume, by any writer: only the maker of its storage knows how to delete it.
pub(super) fn judge_leak(seen: &Seen, write: &Accepted) -> Found {
    let (VOLUMES, Some(before), None) = (write.resource, &write.before, &write.after) else {
        return Vec::new();
    };
    let keeper = seen.keeper_of(text(before, "/metadata/uid"));
    let reported = |maker: &str| {
        let volume: &Value = before;
        let text = format!("volume {} is gone before {maker} deleted its storage", path(volume));
        (Invariant::StorageNotLeaked, text)
    };
    keeper.filter(|maker| *maker != write.user).map(reported).into_iter().collect()
}

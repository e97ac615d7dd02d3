//! What to do about a volume: its phase, its reservation when the claim went elsewhere, and its storage
//! when the claim is gone.
//!
//! Kubernetes: `pv_controller.go`, `syncVolume`, `unbindVolume`, `reclaimVolume`. Not here: giving it
//! to a claim, which is decided from the claim's side (`claim`).

use super::bind::bind;
use super::claimant::{Claimant, claimants};
use super::decision::{Decision, Next, ObjectRef, Reclaim, Remaining, Write};
use super::evidence::{Evidence, Lookup};
use super::migration::{self, IN_TREE_PREFIX};
use super::read::Read;
use super::recycle::overlapping;
use crate::model::annotations::{BOUND_BY_CONTROLLER, MIGRATED_TO, PROVISIONED_BY};
use crate::model::{
    Backend, Claim, ClaimKey, Deletion, NonEmpty, PodKey, ReclaimPolicy, Reservation, Stage, Uid,
    Volume, VolumeName, VolumePhase,
};

/// The state of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeOutcome {
    /// It was not observed.
    Unseen,
    /// It is free, or reserved for the name of a claim that does not exist yet.
    Offered,
    /// It is free and matches this pending claim, which gets it, or the free volume that it prefers.
    Serves(ClaimKey),
    /// Its reservation can belong to no claim: namespace or name is missing.
    Unusable,
    /// Whether its claim lives is not known.
    ClaimUnknown,
    /// Its claim is there and names no volume yet; the claim decides.
    AwaitsClaim(ClaimKey),
    /// As before, but one is a file system and the other a raw device: it can never be bound.
    OtherMode(ClaimKey),
    /// It is bound.
    Bound(ClaimKey),
    /// Its claim took another volume, or never came to use it, or cannot: it is given free.
    Unreserved(ClaimKey),
    /// Its claim is gone.
    Released(ReleasedFor),
}

impl VolumeOutcome {
    /// The claim on which the outcome rests, if it is one.
    pub fn claim(&self) -> Option<&ClaimKey> {
        match self {
            Self::Serves(key)
            | Self::AwaitsClaim(key)
            | Self::OtherMode(key)
            | Self::Bound(key)
            | Self::Unreserved(key) => Some(key),
            Self::Unseen
            | Self::Offered
            | Self::Unusable
            | Self::ClaimUnknown
            | Self::Released(_) => None,
        }
    }
}

/// What a released volume waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleasedFor {
    /// An administrator: its data is kept.
    Administrator,
    /// A driver outside, which deletes storage and volume.
    Driver,
    /// The recycler.
    Recycler,
    /// These pods, which use its claim's name and have not finished; then the recycler.
    Pods(NonEmpty<PodKey>),
    /// This volume, whose files would be removed with its own.
    OtherVolume(VolumeName),
    /// Nothing: no driver deletes such storage.
    NoDeleter,
    /// Nothing: the policy is one of a newer API.
    UnknownPolicy,
}

/// What is said of a volume whose policy is one of a newer API.
pub(super) const UNKNOWN_POLICY: &str = "Volume has unrecognized PersistentVolumeReclaimPolicy";

/// Returns the message for a volume whose storage no driver deletes (Kubernetes: `findDeletablePlugin`, by the
/// plug-in that made it, else by its source; `FindDeletablePluginBySpec`: NFS is known there, as its volumes
/// are recycled).
pub(super) fn no_deleter(volume: &Volume) -> String {
    match volume.annotations.get(PROVISIONED_BY) {
        Some(plugin) if !plugin.is_empty() => format!("no volume plugin matched name: {plugin}"),
        Some(_) | None => {
            let plugin = match volume.backend {
                Backend::Nfs => "deletable volume plugin",
                Backend::Csi(_) | Backend::HostPath | Backend::Local | Backend::Other => {
                    "volume plugin"
                }
            };
            let name = &volume.name;
            format!(
                "error getting deleter volume plugin for volume \"{name}\": no {plugin} matched"
            )
        }
    }
}

/// Decides about the volume of this name.
///
/// # Guarantees
///
/// A volume is released only when a live read proved that its claim is gone, or that the claim has
/// another volume; reclaimed only after that; recycled only when live reads proved besides that it is
/// still what it was and that no pod uses its claim's name, and no volume that is seen has files inside or around it.
pub fn decide_volume(evidence: &Evidence<'_>, name: &VolumeName) -> Decision<VolumeOutcome> {
    let Some(volume) = evidence.volume(name).present() else {
        return Decision::settled(VolumeOutcome::Unseen);
    };
    let decision = decide(evidence, volume);
    match migration::mark_volume(volume) {
        Some(mark) => Decision { next: Next::Write(mark), ..decision },
        None => decision,
    }
}

fn decide(evidence: &Evidence<'_>, volume: &Volume) -> Decision<VolumeOutcome> {
    match &volume.reservation {
        Reservation::Free | Reservation::Named(_) | Reservation::Incomplete(_, None) => {
            offered(evidence, volume)
        }
        // **Differs from Kubernetes**: there, such a volume is released, and with the policy Delete
        // destroyed, for a claim that cannot exist.
        Reservation::Incomplete(_, Some(_)) => Decision::settled(VolumeOutcome::Unusable),
        Reservation::Held(key, uid) => held(evidence, volume, key, uid),
    }
}

fn offered(evidence: &Evidence<'_>, volume: &Volume) -> Decision<VolumeOutcome> {
    for claimant in claimants(evidence, volume) {
        let (claim, preferred) = match claimant {
            Ok(Claimant { claim, preferred }) => (claim, preferred),
            Err(read) => return Decision::read(vec![read], VolumeOutcome::ClaimUnknown),
        };
        let next = bind(evidence, preferred.as_deref().unwrap_or(volume), claim);
        // A claim that cannot take now what it prefers leaves this one to the next.
        if preferred.is_none() || next != Next::Settled {
            return Decision { next, why: VolumeOutcome::Serves(claim.key.clone()) };
        }
    }
    let why = match volume.reservation {
        Reservation::Incomplete(..) => VolumeOutcome::Unusable,
        Reservation::Free | Reservation::Named(_) | Reservation::Held(..) => VolumeOutcome::Offered,
    };
    Decision { next: phase(volume, VolumePhase::Available), why }
}

fn held(
    evidence: &Evidence<'_>,
    volume: &Volume,
    key: &ClaimKey,
    uid: &Uid,
) -> Decision<VolumeOutcome> {
    match evidence.holder(key, uid) {
        Lookup::Unknown => {
            Decision::read(vec![Read::Claim(key.clone())], VolumeOutcome::ClaimUnknown)
        }
        Lookup::Absent if was_never_bound(volume) => given_back(volume, key),
        Lookup::Absent => released(evidence, volume, key),
        Lookup::Present(claim) => match &claim.volume {
            None => unnamed(evidence, volume, claim),
            Some(named) if *named == volume.name => Decision {
                next: phase(volume, VolumePhase::Bound),
                why: VolumeOutcome::Bound(key.clone()),
            },
            Some(_) => elsewhere(evidence, volume, key),
        },
    }
}

/// Returns whether the binder reserved it for a claim that went before the volume was Bound.
///
/// A binder writes Available to this very object while it is reserved for no uid, and Bound before a claim
/// names it. Pending proves nothing: creating an object, from an export too, resets its phase.
///
/// **Differs from Kubernetes**: there, such a volume is released, and with the policy Delete its
/// unused storage is destroyed. A provisioned volume was made for its claim alone.
pub(super) fn was_never_bound(volume: &Volume) -> bool {
    volume.phase == VolumePhase::Available
        && volume.annotations.has(BOUND_BY_CONTROLLER)
        && !volume.annotations.has(PROVISIONED_BY)
}

fn unnamed(evidence: &Evidence<'_>, volume: &Volume, claim: &Claim) -> Decision<VolumeOutcome> {
    if volume.deletion == Deletion::Terminating && claim.stage() == Stage::Unbound {
        return let_go(evidence, volume, &claim.key);
    }
    let key = claim.key.clone();
    let why = if volume.mode == claim.mode {
        VolumeOutcome::AwaitsClaim(key)
    } else {
        VolumeOutcome::OtherMode(key)
    };
    Decision::settled(why)
}

/// Decides about a volume that is being deleted and whose claim does not name it yet. No claim is bound to a terminating
/// volume, and volume protection keeps a volume while its phase is Bound.
///
/// **Differs from Kubernetes**: there, it stays until the claim has found another volume, or is gone.
fn let_go(evidence: &Evidence<'_>, volume: &Volume, key: &ClaimKey) -> Decision<VolumeOutcome> {
    // A former leader may have set the claim's volumeName.
    let open = evidence.unanswered([Read::Claim(key.clone())]);
    if !open.is_empty() {
        return Decision::read(open, VolumeOutcome::ClaimUnknown);
    }
    if is_surplus(volume) {
        return released(evidence, volume, key);
    }
    given_back(volume, key)
}

/// The claim has another volume: a volume that was provisioned for it is surplus, any other is free.
fn elsewhere(evidence: &Evidence<'_>, volume: &Volume, key: &ClaimKey) -> Decision<VolumeOutcome> {
    if !is_surplus(volume) {
        return given_back(volume, key);
    }
    // What the claim names may have changed since: storage is not given up on a lagging view.
    let open = evidence.unanswered([Read::Claim(key.clone())]);
    if !open.is_empty() {
        return Decision::read(open, VolumeOutcome::ClaimUnknown);
    }
    released(evidence, volume, key)
}

/// Returns whether a volume is useless without its claim: it was provisioned for that claim alone.
pub(super) fn is_surplus(volume: &Volume) -> bool {
    volume.annotations.has(PROVISIONED_BY) && volume.policy == ReclaimPolicy::Delete
}

fn given_back(volume: &Volume, key: &ClaimKey) -> Decision<VolumeOutcome> {
    let left = left_of_reservation(volume);
    let write = Write::Unreserve { volume: ObjectRef::of_volume(volume), left };
    Decision { next: Next::Write(write), why: VolumeOutcome::Unreserved(key.clone()) }
}

/// What remains of the reservation of a volume whose claim does not come to use it.
pub(super) fn left_of_reservation(volume: &Volume) -> Remaining {
    match volume.phase {
        VolumePhase::Available | VolumePhase::Bound => Remaining::by_chooser(volume),
        // A person created it with its reservation, or gave it to the claim: there may be data on it.
        VolumePhase::Pending
        | VolumePhase::Released
        | VolumePhase::Failed
        | VolumePhase::Unknown(_) => Remaining::Name,
    }
}

fn released(evidence: &Evidence<'_>, volume: &Volume, key: &ClaimKey) -> Decision<VolumeOutcome> {
    let (awaited, reclaim) = reclaim(evidence, volume, key);
    let why = VolumeOutcome::Released(awaited);
    let is_current = matches!(volume.phase, VolumePhase::Released | VolumePhase::Failed);
    let next = if is_current { reclaim } else { phase(volume, VolumePhase::Released) };
    Decision { next, why }
}

/// Returns what follows for a volume that is Released or Failed.
fn reclaim(evidence: &Evidence<'_>, volume: &Volume, key: &ClaimKey) -> (ReleasedFor, Next) {
    let is_migrated = volume.annotations.get(MIGRATED_TO).is_some_and(|driver| !driver.is_empty());
    match &volume.policy {
        _ if is_migrated => (ReleasedFor::Driver, Next::Reclaim(Reclaim::ByDriver)),
        ReclaimPolicy::Retain => (ReleasedFor::Administrator, Next::Settled),
        ReclaimPolicy::Recycle => recycle(evidence, volume, key),
        ReclaimPolicy::Delete if has_driver(volume) => {
            (ReleasedFor::Driver, Next::Reclaim(Reclaim::ByDriver))
        }
        ReclaimPolicy::Delete => (ReleasedFor::NoDeleter, failed(volume, &no_deleter(volume))),
        ReclaimPolicy::Newer(_) => (ReleasedFor::UnknownPolicy, failed(volume, UNKNOWN_POLICY)),
    }
}

/// Returns whether the files of a volume may be removed: its claim is proven gone (else it would not be here), it
/// is still what it was, no pod that has not finished uses the claim's name, and no other volume has files there.
///
/// **Differs from Kubernetes**: there, a claim is gone if it was not seen, and pods do not count once
/// another claim of the name was seen, although they may have the old volume mounted and lose its files.
fn recycle(evidence: &Evidence<'_>, volume: &Volume, key: &ClaimKey) -> (ReleasedFor, Next) {
    let open =
        evidence.unanswered([Read::Volume(volume.name.clone()), Read::LivePods(key.clone())]);
    if !open.is_empty() {
        return (ReleasedFor::Recycler, Next::reads(open));
    }
    let pods = evidence.live_pods(key).present().into_iter().flatten();
    let users = pods.filter(|pod| pod.uses(key)).map(|pod| pod.key.clone()).collect();
    match (NonEmpty::from_vec(users), overlapping(evidence.view(), volume)) {
        (Some(users), _) => (ReleasedFor::Pods(users), Next::Settled),
        (None, Some(other)) => (ReleasedFor::OtherVolume(other.name.clone()), Next::Settled),
        (None, None) => (ReleasedFor::Recycler, Next::Reclaim(Reclaim::Recycle)),
    }
}

/// Returns whether a driver outside deletes the volume's storage.
///
/// Kubernetes: `pv_controller.go`, `findDeletablePlugin`: by `provisioned-by`, else by the source.
fn has_driver(volume: &Volume) -> bool {
    match volume.annotations.get(PROVISIONED_BY) {
        Some(name) if !name.is_empty() => !name.starts_with(IN_TREE_PREFIX),
        Some(_) | None => matches!(volume.backend, Backend::Csi(_)),
    }
}

fn failed(volume: &Volume, message: &str) -> Next {
    phase_with(volume, VolumePhase::Failed, message)
}

fn phase(volume: &Volume, phase: VolumePhase) -> Next {
    phase_with(volume, phase, "")
}

/// The write of a phase, unless the volume has it.
fn phase_with(volume: &Volume, phase: VolumePhase, message: &str) -> Next {
    if volume.phase == phase {
        return Next::Settled;
    }
    let (volume, message) = (ObjectRef::of_volume(volume), message.to_owned());
    Next::Write(Write::Phase { volume, phase, message })
}

#[cfg(test)]
mod tests;

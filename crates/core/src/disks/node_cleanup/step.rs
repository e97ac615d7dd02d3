//! The next step for one volume.
//!
//! No step depends on what a former one did, as for disks. What was released before shows in the replicas: until the pod
//! with the new claim is ready, no other claim of its StatefulSet is deleted.

use super::evidence::{
    CleanupClaim, CleanupReplicas, NodeLossKind, NodeOfVolume, NodeTie, OnNodeLoss, PodState,
    Replica, StatefulSetReplicas,
};
use super::node_waiting::NodeWaiting;
use super::waiting::CleanupWaiting;
use crate::disks::LocalVolume;
use crate::disks::names::creator_node;
use crate::model::{
    ClaimKey, Deletion, NodeAffinity, ReclaimPolicy, Reservation, ResourceVersion, Uid, VolumePhase,
};

/// All that a decision about one volume depends on.
#[derive(Clone, Copy, Debug)]
pub struct CleanupObservation<'a> {
    /// The volume.
    pub volume: &'a LocalVolume,
    /// All Nodes that its node affinity admits, and the one for which it was made.
    pub nodes: &'a [NodeOfVolume],
    /// Whether these Nodes were read after everything else.
    pub nodes_are_current: bool,
    /// Whether there has been none for as long as a Node may take to be made again.
    pub is_gone_for_long: bool,
    /// What its StorageClass says.
    pub on_node_loss: OnNodeLoss,
    /// Its claim.
    pub claim: &'a CleanupClaim,
    /// For whom that would be made again.
    pub replicas: &'a CleanupReplicas,
}

/// The next step for the volume of a node that may be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CleanupStep {
    /// Nothing, until one of the things that were observed changes.
    Wait(CleanupWaiting),
    /// Read the claim from the API server.
    ReadClaim,
    /// Read the StatefulSet of the claim and its pods.
    ReadReplicas,
    /// Read the Nodes again: what follows cannot be undone.
    ReadNodes,
    /// Set the reclaim policy to Retain and record the one before, if the volume still has this version.
    Retain(ResourceVersion),
    /// Delete the claim of this uid, if it still has this version.
    DeleteClaim(ClaimKey, Uid, ResourceVersion),
    /// Delete the volume of this uid, if it still has this version.
    DeleteVolume(Uid, ResourceVersion),
}

/// Returns how a volume is lost, or why it is not.
///
/// # Errors
///
/// What the volume waits for, if it can be reached or that is not known.
pub fn volume_loss(
    volume: &LocalVolume,
    nodes: &[NodeOfVolume],
    is_gone_for_long: bool,
) -> Result<NodeLossKind, NodeWaiting> {
    // Whether a Node fulfils it is not known, or none ever does.
    if !is_readable(&volume.node_affinity) {
        return Err(NodeWaiting::AffinityUnknown);
    }
    let mut kind = NodeLossKind::Gone;
    for node in nodes {
        kind = node_loss(volume, node)?;
    }
    if kind == NodeLossKind::Gone && !is_gone_for_long {
        return Err(NodeWaiting::GoneShortly);
    }
    Ok(kind)
}

fn is_readable(affinity: &NodeAffinity) -> bool {
    match affinity {
        NodeAffinity::Required(terms) => {
            !terms.is_empty() && terms.iter().all(|term| term.query().is_some())
        }
        NodeAffinity::Unrestricted | NodeAffinity::Unread(_) => false,
    }
}

fn node_loss(volume: &LocalVolume, node: &NodeOfVolume) -> Result<NodeLossKind, NodeWaiting> {
    let name = node.name.clone();
    match (node.is_out_of_service, node.is_ready) {
        (true, false) => return Ok(NodeLossKind::OutOfService),
        (true, true) => return Err(NodeWaiting::ReadyOutOfService(name)),
        (false, _) => {}
    }
    let made_for = creator_node(&volume.provisioned_by).and_then(|creator| creator.uid);
    let is_rebuilt = made_for.is_some_and(|uid| uid != node.uid.to_string());
    Err(match (node.tie, &volume.found_at) {
        (NodeTie::Found, Some(place)) => NodeWaiting::DiskFound(place.clone()),
        (NodeTie::SameMachine | NodeTie::Found, _) => NodeWaiting::Renamed(name),
        (NodeTie::Admitted | NodeTie::Named, _) if volume.is_disk_missing => {
            NodeWaiting::DiskMissing(name)
        }
        // Whether the disk is still there, the provisioner on the node says: a pod may already use what is in its place.
        (NodeTie::Admitted | NodeTie::Named, _) if is_rebuilt => NodeWaiting::Rebuilt(name),
        (NodeTie::Named, _) => NodeWaiting::Relabelled(name),
        (NodeTie::Admitted, _) if node.is_ready => NodeWaiting::Serves,
        (NodeTie::Admitted, _) => NodeWaiting::NotReady(name),
    })
}

/// Returns the next step.
pub fn next_cleanup_step(seen: &CleanupObservation<'_>) -> CleanupStep {
    let volume = seen.volume;
    let kind = match volume_loss(volume, seen.nodes, seen.is_gone_for_long) {
        Ok(kind) => kind,
        Err(waiting) => return CleanupStep::Wait(CleanupWaiting::Node(waiting)),
    };
    match (&volume.phase, &volume.reservation) {
        (VolumePhase::Bound, Reservation::Held(key, _)) => bound(seen, key, kind),
        (VolumePhase::Available, Reservation::Free) | (VolumePhase::Released, _) => unused(seen),
        (VolumePhase::Available, Reservation::Named(_)) if volume.is_before_offer() => unused(seen),
        (
            VolumePhase::Pending
            | VolumePhase::Available
            | VolumePhase::Bound
            | VolumePhase::Failed
            | VolumePhase::Unknown(_),
            _,
        ) => CleanupStep::Wait(CleanupWaiting::Phase(volume.phase.clone())),
    }
}

/// A claim has the volume.
fn bound(seen: &CleanupObservation<'_>, key: &ClaimKey, kind: NodeLossKind) -> CleanupStep {
    let volume = seen.volume;
    let (uid, version) = match seen.claim {
        CleanupClaim::Unread => return CleanupStep::ReadClaim,
        CleanupClaim::Gone => return CleanupStep::Wait(CleanupWaiting::ClaimGone),
        CleanupClaim::Present { volume: named, .. } if named.as_ref() != Some(&volume.name) => {
            return CleanupStep::Wait(CleanupWaiting::ClaimElsewhere);
        }
        CleanupClaim::Present { deletion: Deletion::Terminating, .. } => {
            return CleanupStep::Wait(CleanupWaiting::ClaimTerminating);
        }
        CleanupClaim::Present { uid, version, deletion: Deletion::NotAsked, .. } => (uid, version),
    };
    match seen.on_node_loss {
        OnNodeLoss::Wait => return CleanupStep::Wait(CleanupWaiting::NodeLost(kind)),
        OnNodeLoss::Keep if volume.deletion == Deletion::Terminating => {
            return CleanupStep::Wait(CleanupWaiting::VolumeTerminating);
        }
        OnNodeLoss::Keep | OnNodeLoss::Release => {}
    }
    let replicas = match seen.replicas {
        CleanupReplicas::Unread => return CleanupStep::ReadReplicas,
        CleanupReplicas::NoStatefulSet => {
            return CleanupStep::Wait(CleanupWaiting::NoStatefulSet(kind));
        }
        CleanupReplicas::TooMany => return CleanupStep::Wait(CleanupWaiting::TooManyReplicas),
        CleanupReplicas::Of(replicas) => replicas,
    };
    if let Some(waiting) = unless_next(replicas, seen.on_node_loss) {
        return CleanupStep::Wait(waiting);
    }
    if !seen.nodes_are_current {
        return CleanupStep::ReadNodes;
    }
    let is_kept = volume.policy == ReclaimPolicy::Retain && volume.policy_before_trash.is_none();
    if seen.on_node_loss == OnNodeLoss::Keep && !is_kept {
        return CleanupStep::Retain(volume.version.clone());
    }
    CleanupStep::DeleteClaim(key.clone(), uid.clone(), version.clone())
}

/// Returns why the claim of a replica is not deleted; nothing once its pod waits for it, and no other replica is to come
/// first.
fn unless_next(replicas: &StatefulSetReplicas, on_loss: OnNodeLoss) -> Option<CleanupWaiting> {
    let own = &replicas.own;
    // A pod that has a node would keep the claim Terminating; without a pod, the claim may be none that is needed.
    if own.state != PodState::Unscheduled {
        return Some(CleanupWaiting::PodNotWaiting(own.pod.clone()));
    }
    let others = &replicas.others;
    if let Some(other) = others.iter().find(|other| holds_up(own, other, replicas.is_parallel)) {
        let pod = other.pod.clone();
        return Some(if other.has_lost_volume {
            CleanupWaiting::LowerReplicaFirst(pod)
        } else {
            CleanupWaiting::OtherReplica(pod)
        });
    }
    let has_copy = others.iter().any(|other| other.state == PodState::Ready);
    (on_loss == OnNodeLoss::Keep && !has_copy).then_some(CleanupWaiting::NoOtherReady)
}

/// Returns whether the claim of the replica `own` waits for another replica: until that is ready, unless it waits for a lost
/// volume itself and comes after `own`.
///
/// Kubernetes: `pkg/controller/statefulset/stateful_set_control.go`, `processReplica`: without `Parallel`, pods and claims
/// are made in the order of their numbers, each once the ones before it are ready.
pub fn holds_up(own: &Replica, other: &Replica, is_parallel: bool) -> bool {
    let is_later = other.number > own.number;
    match other.state {
        PodState::Ready => false,
        PodState::Absent => !(is_later && (other.has_lost_volume || !is_parallel)),
        PodState::Unscheduled => !(is_later && other.has_lost_volume),
        PodState::Terminating | PodState::NotReady => true,
    }
}

/// No claim has the volume.
fn unused(seen: &CleanupObservation<'_>) -> CleanupStep {
    let volume = seen.volume;
    if volume.deletion == Deletion::Terminating {
        return CleanupStep::Wait(CleanupWaiting::VolumeTerminating);
    }
    match (seen.on_node_loss, &volume.policy) {
        (OnNodeLoss::Release, ReclaimPolicy::Delete) if seen.nodes_are_current => {
            CleanupStep::DeleteVolume(volume.uid.clone(), volume.version.clone())
        }
        (OnNodeLoss::Release, ReclaimPolicy::Delete) => CleanupStep::ReadNodes,
        (
            OnNodeLoss::Release,
            ReclaimPolicy::Retain | ReclaimPolicy::Recycle | ReclaimPolicy::Newer(_),
        )
        | (OnNodeLoss::Keep | OnNodeLoss::Wait, _) => CleanupStep::Wait(CleanupWaiting::VolumeKept),
    }
}

//! Which pods and claims cannot come back when nodes are gone or drained: the volume part of it.
//!
//! Kubernetes: `pkg/scheduler/framework/plugins`, asked of every node that is left: `volumebinding/binder.go`,
//! `FindPodVolumes` and `hasEnoughCapacity`; `volumezone`; `volumerestrictions` as to `ReadWriteOncePod`; `nodevolumelimits` of CSI drivers. A pod's
//! `nodeSelector`, required node affinity and cordons count, taints do not. Not here: taints, resources, ports, affinity
//! between pods, preemption, disruption budgets; of volumes in-tree sources and VolumeAttachments
//! that no pod has. Each pod is judged alone, beside the pods that stay.

mod after;
mod capacity;
mod claims;
mod needs;
mod pods;
mod question;
mod reason;
#[cfg(test)]
mod tests;
mod uses;

use self::after::NodesAfter;
pub use self::question::{
    DisplacedPod, DriverEvidence, NodeLoss, NodeLossOutcome, UnreachableClaim,
};
pub use self::reason::{ClaimProblem, NodeLossReason, NodeNames, VolumeProblem};
use crate::model::PlacedPod;

/// Returns which pods cannot come back, which claims are left without a node, and why.
///
/// The nodes must be all of the cluster: which node could take a pod is not known otherwise. An object that the view
/// lacks is absent only if `listed` says so; else the reason is one that [`is_unknown`](NodeLossReason::is_unknown).
pub fn judge_node_loss(loss: &NodeLoss<'_>) -> NodeLossOutcome {
    let after = NodesAfter::of(loss);
    let is_displaced = |pod: &&PlacedPod| pods::is_displaced(loss, pod);
    let mut displaced: Vec<&PlacedPod> = loss.pods.iter().filter(is_displaced).collect();
    displaced.sort_by(|a, b| a.pod.key.cmp(&b.pod.key));
    let claims = claims::unreachable(loss, &after);
    let pods = displaced.into_iter().filter_map(|pod| pods::judge(loss, &after, pod)).collect();
    NodeLossOutcome { pods, claims }
}

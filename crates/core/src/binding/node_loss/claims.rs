//! The bound claims whose volume only lost nodes reach, whether a pod uses them or not.

use std::collections::BTreeSet;

use super::after::NodesAfter;
use super::needs::{bound_to, bound_volume, unreachable as unreachable_volume};
use super::question::{NodeLoss, UnreachableClaim};
use super::reason::NodeLossReason;
use crate::model::{Claim, ClaimKey, PlacedPod, Volume};

/// Those claims, and those of which it is not known. A claim from the template of a pod there lives as long as the pod.
pub(super) fn unreachable(loss: &NodeLoss<'_>, after: &NodesAfter<'_>) -> Vec<UnreachableClaim> {
    let is_there =
        |pod: &&PlacedPod| pod.pod.node.as_deref().is_some_and(|node| loss.affects(node));
    let there = loss.pods.iter().filter(is_there);
    let ephemeral: BTreeSet<&ClaimKey> = there.flat_map(|pod| &pod.ephemeral).collect();
    let claims = loss.view.claims().filter(|claim| !ephemeral.contains(&claim.key));
    claims.filter_map(|claim| judge(loss, after, claim)).collect()
}

fn judge(loss: &NodeLoss<'_>, after: &NodesAfter<'_>, claim: &Claim) -> Option<UnreachableClaim> {
    let name = bound_to(claim)?;
    let reason = match bound_volume(loss, &claim.key, name) {
        Ok(volume) => stranding(loss, after, &claim.key, volume)?,
        Err(reason) => reason,
    };
    Some(UnreachableClaim { claim: claim.key.clone(), volume: name.clone(), reason })
}

/// Why no node is left for the volume, if a node that goes or is drained reaches it now.
fn stranding(
    loss: &NodeLoss<'_>,
    after: &NodesAfter<'_>,
    key: &ClaimKey,
    volume: &Volume,
) -> Option<NodeLossReason> {
    let mut affected = loss.hosts.iter().filter(|host| loss.affects(&host.node.name));
    let is_affected = affected.any(|host| volume.admits(&host.node));
    let reason = || unreachable_volume(key, volume, after, |host| !host.is_cordoned);
    is_affected.then(reason).flatten()
}

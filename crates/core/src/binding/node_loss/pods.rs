//! Whether a pod can come back on one of the nodes that are left.

use super::after::NodesAfter;
use super::capacity::Assumption;
use super::needs::{ClaimNeed, are_served};
use super::question::{DisplacedPod, NodeLoss};
use super::reason::{ClaimProblem, NodeLossReason, NodeNames};
use crate::model::{ClaimKey, Host, PlacedPod, PodOrigin};

/// Returns whether the pod has to come back on another node.
pub(super) fn is_displaced(loss: &NodeLoss<'_>, pod: &PlacedPod) -> bool {
    let is_affected = pod.pod.node.as_deref().is_some_and(|node| loss.affects(node));
    match pod.origin {
        PodOrigin::DaemonSet | PodOrigin::Mirror => false,
        PodOrigin::Other => is_affected && !pod.pod.claims.is_empty(),
    }
}

/// Judges one of those pods.
pub(super) fn judge(
    loss: &NodeLoss<'_>,
    after: &NodesAfter<'_>,
    pod: &PlacedPod,
) -> Option<DisplacedPod> {
    let node = pod.pod.node.clone()?;
    let (mut needs, mut reasons) = (Vec::new(), Vec::new());
    for key in &pod.pod.claims {
        match ClaimNeed::of(loss, pod, key) {
            Ok(need) => needs.push(need),
            Err(reason) => reasons.push(reason),
        }
    }
    reasons.extend(unserved(loss, after, pod, &needs));
    reasons.extend(pod.pod.claims.iter().filter_map(|key| conflict(loss, after, pod, key)));
    let (key, claims) = (pod.pod.key.clone(), pod.pod.claims.clone());
    Some(DisplacedPod { pod: key, node, claims, reasons })
}

/// That a claim of the pod admits one pod, and another one, which stays, uses it.
fn conflict(
    loss: &NodeLoss<'_>,
    after: &NodesAfter<'_>,
    pod: &PlacedPod,
    key: &ClaimKey,
) -> Option<NodeLossReason> {
    let is_template = pod.ephemeral.binary_search(key).is_ok();
    let claim = loss.view.claim(key).filter(|_| !is_template)?;
    let problem = ClaimProblem::InUse(after.uses.conflict(claim)?.clone());
    Some(NodeLossReason::Claim { claim: key.clone(), problem })
}

/// Why no node that is left serves all needs of the pod; nothing if one does.
fn unserved(
    loss: &NodeLoss<'_>,
    after: &NodesAfter<'_>,
    pod: &PlacedPod,
    needs: &[ClaimNeed<'_>],
) -> Vec<NodeLossReason> {
    let takes = |host: &Host| pod.constraints.passes_cordon(host);
    let hosts = after.left.iter().filter(|host| takes(host));
    let serves = |host: &&Host, assumption| are_served(loss, needs, host, assumption);
    let serving: Vec<&Host> = hosts.filter(|host| serves(host, Assumption::Hopeful)).collect();
    let selected = serving.iter().copied().filter(|host| pod.constraints.selects(&host.node));
    let selected: Vec<&Host> = selected.collect();
    if !selected.is_empty() {
        let wanted = needs.iter().filter_map(ClaimNeed::csi_volume).collect();
        let lack = |hosts: &[&Host]| after.uses.lack_of_room(loss, &wanted, hosts);
        let proven = selected.iter().copied().filter(|host| serves(host, Assumption::Proven));
        let proven: Vec<&Host> = proven.collect();
        return match lack(&selected) {
            Some(reason) => vec![reason],
            // It is enough that one node surely has the capacity and the room.
            None if proven.is_empty() || lack(&proven).is_some() => {
                vec![NodeLossReason::CapacityNotKnown]
            }
            None => Vec::new(),
        };
    }
    if !serving.is_empty() {
        let names = serving.into_iter().map(|host| host.node.name.clone()).collect();
        return vec![NodeLossReason::PodSelector { nodes: NodeNames(names) }];
    }
    let lone = needs.iter().filter_map(|need| need.lone_reason(loss, after, takes));
    let lone: Vec<NodeLossReason> = lone.collect();
    if lone.is_empty() && !needs.is_empty() {
        let claims = needs.iter().map(|need| need.key().clone()).collect();
        return vec![NodeLossReason::VolumesApart { claims }];
    }
    lone
}

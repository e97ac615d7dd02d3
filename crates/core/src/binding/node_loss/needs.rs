//! What a pod needs of its next node for one of its claims, and whether a node gives it.

use std::sync::Arc;

use super::super::choice::{Choice, choose_besides};
use super::super::collections::Collection;
use super::super::fit::FitCheck;
use super::after::NodesAfter;
use super::capacity::{Assumption, Capacity};
use super::question::NodeLoss;
use super::reason::{ClaimProblem, NodeLossReason, NodeNames, VolumeProblem};
use super::uses::{CsiVolume, to_provision};
use crate::model::annotations::{BIND_COMPLETED, SELECTED_NODE};
use crate::model::{
    Backend, BindingMode, Claim, ClaimKey, ClaimPhase, Class, Host, NodeAffinity, PlacedPod,
    Provisioner, Stage, Volume, VolumeName,
};

/// What one claim needs.
#[derive(Clone, Debug)]
pub(super) enum ClaimNeed<'a> {
    /// A node that reaches its volume.
    Bound(&'a ClaimKey, &'a Volume),
    /// A node on which it gets a volume: a free one, or one that is provisioned for the node.
    Delayed(DelayedClaim<'a>),
}

/// A claim that is bound with the node of its pod.
#[derive(Clone, Debug)]
pub(super) struct DelayedClaim<'a> {
    /// Its key, as the pod that runs now has it.
    key: &'a ClaimKey,
    claim: Arc<Claim>,
    class: &'a Class,
}

impl<'a> ClaimNeed<'a> {
    /// What the claim of the pod needs; a reason if no node can give it, or it is not known.
    pub(super) fn of(
        loss: &NodeLoss<'a>,
        pod: &'a PlacedPod,
        key: &'a ClaimKey,
    ) -> Result<Self, NodeLossReason> {
        let Some(claim) = loss.view.claim(key) else {
            let is_absent = loss.listed.has_in(Collection::Claims, &key.namespace);
            let problem = if is_absent { ClaimProblem::Missing } else { ClaimProblem::NotKnown };
            return Err(NodeLossReason::Claim { claim: key.clone(), problem });
        };
        if pod.ephemeral.binary_search(key).is_ok() {
            return Self::delayed(loss, key, Arc::new(successor(claim)));
        }
        match bound_to(claim) {
            Some(name) => bound_volume(loss, key, name).map(|volume| Self::Bound(key, volume)),
            None => Self::delayed(loss, key, Arc::clone(claim)),
        }
    }

    /// A claim that is not bound.
    ///
    /// Kubernetes: `volumebinding/binder.go`, `GetPodVolumeClaims`: one that names a volume does not wait for a pod.
    fn delayed(
        loss: &NodeLoss<'a>,
        key: &'a ClaimKey,
        claim: Arc<Claim>,
    ) -> Result<Self, NodeLossReason> {
        let request = claim.class();
        let reason = |problem| NodeLossReason::Claim { claim: key.clone(), problem };
        let not_bound = || reason(ClaimProblem::NotBound);
        let name = request.wanted().name().ok_or_else(not_bound)?;
        let not_known = || reason(ClaimProblem::ClassNotKnown(name.clone()));
        let class = match loss.view.class(name) {
            Some(class) => class.as_ref(),
            None if loss.listed.has(Collection::Classes) => return Err(not_bound()),
            None => return Err(not_known()),
        };
        match (class.binding_mode, &class.allowed_topologies) {
            (BindingMode::Immediate, _) => Err(not_bound()),
            (BindingMode::WaitForFirstConsumer, _) if claim.volume.is_some() => Err(not_bound()),
            (BindingMode::WaitForFirstConsumer, NodeAffinity::Unread(_)) => Err(not_known()),
            (
                BindingMode::WaitForFirstConsumer,
                NodeAffinity::Unrestricted | NodeAffinity::Required(_),
            ) => Ok(Self::Delayed(DelayedClaim { key, claim, class })),
        }
    }

    /// The claim.
    pub(super) fn key(&self) -> &ClaimKey {
        match self {
            Self::Bound(key, _) => key,
            Self::Delayed(delayed) => delayed.key,
        }
    }

    /// The CSI volume that its node attaches for it.
    pub(super) fn csi_volume(&self) -> Option<CsiVolume> {
        match self {
            Self::Bound(_, volume) => {
                let (driver, handle) = volume.csi_handle()?;
                Some((driver.into(), handle.into()))
            }
            Self::Delayed(delayed) => to_provision(&delayed.class.provisioner, delayed.key),
        }
    }

    /// Why none of the nodes that are left and that `takes` accepts serves this claim by itself; nothing if one does.
    pub(super) fn lone_reason(
        &self,
        loss: &NodeLoss<'_>,
        after: &NodesAfter<'_>,
        takes: impl Fn(&Host) -> bool,
    ) -> Option<NodeLossReason> {
        match self {
            Self::Bound(key, volume) => unreachable(key, volume, after, takes),
            Self::Delayed(delayed) => {
                let mut hosts = after.left.iter().filter(|host| takes(host));
                let hopeful = Assumption::Hopeful;
                let is_served =
                    hosts.any(|host| delayed.is_served(loss, host, hopeful, &mut Vec::new()));
                (!is_served).then(|| delayed.reason(loss, after, takes))
            }
        }
    }
}

impl DelayedClaim<'_> {
    /// Returns whether the claim gets a volume on the node; a free one is added to `taken`.
    ///
    /// Kubernetes: `volumebinding/binder.go`, `FindPodVolumes` and `checkVolumeProvisions`.
    fn is_served(
        &self,
        loss: &NodeLoss<'_>,
        host: &Host,
        assumption: Assumption,
        taken: &mut Vec<VolumeName>,
    ) -> bool {
        let is_provisioned = || self.capacity(loss, host).suffices(assumption);
        if let Some(selected) = self.claim.annotations.get(SELECTED_NODE) {
            return *host.node.name == *selected && is_provisioned();
        }
        match choose_besides(loss.view, &self.claim, FitCheck::Scheduler(&host.node), taken) {
            Choice::Reserved(volume) | Choice::Free(volume) => {
                taken.push(volume.name.clone());
                true
            }
            Choice::ReservedUnreachable(_) => false,
            Choice::NoMatch => is_provisioned(),
        }
    }

    /// What is had of the class's provisioner on the node.
    fn capacity(&self, loss: &NodeLoss<'_>, host: &Host) -> Capacity {
        if !self.class.allowed_topologies.admits(&host.node) {
            return Capacity::Lacking;
        }
        Capacity::of(loss, self.class, &self.claim.request, host)
    }

    /// Why no node serves it.
    fn reason(
        &self,
        loss: &NodeLoss<'_>,
        after: &NodesAfter<'_>,
        takes: impl Fn(&Host) -> bool,
    ) -> NodeLossReason {
        let left = || after.left.iter().filter(|host| takes(host));
        let selected = self.claim.annotations.get(SELECTED_NODE);
        let selected = selected.filter(|node| left().all(|host| *host.node.name != **node));
        let is_admitted = |host: &Host| self.class.allowed_topologies.admits(&host.node);
        let is_lacking =
            left().any(|host| is_admitted(host) && self.capacity(loss, host) == Capacity::Lacking);
        let class = self.class.name.clone();
        let problem = match (selected, &self.class.provisioner) {
            (Some(node), _) => ClaimProblem::SelectedNode(node.into()),
            (None, Provisioner::Static) => ClaimProblem::NoFreeVolume(class),
            (None, Provisioner::Named(_)) if is_lacking => ClaimProblem::NoCapacity(class),
            (None, Provisioner::Named(_)) => ClaimProblem::NoTopology(class),
        };
        NodeLossReason::Claim { claim: self.key.clone(), problem }
    }
}

/// Returns whether the node serves all needs at once.
///
/// Kubernetes: `volumebinding/binder.go`, `findMatchingVolumes`: the smallest claim chooses first.
pub(super) fn are_served(
    loss: &NodeLoss<'_>,
    needs: &[ClaimNeed<'_>],
    host: &Host,
    assumption: Assumption,
) -> bool {
    let mut delayed: Vec<&DelayedClaim<'_>> = Vec::new();
    for need in needs {
        match need {
            ClaimNeed::Bound(_, volume) if !volume.admits(&host.node) => {
                return false;
            }
            ClaimNeed::Bound(..) => {}
            ClaimNeed::Delayed(one) => delayed.push(one),
        }
    }
    delayed.sort_by(|a, b| a.claim.request.cmp(&b.claim.request));
    let mut taken = Vec::new();
    delayed.into_iter().all(|one| one.is_served(loss, host, assumption, &mut taken))
}

/// The volume that a claim is bound to.
///
/// Kubernetes: `volumebinding/binder.go`, `isPVCFullyBound`.
pub(super) fn bound_to(claim: &Claim) -> Option<&VolumeName> {
    match claim.stage() {
        Stage::Completed => claim.volume.as_ref(),
        Stage::Unbound => None,
    }
}

/// The volume of this name, which the claim is bound to, if it and its node affinity are known.
pub(super) fn bound_volume<'a>(
    loss: &NodeLoss<'a>,
    key: &ClaimKey,
    name: &VolumeName,
) -> Result<&'a Volume, NodeLossReason> {
    let problem = match loss.view.volume(name) {
        None if loss.listed.has(Collection::Volumes) => VolumeProblem::Missing,
        None => VolumeProblem::NotKnown,
        Some(volume) => match volume.node_affinity {
            NodeAffinity::Unrestricted if volume.backend == Backend::HostPath => {
                VolumeProblem::FolderOfAnyNode
            }
            NodeAffinity::Unrestricted | NodeAffinity::Required(_) => return Ok(volume.as_ref()),
            NodeAffinity::Unread(_) => VolumeProblem::AffinityNotKnown,
        },
    };
    Err(NodeLossReason::Volume { claim: key.clone(), volume: name.clone(), problem })
}

/// Why none of the nodes that are left and that `takes` accepts reaches the volume; nothing if one does.
pub(super) fn unreachable(
    key: &ClaimKey,
    volume: &Volume,
    after: &NodesAfter<'_>,
    takes: impl Fn(&Host) -> bool,
) -> Option<NodeLossReason> {
    let reach = |host: &&Host| volume.admits(&host.node);
    let names = |hosts: Vec<&Host>| {
        NodeNames(hosts.into_iter().map(|host| host.node.name.clone()).collect())
    };
    let left: Vec<&Host> = after.left.iter().filter(reach).collect();
    if left.iter().any(|host| takes(host)) {
        return None;
    }
    let gone: Vec<&Host> = after.gone.iter().copied().filter(reach).collect();
    let problem = if !left.is_empty() {
        VolumeProblem::Cordoned(names(left))
    } else if !gone.is_empty() {
        VolumeProblem::Gone(names(gone))
    } else {
        VolumeProblem::Unreachable
    };
    Some(NodeLossReason::Volume { claim: key.clone(), volume: volume.name.clone(), problem })
}

/// The claim that another pod gets from the same template.
fn successor(claim: &Claim) -> Claim {
    let mut annotations = claim.annotations.clone();
    for key in [BIND_COMPLETED, SELECTED_NODE] {
        annotations.remove(key);
    }
    Claim {
        key: ClaimKey::new(claim.key.namespace.clone(), ""),
        uid: None,
        annotations,
        volume: None,
        phase: ClaimPhase::Pending,
        ..claim.clone()
    }
}

//! Another node that has a volume which one node at a time can have.

use super::evidence::AttachEvidence;
use super::node_status::{MountReport, mount_report};
use super::turn::Turn;
use crate::model::{ClaimKey, Deletion, NodeState, PodKey, Volume, VolumeAttachment};

/// What has a volume that is attached to another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentHolder {
    /// The name of its VolumeAttachment; absent where it has none, and the node still has it mounted.
    pub attachment: Option<Box<str>>,
    /// Whether that is being deleted, which detaches the volume.
    pub deletion: Deletion,
    /// The node.
    pub node: Box<str>,
    /// What is known of the node.
    pub state: HolderNode,
    /// Whether the node has the volume mounted.
    pub mount: MountReport,
    /// The pods there that use the volume; absent where not all pods are known.
    pub pods: Option<Vec<HolderPod>>,
    /// The message of the driver, which failed to detach it.
    pub detach_error: Option<Box<str>>,
}

/// A pod that uses a volume on the node that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HolderPod {
    /// Its namespace and name.
    pub key: PodKey,
    /// Whether it is being deleted: its kubelet stops it, and unmounts its volumes.
    pub deletion: Deletion,
}

/// Whether the machine of a node that has a volume may still write to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderNode {
    /// The Node object no longer exists.
    Gone,
    /// It has the taint `node.kubernetes.io/out-of-service`, and its kubelet does not report.
    OutOfService,
    /// It has that taint although its kubelet reports: the attach/detach controller then detaches what is mounted.
    OutOfServiceButReady,
    /// Its kubelet does not report, which says nothing of its machine.
    NotReady,
    /// It runs.
    Ready,
    /// Not all Nodes are known.
    Unknown,
}

/// Who uses a volume on the node that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// No pod.
    Unused,
    /// Only pods that are being deleted.
    Ending,
    /// A pod that is to stay, or pods that are not known.
    Used,
}

impl AttachmentHolder {
    /// What has the volume by this VolumeAttachment.
    pub(super) fn of(
        other: &VolumeAttachment,
        (volume, claim): (&Volume, &ClaimKey),
        evidence: &AttachEvidence,
    ) -> Self {
        Self {
            attachment: Some(other.name.clone()),
            deletion: other.deletion,
            detach_error: other.detach_error.clone(),
            ..Self::mounting(&other.node, (volume, claim), evidence)
        }
    }

    /// A node that may have the volume mounted, without a VolumeAttachment.
    pub(super) fn mounting(
        node: &str,
        (volume, claim): (&Volume, &ClaimKey),
        evidence: &AttachEvidence,
    ) -> Self {
        let pods = evidence.pods.as_ref().map(|users| {
            let there = users.iter().filter(|user| user.pod.node.as_deref() == Some(node));
            let using = there.filter(|user| user.pod.uses(claim));
            let found =
                using.map(|user| HolderPod { key: user.pod.key.clone(), deletion: user.deletion });
            found.collect()
        });
        Self {
            attachment: None,
            deletion: Deletion::NotAsked,
            node: node.into(),
            state: HolderNode::of(node, evidence),
            mount: mount_report(volume, node, evidence),
            pods,
            detach_error: None,
        }
    }

    pub(super) fn used(&self) -> Use {
        match self.pods.as_deref() {
            Some([]) => Use::Unused,
            Some(pods) if pods.iter().all(|pod| pod.deletion == Deletion::Terminating) => {
                Use::Ending
            }
            Some(_) | None => Use::Used,
        }
    }

    /// Who acts next; nothing where it is not known. The attach/detach controller detaches what no pod uses, from a node
    /// that runs never before its kubelet has unmounted it.
    ///
    /// Kubernetes: `pkg/controller/volume/attachdetach/reconciler/reconciler.go`: a volume in `volumesInUse` is detached
    /// only by force, after 6 minutes and from a node that is not healthy, or from one that is out of service.
    pub(super) fn turn(&self) -> Option<Turn> {
        let may_run = matches!(self.state, HolderNode::Ready | HolderNode::NotReady);
        let has_failed =
            self.detach_error.is_some() && self.state != HolderNode::OutOfServiceButReady;
        if has_failed || (may_run && self.is_detaching()) {
            return Some(Turn::Driver);
        }
        let (used, mount) = (self.used(), self.mount);
        if may_run && (used, mount) == (Use::Unused, MountReport::NotInUse) {
            return Some(Turn::AttachDetachController);
        }
        match (self.state, used, mount) {
            (HolderNode::Gone | HolderNode::OutOfService, _, _) => {
                Some(Turn::AttachDetachController)
            }
            (HolderNode::Ready, Use::Unused, MountReport::Unknown) => None,
            (HolderNode::Ready, Use::Unused | Use::Ending, _) => Some(Turn::Kubelet),
            (HolderNode::Ready, Use::Used, _)
            | (
                HolderNode::NotReady | HolderNode::OutOfServiceButReady | HolderNode::Unknown,
                _,
                _,
            ) => Some(Turn::Administrator),
        }
    }

    pub(super) fn is_stuck(&self) -> bool {
        let is_torn = self.is_detaching() && self.mount == MountReport::InUse;
        self.detach_error.is_some() || is_torn || self.turn() == Some(Turn::Administrator)
    }

    /// Whether its VolumeAttachment is being deleted.
    pub(super) fn is_detaching(&self) -> bool {
        self.deletion == Deletion::Terminating
    }
}

impl HolderNode {
    fn of(node: &str, evidence: &AttachEvidence) -> Self {
        let Some(nodes) = &evidence.nodes else { return Self::Unknown };
        let found = nodes.iter().find(|one| *one.state.name == *node).map(|one| &one.state);
        match found {
            None => Self::Gone,
            Some(NodeState { is_out_of_service: true, is_ready: true, .. }) => {
                Self::OutOfServiceButReady
            }
            Some(NodeState { is_out_of_service: true, is_ready: false, .. }) => Self::OutOfService,
            Some(NodeState { is_ready: true, .. }) => Self::Ready,
            Some(NodeState { is_ready: false, .. }) => Self::NotReady,
        }
    }
}

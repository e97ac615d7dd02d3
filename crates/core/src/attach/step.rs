//! The next step for a volume on its way to a node.

use super::evidence::{AttachCollection, AttachEvidence};
use crate::model::{
    AccessMode, AccessModes, Backend, ClaimKey, CsiNode, Deletion, Pod, PodKey, RegisteredDriver,
    Volume, VolumeAttachment,
};

/// How far a volume is on its way to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttachStep {
    /// It is not of a CSI driver: what its kind of storage needs is not followed.
    NotCsi,
    /// It is not known, because this list is not complete.
    Unknown(AttachCollection),
    /// The driver is not registered on the node.
    NotRegistered,
    /// It is attached to another node, and its access modes admit one.
    HeldElsewhere(AttachmentHolder),
    /// It has no VolumeAttachment for the node yet.
    ToCreate,
    /// The VolumeAttachment of this name is not carried out yet.
    ToAttach(Box<str>),
    /// The driver failed to attach it.
    AttachFailed {
        /// The message of the last attempt.
        message: Box<str>,
        /// How many volumes of the driver the node can have, if it has more with this one.
        full: Option<u32>,
    },
    /// The VolumeAttachment of this name is being deleted: it is detached before it can be attached again.
    Detaching {
        /// The name of the VolumeAttachment.
        attachment: Box<str>,
        /// The message of the last attempt that failed.
        error: Option<Box<str>>,
    },
    /// It is attached, or its driver attaches nothing: the kubelet mounts it.
    ToMount,
    /// The kubelet failed to mount it, with this message.
    MountFailed(Box<str>),
}

/// What has a volume that is attached to another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentHolder {
    /// The name of its VolumeAttachment.
    pub attachment: Box<str>,
    /// The node.
    pub node: Box<str>,
    /// What is known of the node.
    pub state: HolderNode,
    /// The pods there that use the volume; absent where not all pods are known.
    pub pods: Option<Vec<PodKey>>,
    /// The message of the driver, which failed to detach it.
    pub detach_error: Option<Box<str>>,
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

/// Who is to act next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The attach/detach controller of kube-controller-manager.
    AttachDetachController,
    /// The external-attacher of the driver, or the driver itself.
    Driver,
    /// The kubelet of the node.
    Kubelet,
    /// A person.
    Administrator,
}

impl AttachStep {
    /// The same with what the kubelet last said of mounting the volume, which matters once it is the kubelet's turn.
    #[must_use]
    pub fn with_mount_error(self, message: Option<Box<str>>) -> Self {
        match (self, message) {
            (Self::NotCsi | Self::ToMount, Some(message)) => Self::MountFailed(message),
            (step, _) => step,
        }
    }

    /// Returns its stable name, for programs.
    pub fn label(&self) -> &'static str {
        match self {
            Self::NotCsi => "not_csi",
            Self::Unknown(_) => "unknown",
            Self::NotRegistered => "not_registered",
            Self::HeldElsewhere(_) => "held_elsewhere",
            Self::ToCreate => "to_create",
            Self::ToAttach(_) => "to_attach",
            Self::AttachFailed { .. } => "attach_failed",
            Self::Detaching { .. } => "detaching",
            Self::ToMount => "to_mount",
            Self::MountFailed(_) => "mount_failed",
        }
    }

    /// Returns who is to act next; nothing where it is not known.
    pub fn turn(&self) -> Option<Turn> {
        match self {
            Self::NotCsi | Self::ToMount | Self::MountFailed(_) => Some(Turn::Kubelet),
            Self::Unknown(_) => None,
            Self::NotRegistered => Some(Turn::Administrator),
            Self::HeldElsewhere(holder) => Some(holder.turn()),
            Self::ToCreate => Some(Turn::AttachDetachController),
            Self::ToAttach(_) | Self::AttachFailed { .. } | Self::Detaching { .. } => {
                Some(Turn::Driver)
            }
        }
    }

    /// Returns whether it does not go on by itself, or failed so far.
    pub fn is_stuck(&self) -> bool {
        match self {
            Self::NotRegistered
            | Self::AttachFailed { .. }
            | Self::MountFailed(_)
            | Self::Detaching { error: Some(_), .. } => true,
            Self::HeldElsewhere(holder) => holder.is_stuck(),
            Self::NotCsi
            | Self::Unknown(_)
            | Self::ToCreate
            | Self::ToAttach(_)
            | Self::Detaching { error: None, .. }
            | Self::ToMount => false,
        }
    }
}

impl AttachmentHolder {
    /// The attach/detach controller detaches what no pod uses; from a node that runs, after its kubelet has unmounted it.
    fn turn(&self) -> Turn {
        let is_used = self.pods.as_ref().is_none_or(|pods| !pods.is_empty());
        if self.detach_error.is_some() && self.state != HolderNode::OutOfServiceButReady {
            return Turn::Driver;
        }
        match self.state {
            HolderNode::Gone | HolderNode::OutOfService => Turn::AttachDetachController,
            HolderNode::Ready if !is_used => Turn::Kubelet,
            HolderNode::Ready
            | HolderNode::OutOfServiceButReady
            | HolderNode::NotReady
            | HolderNode::Unknown => Turn::Administrator,
        }
    }

    fn is_stuck(&self) -> bool {
        self.detach_error.is_some() || self.turn() == Turn::Administrator
    }
}

impl Turn {
    /// Returns its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AttachDetachController => "attach/detach controller",
            Self::Driver => "driver",
            Self::Kubelet => "kubelet",
            Self::Administrator => "administrator",
        }
    }
}

/// Returns how far `volume`, of `claim`, is on its way to the node of this name.
///
/// Kubernetes: `pkg/controller/volume/attachdetach/reconciler/reconciler.go` and `pkg/volume/csi`; the driver has to be
/// registered for its external-attacher to know the node.
pub fn attach_step(
    volume: &Volume,
    claim: &ClaimKey,
    node: &str,
    evidence: &AttachEvidence,
) -> AttachStep {
    let Backend::Csi(driver) = &volume.backend else { return AttachStep::NotCsi };
    let Some(drivers) = &evidence.drivers else {
        return AttachStep::Unknown(AttachCollection::Drivers);
    };
    let Some(csi_nodes) = &evidence.csi_nodes else {
        return AttachStep::Unknown(AttachCollection::CsiNodes);
    };
    let Some(attachments) = &evidence.attachments else {
        return AttachStep::Unknown(AttachCollection::Attachments);
    };
    let registered = csi_nodes.iter().find(|one| *one.name == *node);
    let is_registered = registered.is_some_and(|one| one.driver(driver).is_some());
    let of_driver = drivers.iter().find(|one| *one.name == **driver);
    // Kubernetes: `csi_plugin.go`, `skipAttach`: a driver without an object attaches.
    if of_driver.is_some_and(|one| !one.is_attach_required) {
        return if is_registered { AttachStep::ToMount } else { AttachStep::NotRegistered };
    }
    let of_volume = || attachments.iter().filter(|one| one.volume.as_ref() == Some(&volume.name));
    if let Some(own) = of_volume().find(|one| *one.node == *node) {
        let limit = registered.and_then(|one| one.driver(driver)?.volumes_max);
        let count = attached_count(attachments, driver, node);
        let full = limit.filter(|limit| count > *limit as usize);
        return if is_registered { of_attachment(own, full) } else { AttachStep::NotRegistered };
    }
    let other = of_volume().find(|_| !admits_many_nodes(&volume.access_modes));
    if let Some(other) = other {
        return AttachStep::HeldElsewhere(holder(other, claim, evidence));
    }
    if is_registered { AttachStep::ToCreate } else { AttachStep::NotRegistered }
}

/// How far the attachment of the volume to the node is; `full` is how many volumes the node can have, if it has more.
fn of_attachment(own: &VolumeAttachment, full: Option<u32>) -> AttachStep {
    if own.deletion == Deletion::Terminating {
        let (attachment, error) = (own.name.clone(), own.detach_error.clone());
        return AttachStep::Detaching { attachment, error };
    }
    match &own.attach_error {
        _ if own.is_attached => AttachStep::ToMount,
        Some(message) => AttachStep::AttachFailed { message: message.clone(), full },
        None => AttachStep::ToAttach(own.name.clone()),
    }
}

/// Kubernetes: `pkg/volume/util/util.go`, `IsMultiAttachAllowed`.
fn admits_many_nodes(modes: &AccessModes) -> bool {
    modes.count() == 0
        || modes.has(AccessMode::ReadWriteMany)
        || modes.has(AccessMode::ReadOnlyMany)
}

/// How many volumes of the driver the node has, those on their way there included. Only the scheduler enforces the limit; a
/// pod with `spec.nodeName` bypasses it.
///
/// Kubernetes: `pkg/scheduler/framework/plugins/nodevolumelimits/csi.go`.
fn attached_count(attachments: &[VolumeAttachment], driver: &str, node: &str) -> usize {
    attachments.iter().filter(|one| *one.driver == *driver && *one.node == *node).count()
}

fn holder(
    other: &VolumeAttachment,
    claim: &ClaimKey,
    evidence: &AttachEvidence,
) -> AttachmentHolder {
    let state = match &evidence.nodes {
        None => HolderNode::Unknown,
        Some(nodes) => match nodes.iter().find(|one| one.name == other.node) {
            None => HolderNode::Gone,
            Some(one) if one.is_out_of_service && one.is_ready => HolderNode::OutOfServiceButReady,
            Some(one) if one.is_out_of_service => HolderNode::OutOfService,
            Some(one) if one.is_ready => HolderNode::Ready,
            Some(_) => HolderNode::NotReady,
        },
    };
    let pods = evidence.pods.as_ref().map(|pods| {
        let there = |pod: &&Pod| pod.node.as_ref() == Some(&other.node);
        let using = pods.iter().filter(there).filter(|pod| pod.uses(claim));
        using.map(|pod| pod.key.clone()).collect()
    });
    AttachmentHolder {
        attachment: other.name.clone(),
        node: other.node.clone(),
        state,
        pods,
        detach_error: other.detach_error.clone(),
    }
}

impl CsiNode {
    /// The driver of this name, if it is registered.
    fn driver(&self, name: &str) -> Option<&RegisteredDriver> {
        self.drivers.iter().find(|one| *one.name == *name)
    }
}

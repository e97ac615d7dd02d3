//! The next step for a volume on its way to a node.

use super::evidence::{AttachCollection, AttachEvidence};
use super::holder::AttachmentHolder;
use super::node_status::{NodeStatusGap, is_recorded, mounted_elsewhere};
use super::turn::Turn;
use crate::model::{
    AccessMode, AccessModes, Backend, ClaimKey, CsiNode, Deletion, RegisteredDriver, Volume,
    VolumeAttachment,
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
    /// It is attached to another node, or still mounted there, and its access modes admit one.
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
    /// It is attached, and the status of the node does not say so yet: the kubelet does not mount it before.
    ToRecord,
    /// It is attached, and what the status of the node says of it is not known.
    RecordUnknown(NodeStatusGap),
    /// It is attached and recorded, or its driver attaches nothing: the kubelet mounts it.
    ToMount,
    /// The kubelet failed to mount it, with this message.
    MountFailed(Box<str>),
}

impl AttachStep {
    /// The same with what the kubelet last said of mounting the volume, which matters once it is the kubelet's turn.
    #[must_use]
    pub fn with_mount_error(self, message: Option<Box<str>>) -> Self {
        match (self, message) {
            (Self::NotCsi | Self::ToMount | Self::RecordUnknown(_), Some(message)) => {
                Self::MountFailed(message)
            }
            (step, _) => step,
        }
    }

    /// Returns its stable name, for programs.
    pub fn label(&self) -> &'static str {
        match self {
            Self::NotCsi => "not_csi",
            Self::Unknown(_) | Self::RecordUnknown(_) => "unknown",
            Self::NotRegistered => "not_registered",
            Self::HeldElsewhere(_) => "held_elsewhere",
            Self::ToCreate => "to_create",
            Self::ToAttach(_) => "to_attach",
            Self::AttachFailed { .. } => "attach_failed",
            Self::Detaching { .. } => "detaching",
            Self::ToRecord => "to_record",
            Self::ToMount => "to_mount",
            Self::MountFailed(_) => "mount_failed",
        }
    }

    /// Returns who is to act next; nothing where it is not known.
    pub fn turn(&self) -> Option<Turn> {
        match self {
            Self::NotCsi | Self::ToMount | Self::MountFailed(_) => Some(Turn::Kubelet),
            Self::Unknown(_) | Self::RecordUnknown(_) => None,
            Self::NotRegistered => Some(Turn::Administrator),
            Self::HeldElsewhere(holder) => holder.turn(),
            Self::ToCreate | Self::ToRecord => Some(Turn::AttachDetachController),
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
            | Self::RecordUnknown(_)
            | Self::ToCreate
            | Self::ToRecord
            | Self::ToAttach(_)
            | Self::Detaching { error: None, .. }
            | Self::ToMount => false,
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
        if !is_registered {
            return AttachStep::NotRegistered;
        }
        let limit = registered.and_then(|one| one.driver(driver)?.volumes_max);
        let count = attached_count(attachments, driver, node);
        let full = limit.filter(|limit| count > *limit as usize);
        return of_attachment(own, full, is_recorded(volume, node, evidence));
    }
    if let Some(holder) = holder(of_volume().next(), (volume, claim), node, evidence) {
        return AttachStep::HeldElsewhere(holder);
    }
    if is_registered { AttachStep::ToCreate } else { AttachStep::NotRegistered }
}

/// What has a volume that one node at a time can have, if that is another node: the one of `other`, its VolumeAttachment,
/// or one whose kubelet still has it mounted.
fn holder(
    other: Option<&VolumeAttachment>,
    of: (&Volume, &ClaimKey),
    node: &str,
    evidence: &AttachEvidence,
) -> Option<AttachmentHolder> {
    if admits_many_nodes(&of.0.access_modes) {
        return None;
    }
    let mounting = || {
        let node = mounted_elsewhere(of.0, node, evidence)?;
        Some(AttachmentHolder::mounting(node, of, evidence))
    };
    other.map(|other| AttachmentHolder::of(other, of, evidence)).or_else(mounting)
}

/// How far the attachment of the volume to the node is; `full` is how many volumes the node can have, if it has more.
fn of_attachment(
    own: &VolumeAttachment,
    full: Option<u32>,
    is_recorded: Result<bool, NodeStatusGap>,
) -> AttachStep {
    if own.deletion == Deletion::Terminating {
        let (attachment, error) = (own.name.clone(), own.detach_error.clone());
        return AttachStep::Detaching { attachment, error };
    }
    match (own.is_attached, &own.attach_error, is_recorded) {
        (true, _, Ok(true)) => AttachStep::ToMount,
        (true, _, Ok(false)) => AttachStep::ToRecord,
        (true, _, Err(gap)) => AttachStep::RecordUnknown(gap),
        (false, Some(message), _) => AttachStep::AttachFailed { message: message.clone(), full },
        (false, None, _) => AttachStep::ToAttach(own.name.clone()),
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

impl CsiNode {
    /// The driver of this name, if it is registered.
    fn driver(&self, name: &str) -> Option<&RegisteredDriver> {
        self.drivers.iter().find(|one| *one.name == *name)
    }
}

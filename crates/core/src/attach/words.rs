//! How far a volume is on its way to a node, in words: what is the case, whose turn it is, what to do. Not here: what is
//! said of another node that has it (`holder_words`).

use std::fmt;

use super::node_status::NodeStatusGap;
use super::step::AttachStep;
use crate::model::{Backend, Volume};

/// A volume, the node that it is on its way to, and how far it is.
#[derive(Clone, Copy, Debug)]
pub struct VolumeOnNode<'a> {
    /// The volume.
    pub volume: &'a Volume,
    /// The name of the node.
    pub node: &'a str,
    /// How far it is.
    pub step: &'a AttachStep,
}

impl VolumeOnNode<'_> {
    fn driver(&self) -> &str {
        match &self.volume.backend {
            Backend::Csi(driver) => driver,
            Backend::Nfs | Backend::HostPath | Backend::Local | Backend::Other => "",
        }
    }

    /// That it is attached, and that the status of the node does not say so, or that this is not known.
    fn unrecorded(&self, gap: Option<NodeStatusGap>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (volume, node) = (&self.volume.name, self.node);
        write!(f, "PV \"{volume}\" is attached to node \"{node}\"")?;
        match gap {
            None => f.write_str(
                ", but the node does not list it in status.volumesAttached yet; the attach/detach controller adds it, and \
                 the kubelet does not mount it before; if this takes minutes, check that kube-controller-manager runs and \
                 may update nodes/status",
            ),
            Some(gap) => write!(
                f,
                "; whether the node lists it in status.volumesAttached, without which its kubelet does not mount it, is \
                 not known: {gap}"
            ),
        }
    }
}

impl fmt::Display for VolumeOnNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (volume, node, driver) = (&self.volume.name, self.node, self.driver());
        match self.step {
            AttachStep::NotCsi => {
                write!(
                    f,
                    "PV \"{volume}\" has no CSI driver; the kubelet of node \"{node}\" mounts it"
                )
            }
            AttachStep::Unknown(collection) => write!(
                f,
                "whether PV \"{volume}\" is attached to node \"{node}\" is not known: not all {} are known",
                collection.label()
            ),
            AttachStep::NotRegistered => write!(
                f,
                "driver \"{driver}\" is not registered on node \"{node}\": its CSINode does not list it, so PV \
                 \"{volume}\" can be neither attached nor mounted there; check that the node plugin of the driver \
                 runs on that node"
            ),
            AttachStep::HeldElsewhere(holder) => {
                write!(f, "PV \"{volume}\" ({}) {holder}", self.volume.access_modes)
            }
            AttachStep::ToCreate => write!(
                f,
                "PV \"{volume}\" has no VolumeAttachment for node \"{node}\" yet; the attach/detach controller \
                 creates it; if it does not within a minute, check that kube-controller-manager runs"
            ),
            AttachStep::ToAttach(attachment) => write!(
                f,
                "PV \"{volume}\" is being attached to node \"{node}\" (VolumeAttachment \"{attachment}\"); if this \
                 takes minutes, check that the external-attacher of driver \"{driver}\" runs"
            ),
            AttachStep::AttachFailed { message, full: None } => write!(
                f,
                "driver \"{driver}\" cannot attach PV \"{volume}\" to node \"{node}\": {message}; it tries again; \
                 correct the cause, and leave the VolumeAttachment as it is"
            ),
            AttachStep::AttachFailed { message, full: Some(limit) } => write!(
                f,
                "driver \"{driver}\" cannot attach PV \"{volume}\" to node \"{node}\": {message}; the node can have \
                 {limit} volumes of that driver and has them; delete the pod and leave spec.nodeName out, so that \
                 the scheduler selects another node"
            ),
            AttachStep::Detaching { error: None, .. } => write!(
                f,
                "PV \"{volume}\" is being detached from node \"{node}\" and is attached again after that; wait"
            ),
            AttachStep::Detaching { error: Some(message), .. } => write!(
                f,
                "driver \"{driver}\" cannot detach PV \"{volume}\" from node \"{node}\": {message}; it tries again; \
                 correct the cause, and leave the VolumeAttachment and its finalizer as they are"
            ),
            AttachStep::ToRecord => self.unrecorded(None, f),
            AttachStep::RecordUnknown(gap) => self.unrecorded(Some(*gap), f),
            AttachStep::ToMount => {
                write!(
                    f,
                    "PV \"{volume}\" can be mounted on node \"{node}\", and its kubelet mounts it"
                )
            }
            AttachStep::MountFailed(message) => write!(
                f,
                "the kubelet of node \"{node}\" cannot mount PV \"{volume}\": {message}; it tries again; correct the \
                 cause"
            ),
        }
    }
}

impl fmt::Display for NodeStatusGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotRead => "the Node was not read",
            Self::NotReported => "the Node has no status that a kubelet reported",
            Self::NoHandle => "spec.csi.volumeHandle of the PV was not read",
        })
    }
}

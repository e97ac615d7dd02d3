//! Why a volume is not lost, in words.

use std::fmt;

use crate::disks::DiskLocation;

/// Why a volume is not known to be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeWaiting {
    /// A Node that is ready can reach it: all is well.
    Serves,
    /// Its Node is not ready.
    NotReady(Box<str>),
    /// Its Node is ready and out of service at the same time.
    ReadyOutOfService(Box<str>),
    /// Its Node was made again under its name: whether its disk is still there, the provisioner on it says.
    Rebuilt(Box<str>),
    /// The Node for which it was made exists, and has no longer the labels by which the volume is tied to it.
    Relabelled(Box<str>),
    /// A Node of another name has the machine that was recorded on the volume.
    Renamed(Box<str>),
    /// Its Node is there, and its disk is not.
    DiskMissing(Box<str>),
    /// Its disk was found at another place.
    DiskFound(DiskLocation),
    /// Its node affinity was not read, or admits no Node whatever its labels.
    AffinityUnknown,
    /// Its Node is gone, and may be made again.
    GoneShortly,
}

impl NodeWaiting {
    /// Returns a word for it, for metrics.
    pub(super) fn label(&self) -> &'static str {
        match self {
            Self::Serves => "node_serves",
            Self::NotReady(_) => "node_not_ready",
            Self::ReadyOutOfService(_) => "ready_out_of_service",
            Self::Rebuilt(_) => "node_rebuilt",
            Self::Relabelled(_) => "node_relabelled",
            Self::Renamed(_) => "node_renamed",
            Self::DiskMissing(_) => "disk_missing",
            Self::DiskFound(_) => "disk_found",
            Self::AffinityUnknown => "affinity_unknown",
            Self::GoneShortly => "node_gone_shortly",
        }
    }

    /// Returns the reason of the event about it, one word; absent where a person has nothing to do about it.
    pub(super) fn reason(&self) -> Option<&'static str> {
        Some(match self {
            Self::ReadyOutOfService(_) => "NodeReadyOutOfService",
            Self::Relabelled(_) => "NodeRelabelled",
            Self::Renamed(_) => "NodeRenamed",
            Self::DiskMissing(_) => "DiskMissing",
            Self::DiskFound(_) => "DiskMoved",
            Self::AffinityUnknown => "NodeAffinityUnknown",
            Self::Serves | Self::NotReady(_) | Self::Rebuilt(_) | Self::GoneShortly => return None,
        })
    }
}

impl fmt::Display for NodeWaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serves => f.write_str("its Node is ready"),
            Self::NotReady(node) => {
                write!(f, "Node {node:?} is not ready; it may come back with the disk")
            }
            Self::ReadyOutOfService(node) => write!(
                f,
                "Node {node:?} is ready and has the taint node.kubernetes.io/out-of-service, which states that its \
                 machine does not run; the PVC is not deleted while the two contradict each other; if the machine runs, \
                 remove the taint; if it is off, its Node becomes not ready within a minute"
            ),
            Self::Rebuilt(node) => write!(
                f,
                "Node {node:?} was created again after the PersistentVolume was; an event DiskReplaced reports if another \
                 disk is in the place of the former one"
            ),
            Self::Relabelled(node) => write!(
                f,
                "Node {node:?} exists and no longer has the labels that the PersistentVolume asks for; no pod with the \
                 PVC can start; give the Node its label kubernetes.io/hostname back"
            ),
            Self::Renamed(node) => write!(
                f,
                "Node {node:?} has the machine of the PersistentVolume under another name; the PVC waits for its former \
                 name; register the Node under its former name, or move the PersistentVolume: bindery local moves"
            ),
            Self::DiskMissing(node) => write!(
                f,
                "Node {node:?} is there, and the disk of the PVC is not; its pod cannot use its data; mount the disk; if it \
                 is lost and another replica has the data, run `bindery retain` for the PersistentVolume, then delete the \
                 PVC and its pod"
            ),
            Self::DiskFound(place) => write!(
                f,
                "the disk was found at {} on node {}; the PVC waits for it; move the PersistentVolume: bindery local moves",
                place.path, place.node
            ),
            Self::AffinityUnknown => f.write_str(
                "which Nodes can reach the PersistentVolume is not known; its PVC is not deleted if its node is lost; give \
                 it a node affinity with the label kubernetes.io/hostname",
            ),
            Self::GoneShortly => {
                f.write_str("its Node has just been deleted, and may be created again")
            }
        }
    }
}

//! What the volume of a node waits for, in words.

use std::fmt;

use super::evidence::NodeLossKind;
use crate::model::VolumePhase;

/// Why nothing is done about a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CleanupWaiting {
    /// A Node that is ready can reach it: all is well.
    NodeServes,
    /// Its Node is not ready.
    NodeNotReady(Box<str>),
    /// Its Node is ready and out of service at the same time.
    ReadyOutOfService(Box<str>),
    /// Its Node was made again under its name: whether its disk is still there, the provisioner on it says.
    NodeRebuilt(Box<str>),
    /// The Node for which it was made exists, and has no longer the labels by which the volume is tied to it.
    NodeRelabelled(Box<str>),
    /// Its node affinity was not read, or admits no Node whatever its labels.
    AffinityUnknown,
    /// Its Node is gone, and may be made again.
    NodeGoneShortly,
    /// Its node is lost, and the StorageClass says that its claim waits.
    NodeLost(NodeLossKind),
    /// Its claim is gone; its phase will follow.
    ClaimGone,
    /// Its claim names another volume.
    ClaimElsewhere,
    /// Its claim is being deleted.
    ClaimTerminating,
    /// No StatefulSet would make its claim again.
    NoStatefulSet(NodeLossKind),
    /// The pod of its claim has a node, or is gone or going.
    PodNotWaiting(Box<str>),
    /// This pod of the same StatefulSet is not ready.
    OtherReplica(Box<str>),
    /// No claim has it, and it stays.
    VolumeKept,
    /// It is being deleted.
    VolumeTerminating,
    /// Nothing is to be done in this phase.
    Phase(VolumePhase),
}

impl CleanupWaiting {
    /// Returns a word for it, for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Self::NodeServes => "node_serves",
            Self::NodeNotReady(_) => "node_not_ready",
            Self::ReadyOutOfService(_) => "ready_out_of_service",
            Self::NodeRebuilt(_) => "node_rebuilt",
            Self::NodeRelabelled(_) => "node_relabelled",
            Self::AffinityUnknown => "affinity_unknown",
            Self::NodeGoneShortly => "node_gone_shortly",
            Self::NodeLost(_) => "node_lost",
            Self::ClaimGone => "claim_gone",
            Self::ClaimElsewhere => "claim_elsewhere",
            Self::ClaimTerminating => "claim_terminating",
            Self::NoStatefulSet(_) => "no_stateful_set",
            Self::PodNotWaiting(_) => "pod_not_waiting",
            Self::OtherReplica(_) => "other_replica",
            Self::VolumeKept => "volume_kept",
            Self::VolumeTerminating => "volume_terminating",
            Self::Phase(_) => "other_phase",
        }
    }

    /// Returns the reason of the event about it, one word; absent where a person has nothing to do or to know about it.
    pub fn reason(&self) -> Option<&'static str> {
        Some(match self {
            Self::NodeLost(_) | Self::NoStatefulSet(_) => "NodeLost",
            Self::ReadyOutOfService(_) => "NodeReadyOutOfService",
            Self::NodeRelabelled(_) => "NodeRelabelled",
            Self::OtherReplica(_) => "OtherReplicaNotReady",
            Self::NodeServes
            | Self::NodeNotReady(_)
            | Self::NodeRebuilt(_)
            | Self::AffinityUnknown
            | Self::NodeGoneShortly
            | Self::ClaimGone
            | Self::ClaimElsewhere
            | Self::ClaimTerminating
            | Self::PodNotWaiting(_)
            | Self::VolumeKept
            | Self::VolumeTerminating
            | Self::Phase(_) => return None,
        })
    }
}

impl fmt::Display for CleanupWaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeServes => f.write_str("its Node is ready"),
            Self::NodeNotReady(node) => {
                write!(f, "Node {node:?} is not ready; it may come back with the disk")
            }
            Self::ReadyOutOfService(node) => write!(
                f,
                "Node {node:?} is ready and has the taint node.kubernetes.io/out-of-service, which states that its \
                 machine does not run; the PVC is not deleted while the two contradict each other; remove the taint"
            ),
            Self::NodeRebuilt(node) => write!(
                f,
                "Node {node:?} was created again after the PersistentVolume was; an event DiskReplaced reports if another \
                 disk is in the place of the former one"
            ),
            Self::NodeRelabelled(node) => write!(
                f,
                "Node {node:?} exists and no longer has the labels that the PersistentVolume asks for; no pod with the \
                 PVC can start; give the Node its label kubernetes.io/hostname back"
            ),
            Self::AffinityUnknown => {
                f.write_str("which Nodes can reach the PersistentVolume is not known")
            }
            Self::NodeGoneShortly => {
                f.write_str("its Node has just been deleted, and may be created again")
            }
            Self::NodeLost(kind) => write!(
                f,
                "{kind}; the pod of the PVC cannot start until the node is back with the disk; if it will not come back, \
                 set the reclaim policy of the PersistentVolume to Retain, then delete the PVC and its pod"
            ),
            Self::ClaimGone => f.write_str("its PVC is gone"),
            Self::ClaimElsewhere => f.write_str("its PVC names another PersistentVolume"),
            Self::ClaimTerminating => f.write_str("its PVC is being deleted"),
            Self::NoStatefulSet(kind) => write!(
                f,
                "{kind}, and no StatefulSet would create the PVC again; it is not deleted, as its pod would wait for it \
                 for ever; if the node will not come back, set the reclaim policy of the PersistentVolume to Retain, \
                 delete the PVC and create it again"
            ),
            Self::PodNotWaiting(pod) => write!(f, "pod {pod:?} does not wait for a node"),
            Self::OtherReplica(pod) => write!(
                f,
                "pod {pod:?} of the same StatefulSet is not ready; the PVC of another replica is deleted once it is, so \
                 that the data is copied from one replica to the next; see why {pod:?} is not ready"
            ),
            Self::VolumeKept => f.write_str("no PVC has the PersistentVolume, and it stays"),
            Self::VolumeTerminating => f.write_str("the PersistentVolume is being deleted"),
            Self::Phase(phase) => write!(f, "the phase of the PersistentVolume is {phase}"),
        }
    }
}

impl fmt::Display for NodeLossKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "the Node with the disk of the PVC was deleted",
            Self::OutOfService => "the Node with the disk of the PVC is out of service",
        })
    }
}

//! What the volume of a node waits for, in words.

use std::fmt;

use super::evidence::NodeLossKind;
use super::node_waiting::NodeWaiting;
use crate::model::VolumePhase;

/// Why nothing is done about a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CleanupWaiting {
    /// It is not known to be lost.
    Node(NodeWaiting),
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
    /// Its StatefulSet has more replicas than are read.
    TooManyReplicas,
    /// This pod of the same StatefulSet has a lower number and waits for a lost volume too.
    LowerReplicaFirst(Box<str>),
    /// No other pod of the same StatefulSet is ready, so that none has the data.
    NoOtherReady,
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
            Self::Node(waiting) => waiting.label(),
            Self::NodeLost(_) => "node_lost",
            Self::ClaimGone => "claim_gone",
            Self::ClaimElsewhere => "claim_elsewhere",
            Self::ClaimTerminating => "claim_terminating",
            Self::NoStatefulSet(_) => "no_stateful_set",
            Self::PodNotWaiting(_) => "pod_not_waiting",
            Self::TooManyReplicas => "too_many_replicas",
            Self::LowerReplicaFirst(_) => "lower_replica_first",
            Self::NoOtherReady => "no_other_ready",
            Self::OtherReplica(_) => "other_replica",
            Self::VolumeKept => "volume_kept",
            Self::VolumeTerminating => "volume_terminating",
            Self::Phase(_) => "other_phase",
        }
    }

    /// Returns the reason of the event about it, one word; absent where a person has nothing to do or to know about it.
    pub fn reason(&self) -> Option<&'static str> {
        Some(match self {
            Self::Node(waiting) => return waiting.reason(),
            Self::NodeLost(_) | Self::NoStatefulSet(_) => "NodeLost",
            Self::PodNotWaiting(_) => "PodNotWaiting",
            Self::TooManyReplicas | Self::OtherReplica(_) => "OtherReplicaNotReady",
            Self::NoOtherReady => "NoOtherReplicaReady",
            Self::VolumeTerminating => "VolumeTerminating",
            Self::ClaimGone
            | Self::ClaimElsewhere
            | Self::ClaimTerminating
            | Self::LowerReplicaFirst(_)
            | Self::VolumeKept
            | Self::Phase(_) => return None,
        })
    }
}

impl fmt::Display for CleanupWaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(waiting) => waiting.fmt(f),
            Self::NodeLost(kind) => write!(
                f,
                "{kind}; the pod of the PVC cannot start until the node is back with the disk; if it will not come back, \
                 and another replica has the data, run `bindery retain` for the PersistentVolume, then delete the PVC and \
                 its pod, one replica at a time"
            ),
            Self::ClaimGone => f.write_str("its PVC is gone"),
            Self::ClaimElsewhere => f.write_str("its PVC names another PersistentVolume"),
            Self::ClaimTerminating => f.write_str("its PVC is being deleted"),
            Self::NoStatefulSet(kind) => write!(
                f,
                "{kind}, and no StatefulSet would create the PVC again; it is not deleted, as a pod that needs it would \
                 wait for ever; if the node will not come back, run `bindery retain` for the PersistentVolume, delete the \
                 PVC, and create it again if a pod needs it"
            ),
            Self::PodNotWaiting(pod) => write!(
                f,
                "the node of the PVC is lost, and pod {pod:?} has a node, is being deleted or does not exist; the PVC is \
                 deleted once the pod waits for a node; see why it does not"
            ),
            Self::TooManyReplicas => f.write_str(
                "the StatefulSet has more than 1,000 replicas, and whether they are ready is not read; delete the PVC of \
                 the lost node yourself once the others are ready",
            ),
            Self::LowerReplicaFirst(pod) => {
                write!(f, "pod {pod:?} of the same StatefulSet waits for a lost disk too, and comes first")
            }
            Self::NoOtherReady => f.write_str(
                "the node of the PVC is lost, and no other replica of the StatefulSet is ready; with a new disk the \
                 application would start without its data; wait for the nodes, or delete the PVC if that is what you want",
            ),
            Self::OtherReplica(pod) => write!(
                f,
                "the node of the PVC is lost, and pod {pod:?} of the same StatefulSet is not ready; the PVC is deleted \
                 once it is, so that one replica at a time copies its data; see why {pod:?} is not ready"
            ),
            Self::VolumeKept => f.write_str("no PVC has the PersistentVolume, and it stays"),
            Self::VolumeTerminating => f.write_str(
                "the PersistentVolume is being deleted and cannot be kept; its PVC is not deleted, as the PersistentVolume \
                 would be deleted with it; if its data is not needed, delete the PVC",
            ),
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

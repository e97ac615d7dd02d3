//! What a decision about the volume of a lost node depends on.

use crate::model::{Deletion, ResourceVersion, Uid, VolumeName};

/// What becomes of the claims of a StorageClass when the node of their disks is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnNodeLoss {
    /// They wait for their node.
    #[default]
    Wait,
    /// They are deleted, so that their `StatefulSet` makes them again on another disk. The volumes stay, with the reclaim
    /// policy Retain: their disks may come back.
    Keep,
    /// They are deleted, and the volumes with them. A disk that comes back is held or cleaned, as after any volume that was
    /// deleted by hand.
    Release,
}

/// A Node that the node affinity of a volume admits, or for which the volume was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOfVolume {
    /// Its name.
    pub name: Box<str>,
    /// Its uid.
    pub uid: Uid,
    /// Whether the node affinity admits it.
    pub is_admitted: bool,
    /// Whether its kubelet reports that it is ready.
    pub is_ready: bool,
    /// Whether it has the taint `node.kubernetes.io/out-of-service`.
    pub is_out_of_service: bool,
}

/// How a volume is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeLossKind {
    /// No Node has the host name to which the volume is tied.
    Gone,
    /// The Node is not ready, and a person or a program has stated that its machine does not run.
    OutOfService,
}

/// The claim that a volume names, by its uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CleanupClaim {
    /// It was not read.
    Unread,
    /// A live read proved that it is gone, or that its name is another claim's.
    Gone,
    /// It exists.
    Present {
        /// Its uid.
        uid: Uid,
        /// Its resourceVersion.
        version: ResourceVersion,
        /// `spec.volumeName`.
        volume: Option<VolumeName>,
        /// Whether it is being deleted.
        deletion: Deletion,
    },
}

/// The pods for which a claim would be made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CleanupReplicas {
    /// They were not read.
    Unread,
    /// No StatefulSet would make the claim again.
    NoStatefulSet,
    /// One would.
    Of(StatefulSetReplicas),
}

/// The replicas of a StatefulSet, as far as a claim of one of them is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatefulSetReplicas {
    /// The name of the StatefulSet.
    pub name: Box<str>,
    /// The replica whose claim it is.
    pub own: Replica,
    /// All others.
    pub others: Vec<Replica>,
}

/// A replica of a StatefulSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// The name of its pod.
    pub pod: Box<str>,
    /// What became of the pod.
    pub state: PodState,
    /// Whether one of its claims is on a volume that is lost, and none is missing or being deleted.
    pub has_lost_volume: bool,
}

/// What became of the pod of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodState {
    /// There is none.
    Absent,
    /// It is being deleted.
    Terminating,
    /// It has no node.
    Unscheduled,
    /// It has a node, and is not ready.
    NotReady,
    /// It is ready.
    Ready,
}

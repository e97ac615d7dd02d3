//! What a decision about the volume of a lost node depends on.

use crate::model::{Deletion, ResourceVersion, Uid, VolumeName};

/// What becomes of the claims of a StorageClass when the node of their disks is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnNodeLoss {
    /// They wait for their node.
    #[default]
    Wait,
    /// They are deleted while another replica of their `StatefulSet` is ready, which makes them again on another disk and
    /// copies its data. The volumes stay, with the reclaim policy Retain: their disks may come back.
    Keep,
    /// They are deleted, whether another replica has their data or not, and the volumes with them. A disk that comes back is held or cleaned, as after any volume that was
    /// deleted by hand.
    Release,
}

/// How a Node is tied to a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeTie {
    /// The node affinity of the volume admits it.
    Admitted,
    /// The volume was made for it, or its name is the host name that the volume asks for. The affinity does not admit it.
    Named,
    /// Its provisioner has found the disk of the volume. The affinity does not admit it.
    Found,
    /// Its machine has the machine-id that was recorded on the volume. The affinity does not admit it.
    SameMachine,
}

/// A Node that is tied to a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOfVolume {
    /// Its name.
    pub name: Box<str>,
    /// Its uid.
    pub uid: Uid,
    /// How it is tied to the volume.
    pub tie: NodeTie,
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
    /// One would that has more replicas than are read.
    TooMany,
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
    /// The others, in the order of their numbers: all of them, or those up to the first that
    /// [holds up](super::holds_up) the claim.
    pub others: Vec<Replica>,
    /// Whether a pod is made before those before it are ready: `podManagementPolicy: Parallel`.
    pub is_parallel: bool,
}

/// A replica of a StatefulSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Its number.
    pub number: u32,
    /// The name of its pod.
    pub pod: Box<str>,
    /// What became of the pod.
    pub state: PodState,
    /// Whether one of its claims is on a volume that is lost, and none is missing, being deleted, without a volume, or on
    /// a local volume that is not lost.
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

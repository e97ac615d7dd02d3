//! Why a pod cannot come back after the loss of its node, or a claim is left without one.
//!
//! A text says what is the case, what follows and what to do.

use std::fmt;

use crate::model::{ClaimKey, ClassName, PodKey, VolumeName};

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeLossReason {
    /// It is about the volume of a bound claim.
    Volume {
        /// The claim.
        claim: ClaimKey,
        /// Its volume.
        volume: VolumeName,
        /// What is the matter.
        problem: VolumeProblem,
    },
    /// It is about a claim that has no volume.
    Claim {
        /// The claim.
        claim: ClaimKey,
        /// What is the matter.
        problem: ClaimProblem,
    },
    /// Each claim could be served on some node that is left, and all of them on none.
    VolumesApart {
        /// The claims of the pod.
        claims: Vec<ClaimKey>,
    },
    /// Nodes are left that serve all claims, but the pod's own `nodeSelector` and required node affinity admit none.
    PodSelector {
        /// Those nodes.
        nodes: NodeNames,
    },
    /// Nodes are left that take the pod, and none of them can attach its volumes beside those of the pods there.
    AttachLimit {
        /// The drivers whose limit is reached.
        drivers: Vec<Box<str>>,
        /// Those nodes.
        nodes: NodeNames,
    },
    /// Nodes are left that take the pod; how many volumes they can attach is not known.
    AttachLimitsNotKnown,
    /// Nodes are left that take the pod if drivers have the capacity for its volumes, which is not known.
    CapacityNotKnown,
}

/// What is the matter with the volume of a bound claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeProblem {
    /// Only these nodes, which are gone, reach it.
    Gone(NodeNames),
    /// Of the nodes that are left, only these reach it, and they are cordoned.
    Cordoned(NodeNames),
    /// No node reached it before.
    Unreachable,
    /// It does not exist.
    Missing,
    /// The input lacks it, and does not prove that it does not exist.
    NotKnown,
    /// Its node affinity has more terms than are read.
    AffinityNotKnown,
    /// It is a folder of whichever node its pod runs on: where its data is is not known.
    FolderOfAnyNode,
}

/// What is the matter with a claim that has no volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimProblem {
    /// It gets its volume with the node of its pod; no node that is left reaches a free one, and the class has no
    /// provisioner.
    NoFreeVolume(ClassName),
    /// The same; the class has a provisioner, but not for the nodes that are left.
    NoTopology(ClassName),
    /// The same; the driver has no `CSIStorageCapacity` with room for it on the nodes that are left.
    NoCapacity(ClassName),
    /// Its class does not wait for a pod: which nodes will reach its volume is not known.
    NotBound,
    /// Its provisioner was asked for a volume on this node, which takes no pod any more.
    SelectedNode(Box<str>),
    /// It admits one pod, and this one, which stays, uses it.
    InUse(PodKey),
    /// Its class is not known, or has more topologies than are read.
    ClassNotKnown(ClassName),
    /// It does not exist.
    Missing,
    /// The input lacks it, and does not prove that it does not exist.
    NotKnown,
}

impl NodeLossReason {
    /// Stable name for programs.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Volume { problem, .. } => problem.label(),
            Self::Claim { problem, .. } => problem.label(),
            Self::VolumesApart { .. } => "volumes_apart",
            Self::PodSelector { .. } => "pod_selector",
            Self::AttachLimit { .. } => "attach_limit",
            Self::AttachLimitsNotKnown => "attach_limits_not_known",
            Self::CapacityNotKnown => "capacity_not_known",
        }
    }

    /// Returns whether it says that the answer is not known, rather than that it is no.
    pub fn is_unknown(&self) -> bool {
        match self {
            Self::Volume { problem, .. } => problem.is_unknown(),
            Self::Claim { problem, .. } => problem.is_unknown(),
            Self::VolumesApart { .. } | Self::PodSelector { .. } | Self::AttachLimit { .. } => {
                false
            }
            Self::AttachLimitsNotKnown | Self::CapacityNotKnown => true,
        }
    }

    /// Returns the claim that it is about; none if it is about all claims of a pod.
    pub fn claim(&self) -> Option<&ClaimKey> {
        match self {
            Self::Volume { claim, .. } | Self::Claim { claim, .. } => Some(claim),
            Self::VolumesApart { .. }
            | Self::PodSelector { .. }
            | Self::AttachLimit { .. }
            | Self::AttachLimitsNotKnown
            | Self::CapacityNotKnown => None,
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            Self::Volume { problem, .. } => problem.advice(),
            Self::Claim { problem, .. } => problem.advice(),
            Self::VolumesApart { .. } => {
                "keep a Node that reaches all of them, or copy their data to PVs of one Node first"
            }
            Self::PodSelector { .. } => {
                "label one of these Nodes as the pod asks, or change what the pod asks"
            }
            Self::AttachLimit { .. } => {
                "add a Node, or delete a pod there that uses a PV of that driver and can run elsewhere"
            }
            Self::AttachLimitsNotKnown => "make a dump with CSINodes, then ask again",
            Self::CapacityNotKnown => {
                "make a dump with CSIDrivers and CSIStorageCapacities, then ask again"
            }
        }
    }
}

impl VolumeProblem {
    fn label(&self) -> &'static str {
        match self {
            Self::Gone(_) => "volume_gone",
            Self::Cordoned(_) => "volume_cordoned",
            Self::Unreachable => "volume_unreachable",
            Self::Missing => "volume_missing",
            Self::NotKnown => "volume_not_known",
            Self::AffinityNotKnown => "affinity_not_known",
            Self::FolderOfAnyNode => "folder_of_any_node",
        }
    }

    fn is_unknown(&self) -> bool {
        match self {
            Self::Gone(_) | Self::Cordoned(_) | Self::Unreachable | Self::Missing => false,
            Self::NotKnown | Self::AffinityNotKnown | Self::FolderOfAnyNode => true,
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            Self::Gone(_) => "copy the data to a PV that another Node reaches first",
            Self::Cordoned(_) => {
                "uncordon the Node when its maintenance ends, or copy the data to a PV that another Node reaches first"
            }
            Self::Unreachable | Self::AffinityNotKnown => {
                "compare spec.nodeAffinity and the zone labels of the PV with the labels of the Nodes"
            }
            Self::Missing => "restore the PV from a backup",
            Self::NotKnown => "make a complete dump, then ask again",
            Self::FolderOfAnyNode => {
                "copy its data from the Node that has it, or set spec.nodeAffinity of the PV to that Node"
            }
        }
    }
}

impl ClaimProblem {
    fn label(&self) -> &'static str {
        match self {
            Self::NoFreeVolume(_) => "no_free_volume",
            Self::NoTopology(_) => "no_topology",
            Self::NoCapacity(_) => "no_capacity",
            Self::NotBound => "not_bound",
            Self::SelectedNode(_) => "selected_node",
            Self::InUse(_) => "claim_in_use",
            Self::ClassNotKnown(_) => "class_not_known",
            Self::Missing => "claim_missing",
            Self::NotKnown => "claim_not_known",
        }
    }

    fn is_unknown(&self) -> bool {
        match self {
            Self::NoFreeVolume(_)
            | Self::NoTopology(_)
            | Self::NoCapacity(_)
            | Self::InUse(_)
            | Self::Missing => false,
            Self::NotBound | Self::SelectedNode(_) | Self::ClassNotKnown(_) | Self::NotKnown => {
                true
            }
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            Self::NoFreeVolume(_) => "create a PV that a remaining Node reaches",
            Self::NoTopology(_) => {
                "create the PVC with a StorageClass whose allowedTopologies admit a remaining Node"
            }
            Self::NoCapacity(_) => "add storage to the pool of the driver, or request less",
            Self::NotBound => {
                "wait until it is Bound (bindery explain shows what it needs), then ask again"
            }
            Self::SelectedNode(_) => "wait until it is Bound, then ask again",
            Self::InUse(_) => "delete that pod first, or give this one a PVC of its own",
            Self::ClassNotKnown(_) | Self::NotKnown => "make a complete dump, then ask again",
            Self::Missing => "create the PVC",
        }
    }
}

impl fmt::Display for NodeLossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Volume { claim, volume, problem } => {
                write!(f, "PV \"{volume}\" of PVC \"{claim}\" {problem}")?;
            }
            Self::Claim { claim, problem } => write!(f, "PVC \"{claim}\" {problem}")?,
            Self::VolumesApart { claims } => {
                f.write_str("no remaining Node reaches the PVs of all PVCs at once: ")?;
                quoted(f, claims)?;
            }
            Self::PodSelector { nodes } => write!(
                f,
                "nodeSelector and required node affinity of the pod admit no remaining Node that reaches its PVs, not {nodes}"
            )?,
            Self::AttachLimit { drivers, nodes } => {
                f.write_str("the attach limit of driver ")?;
                quoted(f, drivers)?;
                write!(f, " leaves no room for the PVs of the pod on {nodes}, and no other remaining Node takes it")?;
            }
            Self::AttachLimitsNotKnown => f.write_str(
                "how many PVs the remaining Nodes can still attach is not known: the input does not hold all CSINodes",
            )?,
            Self::CapacityNotKnown => f.write_str(
                "whether drivers have room for the PVs of the pod on the remaining Nodes is not known: the input does not \
                 hold all CSIDrivers and CSIStorageCapacities",
            )?,
        }
        let follows = match (self.claim(), self.is_unknown()) {
            (None, false) => "the pod stays Pending",
            (None, true) => "the pod may stay Pending",
            (Some(_), false) => "a pod that uses the PVC stays Pending",
            (Some(_), true) => "a pod that uses the PVC may stay Pending",
        };
        write!(f, "; {follows}; {}", self.advice())
    }
}

/// Follows the name of the volume.
impl fmt::Display for VolumeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(nodes) => {
                write!(f, "is reachable only from {nodes}, which {} gone", nodes.verb())
            },
            Self::Cordoned(nodes) => write!(
                f,
                "is reachable from no other remaining Node than {nodes}, which {} cordoned",
                nodes.verb()
            ),
            Self::Unreachable => f.write_str("is reachable from no Node at all"),
            Self::Missing => f.write_str("does not exist"),
            Self::NotKnown => f.write_str("is not known: the input does not hold it"),
            Self::AffinityNotKnown => {
                f.write_str("is reachable from Nodes that are not known: its nodeAffinity is longer than is read")
            }
            Self::FolderOfAnyNode => f.write_str(
                "is a hostPath folder of whichever Node the pod runs on: which Node has its data is not known",
            ),
        }
    }
}

/// Follows the name of the claim.
impl fmt::Display for ClaimProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFreeVolume(class) => write!(
                f,
                "is not bound: no remaining Node reaches a free PV for it, and StorageClass \"{class}\" has no provisioner"
            ),
            Self::NoTopology(class) => write!(
                f,
                "is not bound: no remaining Node reaches a free PV for it, and allowedTopologies of StorageClass \
                 \"{class}\" admit none of them"
            ),
            Self::NoCapacity(class) => write!(
                f,
                "is not bound: no remaining Node reaches a free PV for it, and no CSIStorageCapacity of StorageClass \"{class}\" \
                 has room for it there"
            ),
            Self::NotBound => f.write_str(
                "is not bound and does not wait for a pod: which Nodes will reach its PV is not known",
            ),
            Self::SelectedNode(node) => write!(
                f,
                "waits for a PV on Node \"{node}\": whether its provisioner takes another Node is not known"
            ),
            Self::InUse(pod) => write!(
                f,
                "has access mode ReadWriteOncePod, and pod \"{pod}\", which stays on its Node, uses it"
            ),
            Self::ClassNotKnown(class) => write!(
                f,
                "is not bound, and its StorageClass \"{class}\" is not known: the input does not hold it whole"
            ),
            Self::Missing => f.write_str("does not exist"),
            Self::NotKnown => f.write_str("is not known: the input does not hold it"),
        }
    }
}

/// Names of nodes, in the order of the nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeNames(pub Vec<Box<str>>);

/// So many names are written out.
const NAMES_MAX: usize = 3;

impl NodeNames {
    fn verb(&self) -> &'static str {
        if self.0.len() == 1 { "is" } else { "are" }
    }
}

impl fmt::Display for NodeNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.len() == 1 { "Node " } else { "Nodes " })?;
        quoted(f, &self.0)
    }
}

/// The first names in quotation marks, and how many more there are.
fn quoted<T: fmt::Display>(f: &mut fmt::Formatter<'_>, names: &[T]) -> fmt::Result {
    for (place, name) in names.iter().take(NAMES_MAX).enumerate() {
        let separator = if place == 0 { "" } else { ", " };
        write!(f, "{separator}\"{name}\"")?;
    }
    match names.len().saturating_sub(NAMES_MAX) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}

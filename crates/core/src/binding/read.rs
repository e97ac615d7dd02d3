//! Live reads that a decision asks for, and their results.
//!
//! Not here: who sends them (`client`), and what a decision concludes from a result (`evidence`).

use std::fmt;
use std::sync::Arc;

use arcstr::ArcStr;

use crate::model::{ClaimKey, ClassName, NodeTerm, Owner, VolumeName};

/// One live read that would settle a question.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Read {
    /// GET of a claim.
    Claim(ClaimKey),
    /// GET of a volume.
    Volume(VolumeName),
    /// GET of a class.
    Class(ClassName),
    /// LIST of the pods in the claim's namespace, for whether one that has a node uses it.
    PodsUsing(ClaimKey),
    /// LIST of the pods in the claim's namespace, for those that use it and have not finished.
    LivePods(ClaimKey),
    /// GET of a node.
    Node(Box<str>),
    /// GET of a node, for whether its machine runs.
    NodeState(Box<str>),
    /// LIST of nodes, for whether there is one that this term admits.
    AnyNode(NodeTerm),
    /// GET of a namespace.
    Namespace(ArcStr),
    /// GET of an owner, of an object in this namespace.
    Owner(ArcStr, Owner),
    /// LIST of the classes, for the one that claims without a class get.
    DefaultClass,
    /// GET of a Lease in this namespace.
    Lease(ArcStr, Box<str>),
}

/// What is read, as a message names it.
impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim(key) => write!(f, "PVC \"{key}\""),
            Self::Volume(name) => write!(f, "PV \"{name}\""),
            Self::Class(name) => write!(f, "StorageClass \"{name}\""),
            Self::PodsUsing(key) | Self::LivePods(key) => {
                write!(f, "the pods of Namespace \"{}\"", key.namespace)
            }
            Self::Node(name) | Self::NodeState(name) => write!(f, "Node \"{name}\""),
            Self::AnyNode(_) => f.write_str("the Nodes"),
            Self::Namespace(name) => write!(f, "Namespace \"{name}\""),
            Self::Owner(_, owner) => owner.fmt(f),
            Self::DefaultClass => f.write_str("the StorageClasses"),
            Self::Lease(namespace, name) => write!(f, "Lease \"{namespace}/{name}\""),
        }
    }
}

/// What became of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerState {
    /// It lives.
    Alive,
    /// Another object has its name.
    Replaced,
    /// We may not see it.
    Hidden,
}

/// Whether pods use a claim.
///
/// Kubernetes: `pvc_protection_controller.go`: a pod counts once it has a node, and until its
/// object is gone, finished or not; a claim made for a pod's own volume counts for that pod only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodUse {
    /// No pod uses it.
    Unused,
    /// A pod does.
    Used,
}

/// The outcome of one live read.
#[derive(Clone, Debug)]
pub enum ReadResult<T> {
    /// The object as it is.
    Found(Arc<T>),
    /// It does not exist.
    NotFound,
    /// It exists and cannot be read: nothing is known of it, and asking again will not help.
    Unreadable,
    /// The read failed or took too long: nothing is known.
    Failed,
}

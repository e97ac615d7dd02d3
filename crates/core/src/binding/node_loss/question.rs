//! The question that is asked about nodes, and the form of its answer.

use std::collections::BTreeSet;

use super::super::collections::ListedCollections;
use super::super::view::View;
use super::reason::NodeLossReason;
use crate::model::{
    ClaimKey, CsiDriver, CsiNode, Host, PlacedPod, PodKey, StorageCapacity, VolumeName,
};

/// The question: these nodes go, or are drained, in a cluster of these objects.
#[derive(Clone, Copy, Debug)]
pub struct NodeLoss<'a> {
    /// All nodes of the cluster, also those that go.
    pub hosts: &'a [Host],
    /// The names of the nodes that go, with all that is local to them.
    pub gone: &'a BTreeSet<Box<str>>,
    /// The names of the nodes that stay and take no pod.
    pub drained: &'a BTreeSet<Box<str>>,
    /// The pods that have not finished; of those on other nodes counts what they use.
    pub pods: &'a [PlacedPod],
    /// Volumes, claims and classes.
    pub view: &'a View,
    /// Which of them are all in the view.
    pub listed: &'a ListedCollections,
    /// What is known of CSI drivers.
    pub drivers: &'a DriverEvidence,
}

/// What drivers say of nodes and of their storage. Each list is complete, or absent where not all objects are known.
#[derive(Clone, Debug, Default)]
pub struct DriverEvidence {
    /// Every CSINode.
    pub csi_nodes: Option<Vec<CsiNode>>,
    /// Every CSIDriver.
    pub drivers: Option<Vec<CsiDriver>>,
    /// Every `CSIStorageCapacity`.
    pub capacities: Option<Vec<StorageCapacity>>,
}

/// The answer, in the order of namespaces and names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeLossOutcome {
    /// The pods with claims that run on a node that goes or is drained; not those of a `DaemonSet`, and no mirror pods.
    pub pods: Vec<DisplacedPod>,
    /// The bound claims whose volume only such nodes reach, and those of which that is not known; used or not.
    pub claims: Vec<UnreachableClaim>,
}

/// A pod that has to come back on another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplacedPod {
    /// Its namespace and name.
    pub pod: PodKey,
    /// The name of the node that it runs on.
    pub node: Box<str>,
    /// The claims that it uses.
    pub claims: Vec<ClaimKey>,
    /// Why it cannot come back; nothing if a node is left that reaches all of its volumes and can have them.
    pub reasons: Vec<NodeLossReason>,
}

/// A bound claim that no node is left for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreachableClaim {
    /// Its namespace and name.
    pub claim: ClaimKey,
    /// The name of its volume.
    pub volume: VolumeName,
    /// Why.
    pub reason: NodeLossReason,
}

impl NodeLoss<'_> {
    /// Returns whether the node of this name goes or is drained.
    pub(super) fn affects(&self, node: &str) -> bool {
        self.gone.contains(node) || self.drained.contains(node)
    }
}

//! A pod as the loss or the drain of its node concerns it.
//!
//! Not here: finished pods, which do not come back.

use super::names::ClaimKey;
use super::pod::Pod;
use super::scheduling::Constraints;

/// A pod that has not finished, and what its replacement asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedPod {
    /// The pod: its name, its node, and the claims that it uses.
    pub pod: Pod,
    /// What it asks of its node.
    pub constraints: Constraints,
    /// What made it.
    pub origin: PodOrigin,
    /// Those of its claims that are made from a template in its volumes, sorted: they go with the pod, and another pod
    /// gets new ones.
    pub ephemeral: Vec<ClaimKey>,
}

/// What made a pod, as far as it matters for a drain.
///
/// Kubernetes: `kubectl/pkg/drain/filters.go`, `daemonSetFilter` and `mirrorPodFilter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodOrigin {
    /// A `DaemonSet`: the pod belongs to its node, and no other node gets it.
    DaemonSet,
    /// A file on its node: the API server shows a mirror of the pod.
    Mirror,
    /// Anything else: another node may get the pod that replaces it.
    Other,
}

//! A pod, only as far as it uses claims.
//!
//! Not here: finished pods, which use nothing any more.

use std::fmt;

use arcstr::ArcStr;

use super::names::ClaimKey;

/// A pod that has not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Its namespace and name.
    pub key: PodKey,
    /// The name of the node that it was given.
    pub node: Option<Box<str>>,
    /// The claims that it uses, sorted and without repetition. They need not exist.
    pub claims: Vec<ClaimKey>,
}

impl Pod {
    /// The claims that it keeps from being deleted: none before it has a node.
    ///
    /// Kubernetes: `pvc_protection_controller.go`, `podUsesPVC`.
    pub fn in_use(&self) -> &[ClaimKey] {
        if self.node.is_some() { &self.claims } else { &[] }
    }

    /// Returns whether it uses the claim of this name.
    pub fn uses(&self, key: &ClaimKey) -> bool {
        self.claims.binary_search(key).is_ok()
    }
}

/// Namespace and name of a pod.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodKey {
    /// The namespace.
    pub namespace: ArcStr,
    /// The name.
    pub name: ArcStr,
}

impl PodKey {
    /// The key of pod `name` in `namespace`.
    pub fn new(namespace: impl Into<ArcStr>, name: impl Into<ArcStr>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for PodKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl fmt::Debug for PodKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

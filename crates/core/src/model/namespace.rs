//! A namespace as decisions see it: what it is called, how it is labelled, and whether it goes.

use arcstr::ArcStr;

use super::annotations::{RESUME_MOVES, TENANT};
use super::metadata::Deletion;
use super::selector::Labels;

/// The name of a namespace; empty for what is in none. A clone shares the text.
pub type NamespaceName = ArcStr;

/// A Namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its name.
    pub name: NamespaceName,
    /// Its labels, by which an operator selects namespaces.
    pub labels: Labels,
    /// Whether it is being deleted.
    pub deletion: Deletion,
}

impl Namespace {
    /// Whether the controller may end moves from and to it.
    pub fn permits_resumption(&self) -> bool {
        self.labels.get(RESUME_MOVES) == Some("true")
    }

    /// The tenant to whom it belongs.
    pub fn tenant(&self) -> Option<&str> {
        self.labels.get(TENANT).filter(|tenant| !tenant.is_empty())
    }
}

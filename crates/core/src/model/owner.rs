//! Owners of an object, as `metadata.ownerReferences` names them.
//!
//! The garbage collector deletes what has only owners that are gone. Whether one is gone is not known here.

use std::fmt;

use super::names::Uid;

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// `apiVersion`: group and version, or the version alone.
    pub api_version: Box<str>,
    /// `kind`.
    pub kind: Box<str>,
    /// `name`; the namespace is that of the object, or none.
    pub name: Box<str>,
    /// `uid`.
    pub uid: Uid,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} \"{}\"", self.kind, self.name)
    }
}

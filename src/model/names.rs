//! Names and identities of objects: what a volume, a claim or a class is called, and which one it is.
//!
//! Each is a type of its own, so that a volume's name never stands where a claim's is expected.
//! Nothing is validated here: the API server has done that, and a manifest that has not met it yet
//! is refused by it, not by us. A clone shares the text: indices and writes repeat names all the time.

use std::fmt;
use std::sync::Arc;

/// Declares a text newtype: private field, cheap to compare and to clone, printed as it is.
macro_rules! text_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name for this text.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}

text_name! {
    /// `metadata.name` of a volume; volumes are cluster-scoped.
    VolumeName
}
text_name! {
    /// `metadata.name` of a storage class.
    ClassName
}
text_name! {
    /// `metadata.uid`: never used twice, so two objects with one uid are the same object.
    Uid
}
text_name! {
    /// `metadata.resourceVersion`: a whole number that grows with every write to any object of its kind.
    ///
    /// Kubernetes: opaque to clients for long, comparable since 1.35 (KEP-5504); upstream's own binder has
    /// always compared it.
    ResourceVersion
}

impl ResourceVersion {
    /// Whether this is the version of a later write than `other`.
    pub fn is_newer_than(&self, other: &Self) -> bool {
        // As numbers without leading zeros, so that no size is too large.
        (self.0.len(), &self.0) > (other.0.len(), &other.0)
    }
}

/// Namespace and name of a claim.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimKey {
    /// The namespace; empty only in a reference that somebody left incomplete.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl ClaimKey {
    /// The key of claim `name` in `namespace`.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl fmt::Debug for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

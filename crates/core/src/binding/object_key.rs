//! The key of an object that decisions are about.

use std::fmt;

use crate::model::{ClaimKey, VolumeName};

/// The kind and name of a volume or claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKey {
    /// A volume.
    Volume(VolumeName),
    /// A claim.
    Claim(ClaimKey),
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Volume(name) => write!(f, "volume \"{name}\""),
            Self::Claim(key) => write!(f, "claim \"{key}\""),
        }
    }
}

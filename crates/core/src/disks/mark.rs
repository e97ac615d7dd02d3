//! What is recorded about the use of a disk: on its file system, or for a block device on its node and on its volume.
//!
//! A mark is written before the act that it announces, so that it names the worst that can have happened.

use std::fmt;

use crate::model::{Uid, VolumeName};

/// A mark. A disk without one was never offered by us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskMark {
    /// This volume of this uid is being offered: whether claims can get it is not known, nor whether one has got it since. Earlier
    /// versions recorded no uid.
    Offering(VolumeName, Option<Uid>),
    /// It was offered as this volume, and holds whatever was written through it since.
    Offered(VolumeName),
    /// What was written through this volume is being removed.
    Cleaning(VolumeName),
    /// All that it held was removed, and it was not offered since.
    Clean,
}

impl DiskMark {
    /// Returns the mark that this text spells.
    pub fn from_text(text: &str) -> Option<Self> {
        Some(match text.split_once(' ') {
            Some(("offering", volume)) => match volume.split_once(' ') {
                Some((volume, uid)) => Self::Offering(VolumeName::new(volume), Some(Uid::new(uid))),
                None => Self::Offering(VolumeName::new(volume), None),
            },
            Some(("offered", volume)) => Self::Offered(VolumeName::new(volume)),
            Some(("cleaning", volume)) => Self::Cleaning(VolumeName::new(volume)),
            None if text == "clean" => Self::Clean,
            Some(_) | None => return None,
        })
    }

    /// The volume that it names.
    pub fn volume(&self) -> Option<&VolumeName> {
        match self {
            Self::Offering(volume, _) | Self::Offered(volume) | Self::Cleaning(volume) => {
                Some(volume)
            }
            Self::Clean => None,
        }
    }
}

impl fmt::Display for DiskMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offering(volume, Some(uid)) => write!(f, "offering {volume} {uid}"),
            Self::Offering(volume, None) => write!(f, "offering {volume}"),
            Self::Offered(volume) => write!(f, "offered {volume}"),
            Self::Cleaning(volume) => write!(f, "cleaning {volume}"),
            Self::Clean => f.write_str("clean"),
        }
    }
}

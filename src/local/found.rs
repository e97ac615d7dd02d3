//! What a scan finds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::device::DeviceNumber;
use crate::disks::DiskEntry;

/// An entry of a discovery folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryKey {
    /// The StorageClass of the folder.
    pub class: String,
    /// The name of the entry.
    pub file: String,
}

/// What a scan found at an entry.
#[derive(Clone, Debug)]
pub struct Found {
    /// The entry.
    pub entry: DiskEntry,
    /// Its path in this process.
    pub path: PathBuf,
    /// The name of its device; empty where it is none.
    pub device: String,
    /// The devices that it is on.
    pub(super) stack: BTreeSet<DeviceNumber>,
}

/// What one scan found.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// The entries.
    pub entries: BTreeMap<EntryKey, Found>,
    /// The StorageClasses whose folder cannot be read, and why: nothing is known of their entries.
    pub unreadable: BTreeMap<String, String>,
}

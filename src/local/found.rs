//! What a scan finds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
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
    /// What was at the path; absent where that is no disk.
    pub target: Option<PathTarget>,
    /// The devices that it is on.
    pub(super) stack: BTreeSet<DeviceNumber>,
}

/// What a path leads to: a folder by its file system and inode, a block device by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathTarget {
    device: u64,
    inode: u64,
}

impl PathTarget {
    /// The folder with this inode on the file system of this number (`st_dev`).
    pub fn folder(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }

    /// What has this metadata.
    pub fn of(metadata: &Metadata) -> Self {
        if metadata.file_type().is_block_device() {
            // The device's own file may be made again.
            return Self { device: metadata.rdev(), inode: 0 };
        }
        Self::folder(metadata.dev(), metadata.ino())
    }
}

/// What one scan found.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// The entries.
    pub entries: BTreeMap<EntryKey, Found>,
    /// The StorageClasses whose folder cannot be read, and why: nothing is known of their entries.
    pub unreadable: BTreeMap<String, String>,
}

//! One entry of a discovery folder, as one scan finds it.

use super::identity::DiskIdentity;
use super::mark::DiskMark;

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskEntry {
    /// A disk.
    Disk(Disk),
    /// Something that is never offered.
    Unusable(Unusable),
}

/// A disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// What it is found as.
    pub form: DiskForm,
    /// Major and minor number of the device.
    pub device: (u32, u32),
    /// What it is recognized by.
    pub identity: DiskIdentity,
    /// What its volume can hold, in bytes: the size of the file system or of the device.
    pub capacity: u64,
    /// What is on it.
    pub content: DiskContent,
    /// What was recorded last about its use.
    pub mark: Option<DiskMark>,
    /// The cleaning for which a Job has a permit; absent where none has one.
    pub permit: Option<Box<str>>,
    /// Whether it is mounted or opened at another place too, as it is while a pod uses it.
    pub is_in_use: bool,
}

/// What a disk is found as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskForm {
    /// A mounted file system.
    FileSystem,
    /// A block device.
    BlockDevice,
}

/// What is on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskContent {
    /// It was not read: of a disk in use it does not matter.
    Unread,
    /// Nothing, which is proven: an empty listing, or zeros in all bytes.
    Empty,
    /// Zeros wherever a block device was read; the rest of it was not.
    ZerosInSamples,
    /// Something.
    Something,
}

/// Why an entry is never offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// A folder on which nothing is mounted: the disk is not mounted yet, or it is a folder of the node's own disk.
    NotMounted,
    /// A folder of the node's own disk, which is mounted here a second time.
    FolderOfRootDisk,
    /// A symbolic link to a folder: what is behind it can change without a mount.
    LinkToFolder,
    /// Neither a folder nor a block device.
    OtherFile,
    /// A mounted file system, where the StorageClass offers block devices.
    NotBlock,
    /// A block device that has partitions, or is part of this device (`dm-0`, `md127`).
    Divided(Box<str>),
    /// The same disk as that of the entry with this path, or one around it or inside it.
    SharedWith(Box<str>),
    /// A file system whose free space cannot be overwritten, as its StorageClass demands.
    NotOverwritable(FreeSpace),
    /// It cannot be read, for this reason.
    Unreadable(Box<str>),
}

/// Why the free space of a file system cannot be overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FreeSpace {
    /// The file system is of this type, which keeps a part of its free space from every file.
    KeptBack(Box<str>),
    /// It is that of other volumes too: they could not write meanwhile.
    Shared,
}

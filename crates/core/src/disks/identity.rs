//! What a disk is recognized by, wherever it is plugged in and under whatever path it is found.
//!
//! How the features are found is not here.

use std::fmt;

/// The features of a disk that stay when it is moved to another slot or machine. Each is absent where the kernel does not
/// know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskIdentity {
    /// The World Wide Name, or the NGUID or EUI-64 of an `NVMe` disk: unique in the world.
    pub wwn: Option<Box<str>>,
    /// The serial number: unique among the disks of one manufacturer.
    pub serial: Option<Box<str>>,
    /// The name that a mapping has: `LVM-…`, `CRYPT-…` or `mpath-…` of the device mapper, the UUID of an array, the file
    /// behind a loop device and its machine.
    pub mapping: Option<Box<str>>,
    /// The UUID of the partition, or its number where it has none; absent for a whole disk.
    pub partition: Option<Box<str>>,
    /// The UUID of the file system: another one once the disk is formatted again.
    pub file_system: Option<Box<str>>,
    /// The folder of the file system that is mounted; absent where that is all of it.
    pub folder: Option<Box<str>>,
    /// The size of the device in bytes.
    pub size: u64,
}

/// A feature in which two disks differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFeature {
    /// [`DiskIdentity::wwn`].
    Wwn,
    /// [`DiskIdentity::serial`].
    Serial,
    /// [`DiskIdentity::mapping`].
    Mapping,
    /// [`DiskIdentity::partition`].
    Partition,
    /// [`DiskIdentity::file_system`].
    FileSystem,
    /// [`DiskIdentity::folder`].
    Folder,
    /// [`DiskIdentity::size`].
    Size,
}

impl fmt::Display for DiskFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wwn => "World Wide Name",
            Self::Serial => "serial number",
            Self::Mapping => "device mapper name",
            Self::Partition => "partition",
            Self::FileSystem => "file system UUID",
            Self::Folder => "folder",
            Self::Size => "size",
        })
    }
}

/// Whether two identities are of one disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskComparison {
    /// A feature that no other disk has is the same, and none differs.
    Same,
    /// This feature differs.
    Other(DiskFeature),
    /// None differs, and none distinguishes it from any other disk.
    Unknown,
}

/// Returns whether it is the number of a partition rather than its UUID. Serial numbers may be numbers too.
fn is_number(text: &str) -> bool {
    text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl DiskIdentity {
    /// Compares it with what was recorded of a disk. A feature that one side does not know decides nothing. A disk may
    /// grow, as a logical volume does; one that is smaller is another one.
    pub fn compared_with(&self, recorded: &Self) -> DiskComparison {
        let features = [
            (DiskFeature::Wwn, &self.wwn, &recorded.wwn),
            (DiskFeature::Serial, &self.serial, &recorded.serial),
            (DiskFeature::Mapping, &self.mapping, &recorded.mapping),
            (DiskFeature::Partition, &self.partition, &recorded.partition),
            (DiskFeature::FileSystem, &self.file_system, &recorded.file_system),
        ];
        let mut is_known = false;
        for (feature, now, then) in features {
            match (now, then) {
                // Its UUID was not known yet, or is no more.
                (Some(now), Some(then))
                    if feature == DiskFeature::Partition && is_number(now) != is_number(then) => {}
                (Some(now), Some(then)) if now != then => return DiskComparison::Other(feature),
                // Every disk has a first partition.
                (Some(now), Some(_)) if feature == DiskFeature::Partition && is_number(now) => {}
                (Some(_), Some(_)) => is_known = true,
                (None, _) | (_, None) => {}
            }
        }
        // A partition has its disk's other features.
        if self.partition.is_some() != recorded.partition.is_some() {
            return DiskComparison::Other(DiskFeature::Partition);
        }
        if self.folder != recorded.folder {
            return DiskComparison::Other(DiskFeature::Folder);
        }
        if self.size < recorded.size {
            return DiskComparison::Other(DiskFeature::Size);
        }
        if is_known { DiskComparison::Same } else { DiskComparison::Unknown }
    }

    /// Returns a text that differs between any two disks of which one is known, and that stays when the disk is formatted
    /// again unless nothing else is known of it.
    pub fn key(&self) -> String {
        let hardware = [&self.wwn, &self.serial, &self.mapping];
        let first = hardware.into_iter().flatten().next().or(self.file_system.as_ref());
        let parts = [first, self.partition.as_ref(), self.folder.as_ref()];
        parts.map(|part| part.map_or("", |part| &**part)).join("\n")
    }

    /// Returns whether any feature distinguishes it from other disks.
    pub fn is_known(&self) -> bool {
        self.compared_with(self) == DiskComparison::Same
    }
}

//! What a provisioner takes for disks: mounts and block devices, or regular files in their place.
//!
//! A demonstration and a simulation have no root, and without root there are neither mounts nor block devices. With files all
//! else is the same code: scans, decisions, marks, the ledger, cleaning and its proof. No argument, configuration or value of
//! the chart leads to files: only who calls [`run`](super::run::run) can choose them, and the command line never does.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock, major, minor};
use rustix::io::Errno;
use tokio::sync::Notify;

use super::device::{BlockDevice, DeviceNumber};
use crate::disks::DiskIdentity;

/// What is taken for disks.
#[derive(Clone, Debug)]
pub enum DiskSource {
    /// Mounted file systems and block devices.
    Devices,
    /// Regular files as well, each in the place of a block device.
    Files(Arc<FileDisks>),
}

impl DiskSource {
    /// Returns the number of the block device with this metadata; of a file that is taken for one, its inode. Nothing for all
    /// else.
    pub fn number(&self, metadata: &Metadata) -> Option<DeviceNumber> {
        let kind = metadata.file_type();
        match self {
            Self::Devices | Self::Files(_) if kind.is_block_device() => {
                Some((major(metadata.rdev()), minor(metadata.rdev())))
            }
            Self::Files(_) if kind.is_file() => Some(halves(metadata.ino())),
            Self::Devices | Self::Files(_) => None,
        }
    }

    /// Has an open disk for itself alone until it is closed. The kernel does so for a block device that is opened with
    /// `O_EXCL`; for a file, which that does not lock, it is a lock that all others have to take too.
    pub(super) fn lock(&self, file: &File) -> io::Result<()> {
        match self {
            Self::Devices => Ok(()),
            Self::Files(_) => Ok(flock(file, FlockOperation::NonBlockingLockExclusive)?),
        }
    }

    /// Returns whether a disk takes back blocks that are not needed.
    pub(super) fn discards(&self) -> bool {
        match self {
            Self::Devices => true,
            Self::Files(files) => files.discards,
        }
    }

    /// Returns how many of the next `length` bytes of a disk may be overwritten now: all, unless a simulation ends the process
    /// here.
    pub(super) fn allowed(&self, length: u64) -> io::Result<u64> {
        match self {
            Self::Devices => Ok(length),
            Self::Files(files) => files.allowed(length),
        }
    }
}

/// The inode of a file in the form of a device's number.
fn halves(inode: u64) -> DeviceNumber {
    let low = u32::try_from(inode & u64::from(u32::MAX)).unwrap_or_default();
    (u32::try_from(inode >> 32).unwrap_or_default(), low)
}

/// Files that are disks. A simulation can end the process within a cleaning.
#[derive(Debug)]
pub struct FileDisks {
    discards: bool,
    /// How many bytes cleanings may overwrite before the process counts as killed.
    left: AtomicU64,
    /// Notified when none is left.
    stopped: Notify,
}

/// What is overwritten at a time: so little that a process can be killed in the middle of a file of a few MiB.
const CHUNK_BYTES: u64 = 64 << 10;

impl Default for FileDisks {
    /// Disks that take back blocks, of a process that is not killed.
    fn default() -> Self {
        Self { discards: true, left: AtomicU64::new(u64::MAX), stopped: Notify::new() }
    }
}

impl FileDisks {
    /// Disks that take back no blocks, as many do, so that a cleaning overwrites each byte. The process counts as killed once
    /// cleanings have overwritten so many.
    pub fn killed_after(bytes: u64) -> Self {
        Self { discards: false, left: AtomicU64::new(bytes), stopped: Notify::new() }
    }

    /// From now on nothing is overwritten: the process counts as killed.
    pub fn stop(&self) {
        self.left.store(0, Ordering::SeqCst);
    }

    /// Returns whether the process counts as killed.
    pub fn is_stopped(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    /// Resolves when a cleaning has reached the byte at which the process counts as killed.
    pub async fn stopped(&self) {
        self.stopped.notified().await;
    }

    fn allowed(&self, length: u64) -> io::Result<u64> {
        let length = length.min(CHUNK_BYTES);
        let take = |left: u64| (left != u64::MAX).then(|| left.saturating_sub(length));
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        match left {
            // No limit.
            Err(_) => Ok(length),
            Ok(0) => {
                self.stopped.notify_one();
                Err(io::Error::other("the process is killed"))
            }
            Ok(left) => Ok(length.min(left)),
        }
    }
}

/// Returns the file at `path` as a block device of the machine with this machine-id. It is known by its inode too: another file
/// under the same path is another disk.
pub(super) fn file_device(path: &Path, metadata: &Metadata, machine: &str) -> BlockDevice {
    let number = halves(metadata.ino());
    let mapping = format!("file-{machine}-{}-{}", path.display(), metadata.ino());
    let identity = DiskIdentity {
        mapping: Some(mapping.into()),
        size: metadata.len(),
        ..DiskIdentity::default()
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    BlockDevice { name, identity, part: None, stack: [number].into() }
}

/// Returns whether another program has locked the file.
///
/// # Errors
///
/// It cannot be opened.
pub(super) fn is_locked(path: &Path) -> io::Result<bool> {
    match flock(File::open(path)?, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(false),
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_number_only_where_files_are_disks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        std::fs::write(&path, "x").unwrap();
        let metadata = path.metadata().unwrap();
        assert_eq!(DiskSource::Devices.number(&metadata), None);
        let files = DiskSource::Files(Arc::default());
        assert_eq!(files.number(&metadata), Some(halves(metadata.ino())));
        assert_eq!(files.number(&folder.path().metadata().unwrap()), None, "no folder is a disk");
        assert_eq!(halves(0x1_0000_0002), (1, 2));
    }

    #[test]
    fn another_file_under_the_same_path_is_another_disk() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["disk", "other"].map(|name| folder.path().join(name));
        let identity = || file_device(&path, &path.metadata().unwrap(), "m").identity;
        std::fs::write(&path, "x").unwrap();
        std::fs::write(&other, "x").unwrap();
        let before = identity();
        assert!(before.is_known() && before == identity());
        std::fs::rename(&path, folder.path().join("former")).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_ne!(before, identity());
    }

    #[test]
    fn a_process_that_counts_as_killed_overwrites_no_byte_more() {
        let files = FileDisks::killed_after(CHUNK_BYTES + 1);
        assert_eq!(files.allowed(u64::MAX).unwrap(), CHUNK_BYTES);
        assert!(!files.is_stopped());
        assert_eq!(files.allowed(10).unwrap(), 1);
        assert!(files.is_stopped() && files.allowed(1).is_err());
        let files = FileDisks::default();
        assert_eq!(files.allowed(10).unwrap(), 10);
        files.stop();
        assert!(files.allowed(1).is_err());
    }

    #[test]
    fn a_file_that_a_program_has_locked_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        let user = File::create(&path).unwrap();
        assert!(!is_locked(&path).unwrap());
        flock(&user, FlockOperation::LockShared).unwrap();
        assert!(is_locked(&path).unwrap());
        let files = DiskSource::Files(Arc::default());
        assert!(files.lock(&File::open(&path).unwrap()).is_err());
    }
}

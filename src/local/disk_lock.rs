//! The lock of a disk that a Job may clean. Only its owner cleans the disk, or changes its mark.
//!
//! It is a file in the ledger, one for each permit, that is locked by `flock`. So it does not depend on how a
//! `blockCleanerCommand` opens the device: an exclusive open would make a command fail that opens it so itself. The kernel
//! releases the lock when the last process that has the file open ends, however that ends. A command inherits it, so that it
//! is held as long as anything writes. Only its owner removes the file: no other process then has a lock on a later file of the
//! same name.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, FdFlags, fcntl_setfd};

/// The lock, until it is dropped.
#[derive(Debug)]
pub struct DiskLock {
    file: File,
    path: PathBuf,
}

impl DiskLock {
    /// Takes the lock of a cleaning; nothing if a process has it. Its file is created if it is absent.
    pub fn take(ledger: &Path, cleaning: &str) -> io::Result<Option<Self>> {
        let path = path(ledger, cleaning);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
        Self::lock(file, path)
    }

    /// Takes the lock of a cleaning as a Job does, which reads the ledger only. The error is `NotFound` if its permit was
    /// revoked, or its cleaning has ended.
    pub fn take_existing(ledger: &Path, cleaning: &str) -> io::Result<Option<Self>> {
        let path = path(ledger, cleaning);
        Self::lock(File::open(&path)?, path)
    }

    fn lock(file: File, path: PathBuf) -> io::Result<Option<Self>> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { file, path })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the lock to every process that this one starts from now on, too.
    pub fn share_with_children(&self) -> io::Result<()> {
        Ok(fcntl_setfd(&self.file, FdFlags::empty())?)
    }

    /// Removes the file: there is no permit any more.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

fn path(ledger: &Path, cleaning: &str) -> PathBuf {
    ledger.join(format!("{cleaning}.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_owner_and_goes_with_its_file() {
        let ledger = tempfile::tempdir().unwrap();
        let missing = DiskLock::take_existing(ledger.path(), "c1").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let lock = DiskLock::take(ledger.path(), "c1").unwrap().unwrap();
        assert!(DiskLock::take_existing(ledger.path(), "c1").unwrap().is_none());
        assert!(DiskLock::take(ledger.path(), "c1").unwrap().is_none());
        assert!(DiskLock::take(ledger.path(), "c2").unwrap().is_some());
        drop(lock);
        let lock = DiskLock::take_existing(ledger.path(), "c1").unwrap().unwrap();
        lock.remove().unwrap();
        assert!(DiskLock::take_existing(ledger.path(), "c1").is_err());
    }
}

//! What the process of a Job does: it cleans one block device, if the ledger of the node's provisioner permits it.
//!
//! It may start hours after it was created, beside another one, or after its Job was deleted. So it takes the lock of the disk
//! first, and only then reads whether the disk is still to be cleaned: that cannot change while it has the lock.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use rustix::fs::{major, minor};

use super::block::{open_alone, prove, zero_all};
use super::{CleanError, CleaningProgress, failed, proof, run_command};
use crate::disks::DiskMark;
use crate::local::device::{DeviceNumber, Devices};
use crate::local::disk_lock::DiskLock;
use crate::local::ledger::PermittedDisk;
use crate::local::scan::is_mapped;
use crate::local::source::DiskSource;
use crate::model::VolumeName;

/// How long it waits for the lock. 10 s: the provisioner has it for as long as it takes to read samples of the device.
const LOCK_EXPECTED: Duration = Duration::from_secs(10);
const LOCK_POLL: Duration = Duration::from_millis(100);

/// What a Job is created for.
#[derive(Clone, Debug)]
pub struct DeviceCleaning {
    /// The cleaning for which the Job has a permit.
    pub cleaning: String,
    /// The volume of the disk.
    pub volume: VolumeName,
    /// The path of the device in this process.
    pub path: PathBuf,
    /// The folder of the provisioner's marks.
    pub ledger: PathBuf,
    /// The folder of the kubelet, below which it mounts what pods use.
    pub kubelet: PathBuf,
    /// The machine-id of the node.
    pub machine: String,
    /// The command of the StorageClass; empty for the built-in cleaning.
    pub command: Vec<String>,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceCleaningEnd {
    /// The device is clean, and that is proven on it.
    Cleaned,
    /// The disk is not to be cleaned by this Job any more: nothing was touched.
    Revoked,
}

/// Why a device was not cleaned.
#[derive(Debug, thiserror::Error)]
pub enum DeviceCleaningError {
    /// The ledger is not there.
    #[error(
        "{0} is not the folder of a provisioner's marks; nothing was touched; mount the folder of the node there that the \
         provisioner has under this path"
    )]
    NoLedger(String),
    /// The folder of the kubelet is not there.
    #[error(
        "{0} is no folder; whether a pod uses the disk could not be seen; nothing was touched; mount the folder of the \
         kubelet there with HostToContainer propagation"
    )]
    NoKubelet(String),
    /// Another process has the disk.
    #[error("another process cleans the disk; nothing was touched")]
    Locked,
    /// The provisioner does not run.
    #[error(
        "the provisioner of the node has not confirmed for ten minutes that the disk is to be cleaned; nothing was touched; \
         start it, and it creates the Job again"
    )]
    Expired,
    /// A pod has the device.
    #[error("a pod uses the device; nothing was touched; delete the pod")]
    InUse,
    /// The ledger cannot be read.
    #[error("{0}; nothing was touched")]
    Ledger(io::Error),
    /// The device cannot be cleaned.
    #[error(transparent)]
    Clean(#[from] CleanError),
}

impl DeviceCleaning {
    /// Cleans the device.
    ///
    /// # Errors
    ///
    /// It is not clean; most errors touch nothing.
    pub fn run(&self) -> Result<DeviceCleaningEnd, DeviceCleaningError> {
        // Every ledger has this file.
        if !self.ledger.join("lock").is_file() {
            return Err(DeviceCleaningError::NoLedger(self.ledger.display().to_string()));
        }
        if !self.kubelet.is_dir() {
            return Err(DeviceCleaningError::NoKubelet(self.kubelet.display().to_string()));
        }
        let Some(lock) = self.lock()? else { return Ok(DeviceCleaningEnd::Revoked) };
        let permitted = PermittedDisk::read(&self.ledger, &self.cleaning);
        let permitted = permitted.map_err(DeviceCleaningError::Ledger)?;
        let mark = Some(DiskMark::Cleaning(self.volume.clone()));
        let Some(permitted) = permitted.filter(|permitted| permitted.mark == mark) else {
            return Ok(DeviceCleaningEnd::Revoked);
        };
        if !permitted.is_valid {
            return Err(DeviceCleaningError::Expired);
        }
        self.clean(&lock, &permitted)?;
        Ok(DeviceCleaningEnd::Cleaned)
    }

    /// Takes the lock; nothing if there is no permit.
    fn lock(&self) -> Result<Option<DiskLock>, DeviceCleaningError> {
        let begun = Instant::now();
        loop {
            match DiskLock::take_existing(&self.ledger, &self.cleaning) {
                Ok(Some(lock)) => return Ok(Some(lock)),
                Ok(None) if begun.elapsed() >= LOCK_EXPECTED => {
                    return Err(DeviceCleaningError::Locked);
                }
                Ok(None) => park_timeout(LOCK_POLL),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(DeviceCleaningError::Ledger(error)),
            }
        }
    }

    fn clean(&self, lock: &DiskLock, disk: &PermittedDisk) -> Result<(), DeviceCleaningError> {
        let path = &self.path;
        let number = number(path)?;
        // Before it is opened: so is a device that a pod has through a file system, which then reports itself as busy.
        if is_mapped(&self.kubelet, number) {
            return Err(DeviceCleaningError::InUse);
        }
        let device = open_patiently(path, number)?;
        let found = Devices::new(&self.machine).device(number).map_err(failed(path))?;
        if found.part.is_some() || !disk.is_disk(&found.identity) {
            return Err(CleanError::Exchanged.into());
        }
        let progress = CleaningProgress::default();
        let device = if self.command.is_empty() {
            let unused = || self.unused(number);
            zero_all(&device, path, &DiskSource::Devices, &unused, &progress)?;
            device
        } else {
            // Of a process that was killed after it; the command may begin elsewhere.
            proof::remove(&device, &self.cleaning).map_err(failed(path))?;
            // It may open the device for itself alone, as wipefs does. It has the lock.
            drop(device);
            lock.share_with_children().map_err(failed(path))?;
            run_command(&self.command, path)?;
            open_patiently(path, number)?
        };
        prove(path)?;
        self.unused(number)?;
        proof::write(&device, &self.cleaning).map_err(failed(path))?;
        Ok(())
    }

    fn unused(&self, number: DeviceNumber) -> Result<(), CleanError> {
        if is_mapped(&self.kubelet, number) { Err(CleanError::InUse) } else { Ok(()) }
    }
}

/// Opens the device for this process alone. A scan opens it so for a moment.
fn open_patiently(path: &Path, number: DeviceNumber) -> Result<File, CleanError> {
    let begun = Instant::now();
    loop {
        match open_alone(path, number, &DiskSource::Devices) {
            Err(CleanError::Io { error, .. })
                if error.kind() == io::ErrorKind::ResourceBusy
                    && begun.elapsed() < LOCK_EXPECTED =>
            {
                park_timeout(LOCK_POLL);
            }
            opened => return opened,
        }
    }
}

fn number(path: &Path) -> Result<DeviceNumber, CleanError> {
    let metadata = fs::metadata(path).map_err(failed(path))?;
    Ok((major(metadata.rdev()), minor(metadata.rdev())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disks::DiskIdentity;
    use crate::local::ledger::Ledger;

    fn cleaning(folder: &Path, cleaning: &str) -> DeviceCleaning {
        DeviceCleaning {
            cleaning: cleaning.to_owned(),
            volume: VolumeName::new("local-pv-1"),
            path: folder.join("device"),
            ledger: folder.to_owned(),
            kubelet: folder.to_owned(),
            machine: String::new(),
            command: Vec::new(),
        }
    }

    /// Its path leads to no device: only what may not be cleaned ends without an error.
    #[test]
    fn nothing_is_touched_without_a_permit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let error = cleaning(path, "c1").run().unwrap_err();
        assert!(matches!(error, DeviceCleaningError::NoLedger(_)), "{error}");
        let mut ledger = Ledger::open(path).unwrap();
        assert_eq!(cleaning(path, "c1").run().unwrap(), DeviceCleaningEnd::Revoked);
        let disk = DiskIdentity { serial: Some("S1".into()), size: 1, ..DiskIdentity::default() };
        let permit = ledger.permit(&disk, &VolumeName::new("local-pv-1")).unwrap();
        let error = cleaning(path, &permit).run().unwrap_err();
        assert!(matches!(error, DeviceCleaningError::Clean(_)), "{error}");
        let other = DeviceCleaning { volume: VolumeName::new("b"), ..cleaning(path, &permit) };
        assert_eq!(other.run().unwrap(), DeviceCleaningEnd::Revoked);
        let other = DeviceCleaning { kubelet: path.join("no"), ..cleaning(path, &permit) };
        assert!(matches!(other.run().unwrap_err(), DeviceCleaningError::NoKubelet(_)));
        ledger.record(&disk, &DiskMark::Clean).unwrap();
        assert_eq!(cleaning(path, &permit).run().unwrap(), DeviceCleaningEnd::Revoked);
    }
}

//! Empties a block device: its blocks are discarded, then written with zeros, then read in samples.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, OFlags, fallocate};

use super::{CleanError, CleaningProgress, failed};
use crate::disks::DiskContent;
use crate::local::content::sampled;
use crate::local::device::DeviceNumber;
use crate::local::scan::is_mapped;
use crate::local::source::DiskSource;

/// What is written with zeros at a time. 64 MiB: progress is seen.
const CHUNK_BYTES: u64 = 64 << 20;

/// What is written at a time where the kernel cannot write zeros by itself.
const BUFFER_BYTES: usize = 1 << 20;

/// Overwrites all of a block device with zeros, and proves it by reading samples.
///
/// It is opened for itself alone: while a file system on it is mounted, the kernel denies that. `device` is
/// the number that it had when its cleaning was decided.
///
/// # Errors
///
/// It is in use, is another device, or cannot be written to.
pub fn zero(
    path: &Path,
    device: DeviceNumber,
    source: &DiskSource,
    kubelet: &Path,
    progress: &CleaningProgress,
) -> Result<(), CleanError> {
    let file = open_alone(path, device, source)?;
    let unused = || if is_mapped(kubelet, device) { Err(CleanError::InUse) } else { Ok(()) };
    zero_all(&file, path, source, &unused, progress)?;
    drop(file);
    prove(path)
}

/// Overwrites all of an open block device with zeros. `unused` is asked before each piece: a pod can get the device while it is
/// being cleaned, as the kubelet does not open a raw volume for itself alone.
///
/// # Errors
///
/// It cannot be written to, or that of `unused`.
pub fn zero_all(
    mut file: &File,
    path: &Path,
    source: &DiskSource,
    unused: &dyn Fn() -> Result<(), CleanError>,
    progress: &CleaningProgress,
) -> Result<(), CleanError> {
    let size = file.seek(SeekFrom::End(0)).map_err(failed(path))?;
    if source.discards() {
        discard(file, size);
    }
    let mut at = 0;
    while at < size {
        unused()?;
        let length = source.allowed(CHUNK_BYTES.min(size - at)).map_err(failed(path))?;
        zero_range(file, at, length).map_err(failed(path))?;
        at += length;
        progress.add(length);
    }
    file.sync_all().map_err(failed(path))
}

/// Proves by samples that a block device is empty.
///
/// # Errors
///
/// It is not, or cannot be read.
pub fn prove(path: &Path) -> Result<(), CleanError> {
    match sampled(path).map_err(failed(path))? {
        DiskContent::Empty | DiskContent::ZerosInSamples => Ok(()),
        DiskContent::Something | DiskContent::Unread => {
            Err(CleanError::Left(path.display().to_string()))
        }
    }
}

/// Opens a device that is still the one that was decided about, for this process alone.
///
/// # Errors
///
/// It is in use, is another device, or cannot be opened.
pub fn open_alone(
    path: &Path,
    device: DeviceNumber,
    source: &DiskSource,
) -> Result<File, CleanError> {
    let flags = i32::try_from(OFlags::EXCL.bits()).unwrap_or_default();
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
    let file = opened.map_err(failed(path))?;
    let metadata = file.metadata().map_err(failed(path))?;
    if source.number(&metadata) != Some(device) {
        return Err(CleanError::Exchanged);
    }
    source.lock(&file).map_err(failed(path))?;
    Ok(file)
}

/// Gives the blocks back to the device. It is an offer that many devices decline, and proves nothing.
///
/// Linux: `block/fops.c`, `blkdev_fallocate`: a hole is discarded or zeroed.
fn discard(file: &File, size: u64) {
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    if let Err(error) = fallocate(file, hole, 0, size) {
        tracing::debug!(%error, "blocks are not discarded");
    }
}

fn zero_range(file: &File, at: u64, length: u64) -> std::io::Result<()> {
    let zero = FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE;
    if fallocate(file, zero, at, length).is_ok() {
        return Ok(());
    }
    let zeros = vec![0; BUFFER_BYTES];
    let mut at = at;
    let end = at + length;
    while at < end {
        let room = usize::try_from(end - at).unwrap_or(BUFFER_BYTES).min(BUFFER_BYTES);
        file.write_all_at(&zeros[..room], at)?;
        at += u64::try_from(room).unwrap_or_default();
    }
    Ok(())
}

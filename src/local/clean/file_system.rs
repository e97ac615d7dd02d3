//! Empties a file system: every file and folder, hidden ones too, and no other file system that is mounted in it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FallocateFlags, FileType, Mode, OFlags, ResolveFlags, fallocate, fdatasync,
    fstat, fstatvfs, open, openat, openat2, statat, syncfs, unlinkat,
};
use rustix::io::{Errno, pwrite};

use super::{CleanError, CleaningProgress, failed};
use crate::local::found::PathTarget;

/// Removes all that is in the file system mounted at `root`, and proves it by an empty listing.
///
/// Every step starts at the folder that was opened first: whatever is mounted at `root` meanwhile is not touched. `target` is
/// what was at the path when its cleaning was decided.
///
/// If `overwritten` names the device, what files have left in free space is overwritten with zeros, of files that were removed
/// before too.
///
/// # Errors
///
/// Another file system is mounted there, something cannot be removed, or something is left.
pub fn empty(
    root: &Path,
    target: PathTarget,
    overwritten: Option<&str>,
    progress: &CleaningProgress,
) -> Result<(), CleanError> {
    let folder = open(root, FOLDER, Mode::empty()).map_err(|error| failed(root)(error.into()))?;
    let stat = fstat(&folder).map_err(|error| failed(root)(error.into()))?;
    if PathTarget::folder(stat.st_dev, stat.st_ino) != target {
        return Err(CleanError::Exchanged);
    }
    let emptying = Emptying { root, progress };
    emptying.remove_all(&folder)?;
    if let Some(name) = overwritten {
        let _lent = ReservedClusters::lend(name)?;
        emptying.overwrite_free_space(&folder)?;
    }
    syncfs(&folder).map_err(|error| failed(root)(error.into()))?;
    match emptying.names(&folder)?.into_iter().next() {
        Some((name, _)) => Err(CleanError::Left(root.join(name).display().to_string())),
        None => Ok(()),
    }
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// What ext4 keeps free also of root: without it, up to 2 % of the free space would not be overwritten. It is given back
/// when this is dropped, and by a new mount.
///
/// Linux: `Documentation/ABI/testing/sysfs-fs-ext4`, `reserved_clusters`.
struct ReservedClusters {
    path: PathBuf,
    count: String,
}

impl ReservedClusters {
    /// Lends them. The error is a container that may not.
    fn lend(device: &str) -> Result<Self, CleanError> {
        let path = Path::new("/sys/fs/ext4").join(device).join("reserved_clusters");
        let count = fs::read_to_string(&path).map_err(failed(&path))?;
        fs::write(&path, "0").map_err(failed(&path))?;
        Ok(Self { path, count })
    }
}

impl Drop for ReservedClusters {
    fn drop(&mut self) {
        if let Err(error) = fs::write(&self.path, self.count.trim()) {
            tracing::warn!(path = %self.path.display(), %error, "reserved clusters are not given back");
        }
    }
}

/// Gives a file so many bytes, or all that are free: writing alone would leave blocks that are reserved for what has no place
/// yet. Returns its length. The error is a file system that cannot do so, as ext3.
fn allocate(file: &OwnedFd, most: u64) -> Result<u64, Errno> {
    let (mut length, mut step) = (0, most);
    while step >= SECTOR_BYTES && length < most {
        match fallocate(file, FallocateFlags::empty(), length, step) {
            Ok(()) => length += step,
            Err(Errno::INTR) => {}
            Err(Errno::NOSPC | Errno::DQUOT) => step /= 2,
            Err(other) => return Err(other),
        }
    }
    Ok(length)
}

/// Smaller than any block.
const SECTOR_BYTES: u64 = 512;

/// How large a file is that takes what is free. ext4: four pieces of 32,767 blocks need no list; files of two, and smaller
/// ones on a small file system, leave room for gaps.
const FILE_BLOCKS_MAX: u64 = 65_534;
const FILES_COUNT_MIN: u64 = 64;
const FILE_BYTES_MIN: u64 = 1 << 20;

/// What is written with zeros at a time.
const CHUNK_BYTES: usize = 1 << 20;

struct Emptying<'a> {
    root: &'a Path,
    progress: &'a CleaningProgress,
}

impl Emptying<'_> {
    /// Removes all that is below a folder. Folders may be nested deeper than a stack is: those that are open are in a list.
    fn remove_all(&self, root: &OwnedFd) -> Result<(), CleanError> {
        let mut open: Vec<(OsString, OwnedFd)> = Vec::new();
        loop {
            let folder = open.last().map_or(root.as_fd(), |(_, folder)| folder.as_fd());
            if let Some(inner) = self.remove_files(folder)? {
                let opened = self.open_below(folder, &inner)?;
                open.push((inner, opened));
                continue;
            }
            let Some((name, empty)) = open.pop() else { return Ok(()) };
            drop(empty);
            let around = open.last().map_or(root.as_fd(), |(_, folder)| folder.as_fd());
            self.unlink(around, &name, AtFlags::REMOVEDIR)?;
        }
    }

    /// Fills the file system with zeros, in files without names: they are gone with the process, however that ends.
    ///
    /// ext4: a file in few pieces needs no list of them, whose block would be taken from the free ones and may never be
    /// written. So there are many files, all open until the end. A file system that compresses writes no zeros.
    fn overwrite_free_space(&self, root: &OwnedFd) -> Result<(), CleanError> {
        let error = |error: Errno| failed(self.root)(error.into());
        // ext4: blocks are free once the removal is in the journal.
        syncfs(root).map_err(error)?;
        let size = fstatvfs(root).map_err(error)?;
        let free = size.f_bfree.saturating_mul(size.f_frsize);
        let most = (free / FILES_COUNT_MIN)
            .clamp(FILE_BYTES_MIN, FILE_BLOCKS_MAX.saturating_mul(size.f_bsize));
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let mut files = Vec::new();
        loop {
            let file = match openat(root, ".", flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => file,
                // No inode is left, and so no room: there are more of them than such files.
                Err(Errno::NOSPC) => return Ok(()),
                Err(other) => return Err(error(other)),
            };
            let length = allocate(&file, most).map_err(error)?;
            if length == 0 {
                return Ok(());
            }
            self.write_zeros(&file, length).map_err(error)?;
            files.push(file);
        }
    }

    fn write_zeros(&self, file: &OwnedFd, length: u64) -> Result<(), Errno> {
        let zeros = vec![0; CHUNK_BYTES];
        let mut at = 0;
        while at < length {
            let room = usize::try_from(length - at).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            match pwrite(file, &zeros[..room], at) {
                Ok(0) | Err(Errno::NOSPC) => break,
                Ok(written) => {
                    let written = u64::try_from(written).unwrap_or_default();
                    at += written;
                    self.progress.add(written);
                }
                Err(Errno::INTR) => {}
                Err(other) => return Err(other),
            }
        }
        fdatasync(file)
    }

    /// Removes what is no folder, and returns the name of a folder, if there is one.
    fn remove_files(&self, folder: BorrowedFd<'_>) -> Result<Option<OsString>, CleanError> {
        let mut inner = None;
        for (name, kind) in self.names(folder)? {
            if kind == FileType::Directory {
                inner = Some(name);
                continue;
            }
            let size = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW);
            self.unlink(folder, &name, AtFlags::empty())?;
            let blocks = size.map_or(0, |stat| u64::try_from(stat.st_blocks).unwrap_or(0));
            self.progress.add(blocks.saturating_mul(512));
        }
        Ok(inner)
    }

    fn names(&self, folder: impl AsFd) -> Result<Vec<(OsString, FileType)>, CleanError> {
        let error = |error: Errno| failed(self.root)(error.into());
        let mut names = Vec::new();
        for entry in Dir::read_from(&folder).map_err(error)? {
            let entry = entry.map_err(error)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let mut kind = entry.file_type();
            // Some file systems do not say it in a listing.
            if kind == FileType::Unknown {
                let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(error)?;
                kind = FileType::from_raw_mode(stat.st_mode);
            }
            names.push((name.to_owned(), kind));
        }
        Ok(names)
    }

    /// Opens a folder below another one, not what is mounted on it.
    fn open_below(&self, folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, CleanError> {
        let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        openat2(folder, name, FOLDER, Mode::empty(), resolve)
            .map_err(|error| self.failed(name, error))
    }

    fn unlink(
        &self,
        folder: BorrowedFd<'_>,
        name: &OsStr,
        flags: AtFlags,
    ) -> Result<(), CleanError> {
        match unlinkat(folder, name, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.failed(name, error)),
        }
    }

    fn failed(&self, name: &OsStr, error: Errno) -> CleanError {
        let path: PathBuf = self.root.join(name);
        failed(&path)(error.into())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn everything_is_removed_and_nothing_behind_a_link() {
        let (disk, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let kept = other.path().join("kept");
        fs::write(&kept, "x").unwrap();
        symlink(other.path(), disk.path().join("link")).unwrap();
        symlink("/nowhere", disk.path().join("broken")).unwrap();
        fs::write(disk.path().join(".hidden"), vec![1; 8192]).unwrap();
        let mut deep = disk.path().to_owned();
        for _ in 0..200 {
            deep.push("a");
            fs::create_dir(&deep).unwrap();
            File::create(deep.join("file")).unwrap();
        }
        let progress = CleaningProgress::default();
        let target = PathTarget::of(&disk.path().metadata().unwrap());
        empty(disk.path(), target, None, &progress).unwrap();
        assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
        assert!(kept.exists() && progress.bytes() > 0);
    }

    #[test]
    fn another_folder_than_the_one_decided_about_is_not_touched() {
        let (disk, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(disk.path().join("file"), "x").unwrap();
        let target = PathTarget::of(&other.path().metadata().unwrap());
        let error = empty(disk.path(), target, None, &CleaningProgress::default()).unwrap_err();
        assert!(matches!(error, CleanError::Exchanged));
        assert!(disk.path().join("file").exists());
    }
}

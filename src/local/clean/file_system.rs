//! Empties a file system: every file and folder, hidden ones too, and no other file system that is mounted in it.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, major, minor, open, openat2, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::{CleanError, CleaningProgress, failed};
use crate::local::device::DeviceNumber;

/// Removes all that is in the file system mounted at `root`, and proves it by an empty listing.
///
/// Every step starts at the folder that was opened first: whatever is mounted at `root` meanwhile is not touched. `device` is
/// the number that the file system had when its cleaning was decided.
///
/// # Errors
///
/// Another file system is mounted there, something cannot be removed, or something is left.
pub fn empty(
    root: &Path,
    device: DeviceNumber,
    progress: &CleaningProgress,
) -> Result<(), CleanError> {
    let folder = open(root, FOLDER, Mode::empty()).map_err(|error| failed(root)(error.into()))?;
    let stat = rustix::fs::fstat(&folder).map_err(|error| failed(root)(error.into()))?;
    if device.0 != 0
        && (major(stat.st_dev), minor(stat.st_dev)) != device
        && major(stat.st_dev) != 0
    {
        return Err(CleanError::Exchanged);
    }
    let emptying = Emptying { root, progress };
    emptying.remove_all(&folder)?;
    rustix::fs::syncfs(&folder).map_err(|error| failed(root)(error.into()))?;
    match emptying.names(&folder)?.into_iter().next() {
        Some((name, _)) => Err(CleanError::Left(root.join(name).display().to_string())),
        None => Ok(()),
    }
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

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
    use std::fs::{self, File};
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
        empty(disk.path(), (0, 0), &progress).unwrap();
        assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
        assert!(kept.exists() && progress.bytes() > 0);
    }

    #[test]
    fn another_file_system_than_the_one_decided_about_is_not_touched() {
        let disk = tempfile::tempdir().unwrap();
        fs::write(disk.path().join("file"), "x").unwrap();
        let other = (u32::MAX, 1);
        let on_device = rustix::fs::stat(disk.path()).map(|stat| major(stat.st_dev)).unwrap();
        if on_device != 0 {
            let error = empty(disk.path(), other, &CleaningProgress::default()).unwrap_err();
            assert!(matches!(error, CleanError::Exchanged));
            assert!(disk.path().join("file").exists());
        }
    }
}

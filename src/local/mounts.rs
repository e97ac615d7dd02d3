//! The mount table of the process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::ops::Bound;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A line of `/proc/self/mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// Major and minor number of the device. Some file systems (btrfs, overlay) have one that no device has.
    pub(super) device: (u32, u32),
    /// The folder of the file system that is mounted.
    pub(super) root: PathBuf,
    /// Where it is mounted.
    pub(super) point: PathBuf,
    /// The type of the file system.
    pub(super) fs_type: String,
    /// What was mounted: a device, or any text.
    pub(super) source: PathBuf,
}

/// The mounts that are seen, by their points: of several at one point, the last one.
#[derive(Clone, Debug, Default)]
pub(super) struct Mounts(BTreeMap<PathBuf, Mount>);

impl Mounts {
    /// Reads the table.
    pub(super) fn read() -> io::Result<Self> {
        fs::read("/proc/self/mountinfo").map(|table| Self::parse(&table))
    }

    /// Linux: `Documentation/filesystems/proc.rst`, 3.5. Parsed here: the crate for it does not decode the spaces in paths,
    /// and gives up at a mount whose source is empty or that is not UTF-8.
    fn parse(table: &[u8]) -> Self {
        let mounts = table.split(|byte| *byte == b'\n').filter_map(mount);
        Self(mounts.map(|mount| (mount.point.clone(), mount)).collect())
    }

    /// What is mounted at this very path.
    pub(super) fn at(&self, point: &Path) -> Option<&Mount> {
        self.0.get(point)
    }

    /// What is mounted at this path or at the nearest one above it.
    pub(super) fn around(&self, path: &Path) -> Option<&Mount> {
        path.ancestors().find_map(|path| self.at(path))
    }

    /// Mounts below this path.
    pub(super) fn below<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a Mount> {
        // Paths are ordered by their parts: what is below one follows it.
        let after = self.0.range::<Path, _>((Bound::Excluded(path), Bound::Unbounded));
        after.map(|(_, mount)| mount).take_while(move |mount| mount.point.starts_with(path))
    }
}

fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let mut next = || fields.next();
    let (_id, _parent) = (next()?, next()?);
    let device = std::str::from_utf8(next()?).ok()?.split_once(':')?;
    let device = (device.0.parse().ok()?, device.1.parse().ok()?);
    let (root, point) = (path(next()?), path(next()?));
    // Options, and optional fields up to a dash.
    while next()? != b"-" {}
    let fs_type = String::from_utf8_lossy(next()?).into_owned();
    Some(Mount { device, root, point, fs_type, source: path(next().unwrap_or_default()) })
}

/// A path of the table: a space, a tab, a line feed and a backslash are written as three octal digits.
fn path(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', ..] => {
                Some((high - b'0') * 64 + (middle - b'0') * 8 + (low - b'0'))
            }
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
        30 22 8:1 /mnt/disks /mnt/disks rw master:1 - ext4 /dev/sda1 rw\n\
        31 30 8:16 / /mnt/disks/my\\040disk rw - xfs /dev/sdb rw,attr2\n\
        32 30 0:45 /@a /mnt/disks/b rw shared:7 master:1 - btrfs /dev/sdc rw\n\
        33 30 0:50 / /mnt/disks/\xff rw - tmpfs  rw\n\
        broken\n\
        34 31 8:32 / /mnt/disks/my\\040disk rw - ext4 /dev/sdd rw\n";

    #[test]
    fn a_table_is_read_as_the_kernel_writes_it() {
        let mounts = Mounts::parse(TABLE);
        assert_eq!(mounts.0.len(), 5, "one is hidden by another");
        let top = mounts.at(Path::new("/mnt/disks/my disk")).unwrap();
        assert_eq!((top.device, top.fs_type.as_str()), ((8, 32), "ext4"));
        let part = mounts.at(Path::new("/mnt/disks/b")).unwrap();
        assert_eq!(
            (part.root.as_path(), part.source.as_path()),
            (Path::new("/@a"), Path::new("/dev/sdc"))
        );
        assert_eq!(
            mounts.around(Path::new("/mnt/disks/c/d")).unwrap().root,
            Path::new("/mnt/disks")
        );
        assert_eq!(mounts.below(Path::new("/mnt/disks")).count(), 3);
        assert!(mounts.at(Path::new("/mnt")).is_none());
        let empty = mounts.0.values().find(|mount| mount.fs_type == "tmpfs").unwrap();
        assert_eq!(empty.source, Path::new(""));
    }

    #[test]
    fn its_own_table_is_read() {
        assert!(Mounts::read().unwrap().around(Path::new("/proc/self")).is_some());
    }
}

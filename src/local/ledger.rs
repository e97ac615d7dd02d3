//! Marks of disks: on the root folder of a file system, or in a folder of the node for a disk that has no room for one.
//!
//! A mark is on the disk before this returns: the act that it announces follows at once.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, XattrFlags, flock, getxattr, setxattr};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::api::local_volume::disk_label;
use crate::disks::{DiskComparison, DiskIdentity, DiskMark};

/// The extended attribute. `trusted` can be read and written with `CAP_SYS_ADMIN` only: no pod can forge it.
const ATTRIBUTE: &str = "trusted.bindery.mark";

/// A mark is shorter: a volume's name has at most 253 characters.
const MARK_BYTES_MAX: usize = 512;

/// Marks of the disks of a node.
#[derive(Debug)]
pub struct Ledger {
    folder: PathBuf,
    marks: LedgerMarks,
    /// Locked as long as this process lives: a second one would clean what this one has offered.
    _lock: File,
}

/// The marks of a ledger at one moment: a scan reads them without the ledger, which tasks write to.
#[derive(Clone, Debug, Default)]
pub struct LedgerMarks(Arc<Vec<LedgerEntry>>);

#[derive(Clone, Debug, Deserialize, Serialize)]
struct LedgerEntry {
    mark: String,
    wwn: Option<Box<str>>,
    serial: Option<Box<str>>,
    mapping: Option<Box<str>>,
    partition: Option<Box<str>>,
    folder: Option<Box<str>>,
    size: u64,
}

impl LedgerEntry {
    fn new(identity: &DiskIdentity, mark: &DiskMark) -> Self {
        // Without the UUID of a file system: a pod formats the block device that it was given.
        let DiskIdentity { wwn, serial, mapping, partition, file_system: _, folder, size } =
            identity.clone();
        Self { mark: mark.to_string(), wwn, serial, mapping, partition, folder, size }
    }

    fn identity(&self) -> DiskIdentity {
        let Self { wwn, serial, mapping, partition, folder, size, .. } = self.clone();
        DiskIdentity { wwn, serial, mapping, partition, file_system: None, folder, size }
    }
}

impl Ledger {
    /// Reads the ledger in `folder`, which is made if it is absent.
    ///
    /// # Errors
    ///
    /// The folder cannot be made or read, another process has it, or a file in it is damaged: it may have said that a disk is
    /// being cleaned.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let lock = File::create(folder.join("lock"))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
            Errno::WOULDBLOCK => io::Error::other("another process has it; end that one"),
            other => other.into(),
        })?;
        let mut entries = Vec::new();
        for file in fs::read_dir(folder)? {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let damaged = |error| io::Error::other(format!("{}: {error}", path.display()));
                let entry: LedgerEntry =
                    serde_json::from_slice(&fs::read(&path)?).map_err(damaged)?;
                if DiskMark::from_text(&entry.mark).is_none() {
                    let reason =
                        format!("{}: the mark {:?} is unknown", path.display(), entry.mark);
                    return Err(io::Error::other(reason));
                }
                entries.push(entry);
            }
        }
        Ok(Self { folder: folder.to_owned(), marks: LedgerMarks(Arc::new(entries)), _lock: lock })
    }

    /// The marks as they are now.
    pub fn marks(&self) -> LedgerMarks {
        self.marks.clone()
    }

    /// Records the mark of the disk with this identity.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn record(&mut self, identity: &DiskIdentity, mark: &DiskMark) -> io::Result<()> {
        let entry = LedgerEntry::new(identity, mark);
        let name = disk_label(&entry.identity());
        let (path, new) =
            (self.folder.join(format!("{name}.json")), self.folder.join(format!("{name}.new")));
        let mut file = File::create(&new)?;
        serde_json::to_writer(&file, &entry)?;
        file.flush()?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        File::open(&self.folder)?.sync_all()?;
        let entries = Arc::make_mut(&mut self.marks.0);
        entries.retain(|known| !is_same(&known.identity(), identity));
        entries.push(entry);
        Ok(())
    }
}

impl LedgerMarks {
    /// The mark of the disk with this identity.
    pub fn mark(&self, identity: &DiskIdentity) -> Option<DiskMark> {
        let entry = self.0.iter().find(|entry| is_same(&entry.identity(), identity))?;
        DiskMark::from_text(&entry.mark)
    }
}

fn is_same(recorded: &DiskIdentity, identity: &DiskIdentity) -> bool {
    match identity.compared_with(recorded) {
        DiskComparison::Same => true,
        DiskComparison::Other(_) | DiskComparison::Unknown => false,
    }
}

/// Returns the mark on the file system that is mounted at `root`; nothing as well where its type has no room for one.
///
/// # Errors
///
/// The mark cannot be read, or is none that is known.
pub fn mark_on_file_system(root: &Path) -> io::Result<Option<DiskMark>> {
    let mut bytes = [0; MARK_BYTES_MAX];
    match getxattr(root, ATTRIBUTE, &mut bytes) {
        Ok(length) => {
            let text = std::str::from_utf8(&bytes[..length]).unwrap_or_default();
            let unknown = || io::Error::other(format!("the mark {text:?} is unknown"));
            DiskMark::from_text(text).map(Some).ok_or_else(unknown)
        }
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Records a mark on the file system that is mounted at `root`. Whether there is room for it: its type may have no such
/// attributes, or the process may lack the capability.
///
/// # Errors
///
/// The disk cannot be written to.
pub fn mark_file_system(root: &Path, mark: &DiskMark) -> io::Result<bool> {
    match setxattr(root, ATTRIBUTE, mark.to_string().as_bytes(), XattrFlags::empty()) {
        Ok(()) => File::open(root)?.sync_all().map(|()| true),
        Err(Errno::OPNOTSUPP | Errno::PERM) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::VolumeName;

    fn disk(serial: &str) -> DiskIdentity {
        DiskIdentity { serial: Some(serial.into()), size: 1 << 30, ..DiskIdentity::default() }
    }

    #[test]
    fn a_mark_is_there_after_a_restart_also_if_the_disk_was_formatted() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(folder.path()).unwrap();
        let offered = DiskMark::Offered(VolumeName::new("local-pv-1"));
        ledger.record(&disk("S1"), &offered).unwrap();
        ledger.record(&disk("S1"), &DiskMark::Clean).unwrap();
        ledger.record(&disk("S2"), &offered).unwrap();
        assert!(Ledger::open(folder.path()).is_err(), "it has one owner");
        drop(ledger);
        let ledger = Ledger::open(folder.path()).unwrap().marks();
        let formatted = DiskIdentity { file_system: Some("f".into()), ..disk("S1") };
        assert_eq!(ledger.mark(&formatted), Some(DiskMark::Clean));
        assert_eq!(ledger.mark(&disk("S2")), Some(offered));
        assert_eq!(ledger.mark(&disk("S3")), None);
        assert_eq!(ledger.mark(&DiskIdentity::default()), None);
    }

    #[test]
    fn a_damaged_ledger_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.json"), "{").unwrap();
        assert!(Ledger::open(folder.path()).is_err());
    }
}

//! Marks of disks: on the root folder of a file system, or in a folder of the node for a disk that has no room for one.
//!
//! A mark is on the disk before this returns: the act that it announces follows at once.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, XattrFlags, flock, getxattr, setxattr};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::disk_lock::DiskLock;
use crate::api::local_volume::disk_label;
use crate::disks::{DiskComparison, DiskIdentity, DiskMark};
use crate::model::VolumeName;

/// The extended attribute. `trusted` can be read and written with `CAP_SYS_ADMIN` only: no pod can forge it.
const ATTRIBUTE: &str = "trusted.bindery.mark";

/// A mark is shorter: a volume's name has at most 253 characters, and its uid 36.
const MARK_BYTES_MAX: usize = 512;

/// How long a permit lasts that is not renewed. 10 minutes: a restart of the provisioner takes less. A cleaning that starts or
/// ends later is made again: a claim may have got the volume while no provisioner looked.
const PERMIT: Duration = Duration::from_mins(10);

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permit: Option<Permit>,
    /// The name of its file without the ending. It stays, whatever else becomes known of the disk: a second file would be a
    /// second permit.
    #[serde(skip)]
    file: String,
}

/// What allows a Job to clean a disk.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Permit {
    cleaning: Box<str>,
    /// Seconds since 1970.
    until: u64,
}

impl Permit {
    fn is_valid(&self) -> bool {
        // One that is further away was given by a clock that was ahead.
        let now = seconds_from_now(Duration::ZERO);
        now < self.until && self.until <= now + PERMIT.as_secs()
    }
}

fn seconds_from_now(time: Duration) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (now + time).as_secs()
}

impl LedgerEntry {
    fn new(identity: &DiskIdentity, mark: &DiskMark, permit: Option<Permit>) -> Self {
        // Without the UUID of a file system: a pod formats the block device that it was given.
        let DiskIdentity { wwn, serial, mapping, partition, file_system: _, folder, size } =
            identity.clone();
        let mark = mark.to_string();
        let file = String::new();
        Self { mark, wwn, serial, mapping, partition, folder, size, permit, file }
    }

    /// Reads the files of a ledger.
    fn read_all(folder: &Path) -> io::Result<Vec<Self>> {
        let mut entries = Vec::new();
        for file in fs::read_dir(folder)? {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let damaged = |error| io::Error::other(format!("{}: {error}", path.display()));
                let mut entry: Self = serde_json::from_slice(&fs::read(&path)?).map_err(damaged)?;
                if DiskMark::from_text(&entry.mark).is_none() {
                    let reason =
                        format!("{}: the mark {:?} is unknown", path.display(), entry.mark);
                    return Err(io::Error::other(reason));
                }
                entry.file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                entries.push(entry);
            }
        }
        Ok(entries)
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
        let entries = LedgerEntry::read_all(folder)?;
        Ok(Self { folder: folder.to_owned(), marks: LedgerMarks(Arc::new(entries)), _lock: lock })
    }

    /// The marks as they are now.
    pub fn marks(&self) -> LedgerMarks {
        self.marks.clone()
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Records the mark of the disk with this identity. A permit of a Job ends with that.
    ///
    /// # Errors
    ///
    /// It cannot be written, or a process of a Job has the disk.
    pub fn record(&mut self, identity: &DiskIdentity, mark: &DiskMark) -> io::Result<()> {
        let lock = self.lock_permitted(identity)?;
        self.write(LedgerEntry::new(identity, mark, None))?;
        lock.map_or(Ok(()), DiskLock::remove)
    }

    /// Records the mark of a disk whose lock the caller has.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn record_locked(
        &mut self,
        lock: DiskLock,
        identity: &DiskIdentity,
        mark: &DiskMark,
    ) -> io::Result<()> {
        self.write(LedgerEntry::new(identity, mark, None))?;
        lock.remove()
    }

    /// Permits a Job to clean the disk of a volume. Returns the cleaning; that of a permit that is valid goes on.
    ///
    /// # Errors
    ///
    /// It cannot be written, or a process of an earlier Job has the disk.
    pub fn permit(&mut self, identity: &DiskIdentity, volume: &VolumeName) -> io::Result<Box<str>> {
        let mark = DiskMark::Cleaning(volume.clone());
        let known = self.marks.valid_permit(identity);
        let earlier = if known.is_none() { self.lock_permitted(identity)? } else { None };
        let cleaning = known.map_or_else(new_cleaning, Ok)?;
        // Its file is there before a Job looks for it.
        drop(DiskLock::take(&self.folder, &cleaning)?);
        let until = seconds_from_now(PERMIT);
        let permit = Permit { cleaning: cleaning.clone(), until };
        self.write(LedgerEntry::new(identity, &mark, Some(permit)))?;
        earlier.map_or(Ok(()), DiskLock::remove)?;
        Ok(cleaning)
    }

    /// Renews a permit that is valid, once half of its time is over. Whether it is valid.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn renew(&mut self, identity: &DiskIdentity, volume: &VolumeName) -> io::Result<bool> {
        let Some(permit) = self.marks.permit_of(identity).filter(|permit| permit.is_valid()) else {
            return Ok(false);
        };
        if permit.until < seconds_from_now(PERMIT / 2) {
            self.permit(identity, volume)?;
        }
        Ok(true)
    }

    /// Takes the lock of the permit for this disk, if there is one.
    fn lock_permitted(&self, identity: &DiskIdentity) -> io::Result<Option<DiskLock>> {
        let Some(permit) = self.marks.permit_of(identity) else { return Ok(None) };
        let lock = DiskLock::take(&self.folder, &permit.cleaning)?;
        let busy = || io::Error::new(io::ErrorKind::ResourceBusy, "a Job still cleans the disk");
        lock.ok_or_else(busy).map(Some)
    }

    fn write(&mut self, mut entry: LedgerEntry) -> io::Result<()> {
        let identity = entry.identity();
        let known = self.marks.entry(&identity).map(|known| known.file.clone());
        entry.file = known.unwrap_or_else(|| disk_label(&identity));
        let path = |ending: &str| self.folder.join(format!("{}.{ending}", entry.file));
        let (path, new) = (path("json"), path("new"));
        let mut file = File::create(&new)?;
        serde_json::to_writer(&file, &entry)?;
        file.flush()?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        File::open(&self.folder)?.sync_all()?;
        let entries = Arc::make_mut(&mut self.marks.0);
        entries.retain(|known| !is_same(&known.identity(), &identity));
        entries.push(entry);
        Ok(())
    }
}

/// Returns a name that no other cleaning has.
fn new_cleaning() -> io::Result<Box<str>> {
    // Linux: `drivers/char/random.c`, `proc_do_uuid`: another one at each read.
    Ok(fs::read_to_string("/proc/sys/kernel/random/uuid")?.trim().into())
}

impl LedgerMarks {
    /// The mark of the disk with this identity.
    pub fn mark(&self, identity: &DiskIdentity) -> Option<DiskMark> {
        DiskMark::from_text(&self.entry(identity)?.mark)
    }

    /// The cleaning for which a Job has a permit, whether that is still valid or not.
    pub fn permit(&self, identity: &DiskIdentity) -> Option<Box<str>> {
        Some(self.permit_of(identity)?.cleaning.clone())
    }

    /// The cleaning for which a Job has a permit that is valid.
    pub fn valid_permit(&self, identity: &DiskIdentity) -> Option<Box<str>> {
        let permit = self.permit_of(identity).filter(|permit| permit.is_valid())?;
        Some(permit.cleaning.clone())
    }

    fn permit_of(&self, identity: &DiskIdentity) -> Option<&Permit> {
        self.entry(identity)?.permit.as_ref()
    }

    fn entry(&self, identity: &DiskIdentity) -> Option<&LedgerEntry> {
        self.0.iter().find(|entry| is_same(&entry.identity(), identity))
    }
}

/// The disk that a permit is for, as a Job reads it.
#[derive(Clone, Debug)]
pub struct PermittedDisk {
    identity: DiskIdentity,
    /// Its mark.
    pub mark: Option<DiskMark>,
    /// Whether the permit has not expired.
    pub is_valid: bool,
}

impl PermittedDisk {
    /// Reads the ledger of a provisioner; nothing if there is no permit for this cleaning. Only the owner of its lock may call it.
    pub fn read(ledger: &Path, cleaning: &str) -> io::Result<Option<Self>> {
        let entries = LedgerEntry::read_all(ledger)?;
        let of = |entry: &LedgerEntry| {
            let permit = entry.permit.as_ref().filter(|permit| &*permit.cleaning == cleaning)?;
            let (identity, mark) = (entry.identity(), DiskMark::from_text(&entry.mark));
            Some(Self { identity, mark, is_valid: permit.is_valid() })
        };
        Ok(entries.iter().find_map(of))
    }

    /// Returns whether it is the disk with this identity.
    pub fn is_disk(&self, identity: &DiskIdentity) -> bool {
        is_same(&self.identity, identity)
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
    fn a_permit_ends_only_by_who_has_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(folder.path()).unwrap();
        let volume = VolumeName::new("local-pv-1");
        let cleaning = ledger.permit(&disk("S1"), &volume).unwrap();
        assert_eq!(ledger.permit(&disk("S1"), &volume).unwrap(), cleaning, "it goes on");
        assert!(ledger.renew(&disk("S1"), &volume).unwrap());
        let read = || PermittedDisk::read(folder.path(), &cleaning).unwrap();
        let permitted = read().unwrap();
        assert!(permitted.is_valid && permitted.is_disk(&disk("S1")));
        assert!(!permitted.is_disk(&disk("S2")));
        assert_eq!(permitted.mark, Some(DiskMark::Cleaning(volume)));
        let job = DiskLock::take_existing(folder.path(), &cleaning).unwrap().unwrap();
        let error = ledger.record(&disk("S1"), &DiskMark::Clean).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        assert!(read().is_some());
        drop(job);
        // What is known of the disk changes: it keeps its file.
        let known = DiskIdentity { wwn: Some("naa.5".into()), ..disk("S1") };
        ledger.record(&known, &DiskMark::Clean).unwrap();
        assert!(read().is_none());
        let error = DiskLock::take_existing(folder.path(), &cleaning).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        drop(ledger);
        let ledger = Ledger::open(folder.path()).unwrap().marks();
        assert_eq!(ledger.mark(&disk("S1")), Some(DiskMark::Clean));
    }

    #[test]
    fn a_permit_that_was_not_renewed_is_another_cleanings() {
        let folder = tempfile::tempdir().unwrap();
        let volume = VolumeName::new("local-pv-1");
        let mut ledger = Ledger::open(folder.path()).unwrap();
        let cleaning = ledger.permit(&disk("S1"), &volume).unwrap();
        let mark = DiskMark::Cleaning(volume.clone());
        let expired = Permit { cleaning: cleaning.clone(), until: 1 };
        ledger.write(LedgerEntry::new(&disk("S1"), &mark, Some(expired))).unwrap();
        assert!(!PermittedDisk::read(folder.path(), &cleaning).unwrap().unwrap().is_valid);
        assert!(!ledger.renew(&disk("S1"), &volume).unwrap());
        assert_ne!(ledger.permit(&disk("S1"), &volume).unwrap(), cleaning);
        assert!(PermittedDisk::read(folder.path(), &cleaning).unwrap().is_none());
    }

    #[test]
    fn a_damaged_ledger_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.json"), "{").unwrap();
        assert!(Ledger::open(folder.path()).is_err());
    }
}

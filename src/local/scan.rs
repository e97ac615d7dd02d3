//! One scan of all discovery folders.
//!
//! It reads no content of a disk and changes nothing. Not here: what follows (`disks`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, major, minor, statvfs};

use super::configuration::{DiscoveryClass, LocalConfiguration, OfferedMode};
use super::device::{BlockDevice, DeviceNumber, Devices};
use super::found::{EntryKey, Found, PathTarget, Scan};
use super::ledger::{LedgerMarks, mark_on_file_system};
use super::mounts::{Mount, Mounts};
use super::overlap::mark_shared;
use super::source::{DiskSource, file_device, is_locked};
use super::unanswered::Inspected;
use crate::disks::{Disk, DiskContent, DiskEntry, DiskForm, DiskIdentity, FreeSpace, Unusable};

/// Why a disk is unusable whose inspection does not end.
const NO_ANSWER: &str = "the disk does not answer";

/// What a scan needs besides the folders.
#[derive(Debug)]
pub struct Scanner<'a> {
    /// The devices of the machine.
    pub devices: &'a Devices,
    /// What is taken for disks.
    pub source: &'a DiskSource,
    /// The marks that are not on the disks.
    pub ledger: &'a LedgerMarks,
    /// What is inspected at the moment, and what does not answer.
    pub inspected: &'a Inspected,
    /// The folder of the kubelet, below which it mounts what pods use.
    pub kubelet: &'a Path,
}

/// The mount table, and what of it is for pods.
struct MountTable {
    all: Mounts,
    /// The folders of each device that the kubelet has mounted.
    pods: BTreeMap<DeviceNumber, Vec<PathBuf>>,
}

impl MountTable {
    fn new(all: Mounts, kubelet: &Path) -> Self {
        let mut pods: BTreeMap<DeviceNumber, Vec<PathBuf>> = BTreeMap::new();
        for mount in all.below(kubelet) {
            pods.entry(mount.device).or_default().push(mount.root.clone());
        }
        Self { all, pods }
    }

    /// Returns whether a pod writes to what is mounted, or to a part of it.
    fn is_used_by_pod(&self, mount: &Mount) -> bool {
        let mut roots = self.pods.get(&mount.device).into_iter().flatten();
        roots.any(|root| root.starts_with(&mount.root) || mount.root.starts_with(root))
    }
}

impl Scanner<'_> {
    /// Scans the folders of all StorageClasses.
    ///
    /// # Errors
    ///
    /// The mount table cannot be read.
    pub fn scan(&self, configuration: &LocalConfiguration) -> io::Result<Scan> {
        let mounts = MountTable::new(Mounts::read()?, self.kubelet);
        let mut scan = Scan::default();
        for (name, class) in &configuration.classes {
            match entries(class) {
                Ok(files) => {
                    let own_disks = own_disks(&mounts.all, &class.mount_dir);
                    for file in files {
                        let found = self.inspect(&mounts, &own_disks, class, &file);
                        scan.entries.insert(EntryKey { class: name.clone(), file }, found);
                    }
                }
                Err(error) => {
                    scan.unreadable.insert(name.clone(), error.to_string());
                }
            }
        }
        mark_shared(&mut scan.entries);
        Ok(scan)
    }

    /// Inspects one entry as it is now. Whether it overlaps with others is not seen.
    ///
    /// # Errors
    ///
    /// The mount table cannot be read.
    pub fn inspect_entry(&self, class: &DiscoveryClass, file: &str) -> io::Result<Option<Found>> {
        let mounts = MountTable::new(Mounts::read()?, self.kubelet);
        if !fs::exists(class.mount_dir.join(file))? {
            return Ok(None);
        }
        let own_disks = own_disks(&mounts.all, &class.mount_dir);
        Ok(Some(self.inspect(&mounts, &own_disks, class, file)))
    }

    fn inspect(
        &self,
        mounts: &MountTable,
        own_disks: &BTreeSet<DeviceNumber>,
        class: &DiscoveryClass,
        file: &str,
    ) -> Found {
        let path = class.mount_dir.join(file);
        let unusable = |why| Found {
            entry: DiskEntry::Unusable(why),
            path: path.clone(),
            device: String::new(),
            target: None,
            stack: BTreeSet::new(),
        };
        let Some(_inspected) = self.inspected.begin(&path) else {
            return unusable(Unusable::Unreadable(NO_ANSWER.into()));
        };
        match self.disk(mounts, own_disks, class, &path) {
            Ok(Ok((disk, device))) => Found {
                entry: DiskEntry::Disk(disk),
                target: fs::metadata(&path).ok().map(|metadata| PathTarget::of(&metadata)),
                path,
                device: device.name,
                stack: device.stack,
            },
            Ok(Err(why)) => unusable(why),
            Err(error) => unusable(Unusable::Unreadable(error.to_string().into())),
        }
    }

    fn disk(
        &self,
        mounts: &MountTable,
        own_disks: &BTreeSet<DeviceNumber>,
        class: &DiscoveryClass,
        path: &Path,
    ) -> io::Result<Result<(Disk, BlockDevice), Unusable>> {
        let is_link = fs::symlink_metadata(path)?.is_symlink();
        let metadata = fs::metadata(path)?;
        let kind = metadata.file_type();
        if kind.is_block_device() {
            let number = (major(metadata.rdev()), minor(metadata.rdev()));
            return self.block_device(path, number);
        }
        if let (DiskSource::Files(_), Some(number)) = (self.source, self.source.number(&metadata)) {
            let device = file_device(path, &metadata, self.devices.machine());
            return Ok(Ok((self.disk_on(number, &device, is_locked(path)?), device)));
        }
        if !kind.is_dir() {
            return Ok(Err(Unusable::OtherFile));
        }
        if is_link {
            return Ok(Err(Unusable::LinkToFolder));
        }
        let Some(mount) = mounts.all.at(path) else { return Ok(Err(Unusable::NotMounted)) };
        if own_disks.contains(&mount.device) {
            return Ok(Err(Unusable::FolderOfRootDisk));
        }
        if class.mode == OfferedMode::Block {
            return Ok(Err(Unusable::NotBlock));
        }
        let (disk, device) = self.file_system(mounts, mount, path)?;
        let kept = if class.overwrites_free_space { free_space_kept(mount, &disk) } else { None };
        Ok(kept.map_or(Ok((disk, device)), |why| Err(Unusable::NotOverwritable(why))))
    }

    fn file_system(
        &self,
        mounts: &MountTable,
        mount: &Mount,
        path: &Path,
    ) -> io::Result<(Disk, BlockDevice)> {
        // A file system without a device of its own (tmpfs, NFS) has nothing that it is recognized by.
        let number = device_of(mount);
        let device = self.devices.device(number).unwrap_or_else(|_| BlockDevice {
            name: String::new(),
            identity: DiskIdentity::default(),
            part: None,
            stack: BTreeSet::from([mount.device]),
        });
        let mut identity = device.identity.clone();
        identity.file_system = self.devices.file_system_uuid(&device.name).map(Into::into);
        let folder = mount.root.to_string_lossy();
        identity.folder = (folder != "/").then(|| folder.as_ref().into());
        let size = statvfs(path)?;
        let mark = mark_on_file_system(path)?.or_else(|| self.ledger.mark(&identity));
        let disk = Disk {
            form: DiskForm::FileSystem,
            device: number,
            mark,
            permit: None,
            capacity: size.f_blocks.saturating_mul(size.f_frsize),
            content: DiskContent::Unread,
            is_in_use: mounts.is_used_by_pod(mount),
            identity,
        };
        Ok((disk, device))
    }

    fn block_device(
        &self,
        path: &Path,
        number: DeviceNumber,
    ) -> io::Result<Result<(Disk, BlockDevice), Unusable>> {
        let device = self.devices.device(number)?;
        if let Some(part) = &device.part {
            return Ok(Err(Unusable::Divided(part.as_str().into())));
        }
        let is_in_use = is_opened_exclusively(path)? || is_mapped(self.kubelet, number);
        Ok(Ok((self.disk_on(number, &device, is_in_use), device)))
    }

    fn disk_on(&self, number: DeviceNumber, device: &BlockDevice, is_in_use: bool) -> Disk {
        Disk {
            form: DiskForm::BlockDevice,
            device: number,
            mark: self.ledger.mark(&device.identity),
            permit: self.ledger.permit(&device.identity),
            capacity: device.identity.size,
            content: DiskContent::Unread,
            is_in_use,
            identity: device.identity.clone(),
        }
    }
}

/// Returns whether a pod has the device as a raw volume: the kubelet then has a loop device on a bind mount of it.
///
/// Kubernetes: `pkg/volume/util/operationexecutor/operation_generator.go`, `GenerateMapVolumeFunc`.
pub(super) fn is_mapped(kubelet: &Path, number: DeviceNumber) -> bool {
    let loops = fs::read_dir("/sys/block").into_iter().flatten().filter_map(Result::ok);
    loops.filter(|entry| entry.file_name().to_string_lossy().starts_with("loop")).any(|entry| {
        let file = fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        let file = Path::new(file.trim_end());
        let metadata = file.starts_with(kubelet).then(|| fs::metadata(file));
        metadata.is_some_and(|metadata| {
            // What cannot be seen may be the device.
            metadata.map_or(true, |it| {
                let is_device = it.file_type().is_block_device();
                !is_device || (major(it.rdev()), minor(it.rdev())) == number
            })
        })
    })
}

/// The names of the entries of a discovery folder.
fn entries(class: &DiscoveryClass) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(&class.mount_dir)? {
        // A name that is not text cannot be in the path of a volume.
        if let Ok(name) = entry?.file_name().into_string() {
            files.push(name);
        }
    }
    files.retain(|name| class.name_pattern.matches(name));
    Ok(files)
}

/// The devices of the node's own disks: that of the discovery folder itself, of the root, and in a pod that of the files
/// that the kubelet mounts.
fn own_disks(mounts: &Mounts, discovery: &Path) -> BTreeSet<DeviceNumber> {
    let paths = [discovery, Path::new("/"), Path::new("/etc/hosts")];
    paths.into_iter().filter_map(|path| mounts.around(path)).map(|mount| mount.device).collect()
}

/// Why not all of the free space of a file system can be overwritten; nothing if it can.
///
/// Linux: XFS and btrfs have a reserve that no file gets, and that only a program for the file system can change; ext4 lends
/// its own.
fn free_space_kept(mount: &Mount, disk: &Disk) -> Option<FreeSpace> {
    if disk.identity.folder.is_some() {
        return Some(FreeSpace::Shared);
    }
    (mount.fs_type != "ext4").then(|| FreeSpace::KeptBack(mount.fs_type.as_str().into()))
}

/// The device of a mount. Where the file system has a number of its own, as that of btrfs, it is that of its source.
fn device_of(mount: &Mount) -> DeviceNumber {
    if mount.device.0 != 0 {
        return mount.device;
    }
    let metadata = fs::metadata(&mount.source).ok().filter(|it| it.file_type().is_block_device());
    metadata.map_or(mount.device, |it| (major(it.rdev()), minor(it.rdev())))
}

/// Returns whether a file system, a mapping or another program has the device for itself.
fn is_opened_exclusively(device: &Path) -> io::Result<bool> {
    let exclusive = i32::try_from(OFlags::EXCL.bits()).map_err(io::Error::other)?;
    match OpenOptions::new().read(true).custom_flags(exclusive).open(device) {
        Ok(File { .. }) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(true),
        Err(error) => Err(not_opened(error)),
    }
}

/// Returns an error with what to do about it where a person can do something.
///
/// Container runtimes allow only privileged containers to open devices, for any user and any mount.
fn not_opened(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return error;
    }
    io::Error::other(format!(
        "the device cannot be opened: {error}; only a privileged container may open block devices; \
         set local.privileged in the values of the chart, or mount a file system in place of the link"
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::local::configuration;

    /// Scans a discovery folder with a regular file in it, and a link to that file.
    fn scanned(source: &DiskSource, mode: &str) -> Vec<DiskEntry> {
        let folder = tempfile::tempdir().unwrap();
        let [disks, files] = ["disks", "files"].map(|name| folder.path().join(name));
        fs::create_dir(&disks).unwrap();
        fs::create_dir(&files).unwrap();
        fs::write(disks.join("file"), [0; 4096]).unwrap();
        fs::write(files.join("other"), [0; 4096]).unwrap();
        std::os::unix::fs::symlink(files.join("other"), disks.join("link")).unwrap();
        let settings = folder.path().join("configuration");
        fs::create_dir(&settings).unwrap();
        let path = disks.display();
        let map = format!(
            "raw: {{hostDir: {path}, mountDir: {path}, volumeMode: {mode}, onContent: offer}}"
        );
        fs::write(settings.join("storageClassMap"), map).unwrap();
        let (ledger, inspected) = (LedgerMarks::default(), Inspected::default());
        let devices = Devices::new("machine");
        let (kubelet, ledger, inspected) = (folder.path(), &ledger, &inspected);
        let scanner = Scanner { devices: &devices, source, ledger, inspected, kubelet };
        let scan = scanner.scan(&configuration::read(&settings).unwrap()).unwrap();
        scan.entries.into_values().map(|found| found.entry).collect()
    }

    #[test]
    fn a_regular_file_is_no_disk_of_a_node_whatever_is_configured() {
        for mode in ["Block", "Filesystem"] {
            let unusable = DiskEntry::Unusable(Unusable::OtherFile);
            assert_eq!(scanned(&DiskSource::Devices, mode), [unusable.clone(), unusable]);
        }
        let found = scanned(&DiskSource::Files(Arc::default()), "Block");
        assert!(found.iter().all(|entry| matches!(entry, DiskEntry::Disk(_))), "{found:?}");
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_device_that_may_not_be_opened_says_that_the_container_is_not_privileged() {
        let denied = not_opened(io::Error::from_raw_os_error(1)).to_string();
        assert!(denied.contains("(os error 1); only a privileged container"), "{denied}");
        let other = not_opened(io::Error::from_raw_os_error(5)).to_string();
        assert!(!other.contains("privileged"), "{other}");
    }
}

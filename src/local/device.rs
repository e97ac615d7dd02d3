//! Block devices as the kernel shows them in `/sys`: what each is recognized by, and what it is a part of.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::disks::DiskIdentity;

/// Major and minor number.
pub type DeviceNumber = (u32, u32);

/// A block device.
#[derive(Clone, Debug)]
pub struct BlockDevice {
    /// Its name, such as `sdb1`.
    pub name: String,
    /// What it is recognized by; the file system on it is not read.
    pub identity: DiskIdentity,
    /// A partition of it, or a device that is made of it.
    pub part: Option<String>,
    /// Itself, and all that it is a part of or made of.
    pub stack: BTreeSet<DeviceNumber>,
}

/// The devices of this machine during one scan: each is read once.
#[derive(Debug)]
pub struct Devices {
    machine: String,
    by_uuid: BTreeMap<String, String>,
    by_partition: BTreeMap<String, String>,
    known: RefCell<BTreeMap<DeviceNumber, BlockDevice>>,
    file_systems: RefCell<BTreeMap<String, Option<String>>>,
}

/// A device cannot be made of itself; the deepest usual stack is a disk, an array, encryption and a logical volume.
const DEPTH_MAX: usize = 16;

impl Devices {
    /// The devices of the machine with this machine-id: a file behind a loop device is known by its path, which means
    /// another file on another machine.
    pub fn new(machine: &str) -> Self {
        Self {
            machine: machine.to_owned(),
            by_uuid: links("/dev/disk/by-uuid"),
            by_partition: links("/dev/disk/by-partuuid"),
            known: RefCell::default(),
            file_systems: RefCell::default(),
        }
    }

    /// The machine-id.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// Returns the device with this number. The error is one that the kernel does not have.
    pub fn device(&self, number: DeviceNumber) -> io::Result<BlockDevice> {
        if let Some(known) = self.known.borrow().get(&number) {
            return Ok(known.clone());
        }
        let device = self.read(number)?;
        self.known.borrow_mut().insert(number, device.clone());
        Ok(device)
    }

    fn read(&self, number: DeviceNumber) -> io::Result<BlockDevice> {
        let folder = folder(number)?;
        let name = name_of(&folder);
        let partition = text(&folder.join("partition"));
        let disk = if partition.is_some() { parent(&folder) } else { folder.clone() };
        // Its UUID, or its number where it has none.
        let partition =
            partition.map(|number| self.by_partition.get(&name).cloned().unwrap_or(number));
        let mapping = self.mapping(&disk);
        let mut stack = BTreeSet::new();
        add_stack(&folder, &mut stack, DEPTH_MAX);
        let sectors: u64 =
            text(&folder.join("size")).and_then(|text| text.parse().ok()).unwrap_or(0);
        let identity = DiskIdentity {
            wwn: wwn(&disk).map(Into::into),
            serial: serial(&disk).map(Into::into),
            mapping: mapping.map(Into::into),
            partition: partition.map(Into::into),
            // Linux: sectors of 512 bytes, whatever those of the device are.
            size: sectors.saturating_mul(512),
            ..DiskIdentity::default()
        };
        Ok(BlockDevice { part: part(&folder), name, identity, stack })
    }

    /// Returns the UUID of the file system on the device of this name, in the usual form; nothing where it has none, or
    /// cannot be read.
    pub fn file_system_uuid(&self, device: &str) -> Option<String> {
        let mut known = self.file_systems.borrow_mut();
        let uuid = known.entry(device.to_owned()).or_insert_with(|| {
            self.by_uuid.get(device).cloned().or_else(|| {
                // Linux: a slash in a name is shown as an exclamation mark.
                let path = Path::new("/dev").join(device.replace('!', "/"));
                superblock_uuid(&File::open(path).ok()?)
            })
        });
        uuid.clone()
    }

    fn mapping(&self, disk: &Path) -> Option<String> {
        let mapper = text(&disk.join("dm/uuid")).or_else(|| text(&disk.join("md/uuid")));
        let file = || {
            let file = text(&disk.join("loop/backing_file"))?;
            // Without a machine-id, the files of all machines would be one.
            (!self.machine.is_empty()).then(|| format!("loop-{}-{file}", self.machine))
        };
        mapper.or_else(file)
    }
}

/// The names of the links in a folder, by the names of the devices that they lead to.
fn links(folder: &str) -> BTreeMap<String, String> {
    let links = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let named = links.filter_map(|link| {
        let target = fs::read_link(link.path()).ok()?;
        let device = target.file_name()?.to_string_lossy().into_owned();
        Some((device, link.file_name().to_string_lossy().into_owned()))
    });
    named.collect()
}

fn folder((major, minor): DeviceNumber) -> io::Result<PathBuf> {
    fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"))
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn parent(folder: &Path) -> PathBuf {
    folder.parent().map(Path::to_owned).unwrap_or_default()
}

/// The text of an attribute; nothing where it is absent or empty.
fn text(path: &Path) -> Option<String> {
    let text =
        String::from_utf8_lossy(&fs::read(path).ok()?).trim_matches(['\n', '\0', ' ']).to_owned();
    (!text.is_empty()).then_some(text)
}

/// `NVMe` has it beside, SCSI below `device`. A name by vendor and model (`t10.`) is the same in each virtual machine.
fn wwn(disk: &Path) -> Option<String> {
    let name = text(&disk.join("wwid")).or_else(|| text(&disk.join("device/wwid")))?;
    (!name.starts_with("t10.")).then_some(name)
}

/// `NVMe` and SCSI have it below `device`, virtio beside; page 0x80 of SCSI has four bytes before it.
fn serial(disk: &Path) -> Option<String> {
    let page = || {
        let page = fs::read(disk.join("device/vpd_pg80")).ok()?;
        let serial = String::from_utf8_lossy(page.get(4..)?).trim().to_owned();
        (!serial.is_empty()).then_some(serial)
    };
    text(&disk.join("device/serial")).or_else(|| text(&disk.join("serial"))).or_else(page)
}

/// A partition of the device, or a device that is made of it.
fn part(folder: &Path) -> Option<String> {
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let holder = names(&folder.join("holders")).into_iter().next();
    let is_partition = |name: &String| folder.join(name).join("partition").exists();
    holder.or_else(|| names(folder).into_iter().find(is_partition))
}

fn add_stack(folder: &Path, stack: &mut BTreeSet<DeviceNumber>, depth: usize) {
    let number = text(&folder.join("dev"));
    let number = number.as_deref().and_then(|text| text.split_once(':'));
    let parsed = number.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    stack.extend(parsed);
    if depth == 0 {
        return;
    }
    if folder.join("partition").exists() {
        add_stack(&parent(folder), stack, depth - 1);
    }
    let slaves = fs::read_dir(folder.join("slaves")).into_iter().flatten().filter_map(Result::ok);
    for slave in slaves.filter_map(|slave| fs::canonicalize(slave.path()).ok()) {
        add_stack(&slave, stack, depth - 1);
    }
}

/// Where the superblock of each file system has its magic number and its UUID.
///
/// Linux: `fs/ext4/ext4.h`, `fs/xfs/libxfs/xfs_format.h`, `fs/btrfs/accessors.h`.
const SUPERBLOCKS: [(u64, &[u8], u64); 3] =
    [(0x438, &[0x53, 0xef], 0x468), (0, b"XFSB", 32), (0x1_0040, b"_BHRfS_M", 0x1_0020)];

fn superblock_uuid(device: &File) -> Option<String> {
    SUPERBLOCKS.iter().find_map(|(magic_at, magic, uuid_at)| {
        let mut found = vec![0; magic.len()];
        device.read_exact_at(&mut found, *magic_at).ok()?;
        let mut uuid = [0; 16];
        device.read_exact_at(&mut uuid, *uuid_at).ok()?;
        (found == *magic).then(|| spelled(uuid))
    })
}

fn spelled(uuid: [u8; 16]) -> String {
    let digits: Vec<String> = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let groups = [0..4, 4..6, 6..8, 8..10, 10..16].map(|range| digits[range].concat());
    groups.join("-")
}

//! Disks of a node: files behind loop devices, and the folders of the node in which they are found.
//!
//! Everything is in the mount namespace of the tests, and is taken down with it; loop devices are detached one by one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::eventually::eventually;

const MIB: u64 = 1 << 20;

/// A node's folders and disks.
pub(crate) struct NodeDisks {
    folder: tempfile::TempDir,
    /// Loop devices by the names of their disks.
    loops: BTreeMap<String, String>,
    mounts: Vec<PathBuf>,
}

/// Runs a program that has to succeed, and returns what it prints.
#[track_caller]
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output =
        output.unwrap_or_else(|error| panic!("{program} cannot be started: {error}; install it"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl NodeDisks {
    /// A node without disks. Its discovery folders are on a file system of their own, as on a real node's root disk.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let node = Self { folder, loops: BTreeMap::new(), mounts: Vec::new() };
        for name in ["files", "fast", "raw", "kubelet/pods", "ledger", "config"] {
            fs::create_dir_all(node.path(name)).unwrap();
        }
        node
    }

    /// A path below the folders of the node.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The file that has the bytes of a disk.
    pub(crate) fn bytes(&self, disk: &str) -> PathBuf {
        self.path("files").join(disk)
    }

    fn attach(&mut self, disk: &str, mib: u64) -> String {
        let file = self.bytes(disk);
        File::create(&file).unwrap().set_len(mib * MIB).unwrap();
        let device = run("losetup", &["--find", "--show", &file.to_string_lossy()]);
        self.loops.insert(disk.to_owned(), device.clone());
        device
    }

    /// The device of a disk.
    pub(crate) fn device(&self, disk: &str) -> String {
        self.loops[disk].clone()
    }

    /// Makes a new disk with an ext4 file system, and returns its device.
    pub(crate) fn format(&mut self, disk: &str, mib: u64) -> String {
        let device = self.attach(disk, mib);
        run("mkfs.ext4", &["-q", &device]);
        device
    }

    /// Mounts a new ext4 file system as `fast/NAME`.
    pub(crate) fn file_system(&mut self, name: &str, mib: u64) {
        let device = self.format(name, mib);
        self.mount_found(name, &device);
    }

    /// Mounts a new XFS file system as `fast/NAME`.
    pub(crate) fn xfs(&mut self, name: &str, mib: u64) {
        let device = self.attach(name, mib);
        run("mkfs.xfs", &["-q", &device]);
        self.mount_found(name, &device);
    }

    /// Mounts a device where it is found.
    fn mount_found(&mut self, name: &str, device: &str) {
        let point = self.path("fast").join(name);
        fs::create_dir(&point).unwrap();
        self.mount(&[device], &point);
    }

    /// Links a new block device as `raw/NAME`.
    pub(crate) fn block_device(&mut self, name: &str, mib: u64) -> PathBuf {
        let device = self.attach(name, mib);
        let link = self.path("raw").join(name);
        symlink(&device, &link).unwrap();
        link
    }

    pub(crate) fn mount(&mut self, arguments: &[&str], point: &Path) {
        let point_text = point.to_string_lossy();
        let arguments: Vec<&str> = arguments.iter().copied().chain([&*point_text]).collect();
        run("mount", &arguments);
        self.mounts.push(point.to_owned());
    }

    /// Mounts a file system that answers no call until what is returned is dropped, as a disk that hangs: one in user space
    /// whose program does not read its requests.
    pub(crate) fn mount_silent(&mut self, point: &Path) -> File {
        let device = File::options().read(true).write(true).open("/dev/fuse").unwrap();
        let options = "fd=0,rootmode=40000,user_id=0,group_id=0";
        let mut command = Command::new("mount");
        let command = command.args(["-i", "-t", "fuse", "-o", options, "silent"]).arg(point);
        let mounted = command.stdin(device.try_clone().unwrap()).status().unwrap();
        assert!(mounted.success(), "{}: {mounted}", point.display());
        self.mounts.push(point.to_owned());
        device
    }

    /// Unmounts, as often as it takes: so does the kubelet where a process that only looks has it open.
    pub(crate) fn unmount(&mut self, point: &Path) {
        eventually("it is unmounted", Duration::from_secs(20), || {
            let output = Command::new("umount").arg(point).output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() { Ok(()) } else { Err(errors) }
        });
        self.mounts.retain(|mounted| mounted != point);
    }

    /// Whether the bytes of a disk hold this text anywhere.
    pub(crate) fn holds(&self, disk: &str, text: &str) -> bool {
        run("sync", &[]);
        let mut file = File::open(self.bytes(disk)).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

impl Drop for NodeDisks {
    fn drop(&mut self) {
        for point in self.mounts.iter().rev() {
            drop(Command::new("umount").arg("--lazy").arg(point).status());
        }
        for device in self.loops.values() {
            drop(Command::new("losetup").arg("--detach").arg(device).status());
        }
    }
}

//! The disks of a node: files in a discovery folder and in a drawer, what tenants have written to each, and which pods have
//! one open.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use bindery_sim::SeededRng;
use tempfile::TempDir;

/// All of a node that a provisioner finds again after a kill, and what tenants know of it.
pub(super) struct NodeDisks {
    folder: TempDir,
    pub(super) media: Vec<Medium>,
    /// The entries of the discovery folder; each has the medium of its number first.
    pub(super) slots: Vec<Slot>,
    /// The uids of the claims that exist.
    pub(super) live: BTreeSet<String>,
}

/// One entry of the discovery folder.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) medium: Option<usize>,
    /// The disk, opened by a pod.
    pub(super) user: Option<File>,
}

/// One disk.
#[derive(Debug)]
pub(super) struct Medium {
    /// What it is recognized by, wherever it is.
    inode: u64,
    /// What a tenant would read from it.
    image: Vec<u8>,
    /// The uid of the claim whose data it holds.
    written_by: Option<String>,
    /// Whether someone did what makes the provisioner leave it to a person: its volume was deleted by hand, or its data was
    /// written in the place of another disk.
    pub(super) is_doubtful: bool,
}

/// The sizes of disks. Samples see all of the small one; of the large one they miss two of three blocks in the middle.
const SIZES: [u64; 2] = [1 << 20, 3 << 20];

/// A block of what a tenant writes.
const BLOCK: usize = 4096;

/// Between the samples of the large disk.
const UNSAMPLED: u64 = (1 << 20) + (128 << 10) + 4096;

impl NodeDisks {
    /// Two to four empty disks in the discovery folder, and one in the drawer.
    pub(super) fn new(rng: &mut SeededRng) -> Self {
        // Ledger and cleaning wait for the disk with each write, which a folder in memory spares a thousand scenarios.
        let memory = Path::new("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let folder = folder.expect("a folder");
        for name in ["disks", "drawer", "kubelet", "configuration"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let count = 2 + usize::try_from(rng.below(3)).expect("small");
        let mut media = Self {
            folder,
            media: Vec::new(),
            slots: (0..count).map(|number| Slot { medium: Some(number), user: None }).collect(),
            live: BTreeSet::new(),
        };
        for number in 0..=count {
            let path = if number < count { media.entry(number) } else { media.drawer(number) };
            let size = *rng.pick(&SIZES).expect("some");
            let file = File::create(path).expect("a disk");
            file.set_len(size).expect("a disk");
            media.media.push(Medium {
                inode: file.metadata().expect("a disk").ino(),
                image: vec![0; usize::try_from(size).expect("a size")],
                written_by: None,
                is_doubtful: false,
            });
        }
        media
    }

    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The path of an entry of the discovery folder.
    fn entry(&self, slot: usize) -> PathBuf {
        self.folder("disks").join(file_name(slot))
    }

    fn drawer(&self, medium: usize) -> PathBuf {
        self.folder("drawer").join(medium.to_string())
    }

    fn path(&self, medium: usize) -> PathBuf {
        let slot = self.slots.iter().position(|slot| slot.medium == Some(medium));
        slot.map_or_else(|| self.drawer(medium), |slot| self.entry(slot))
    }

    fn bytes(&self, medium: usize) -> Vec<u8> {
        fs::read(self.path(medium)).expect("a disk")
    }

    /// The disk that a volume was made for, by what the volume records of it.
    pub(super) fn recorded(&self, mapping: &str) -> Option<usize> {
        self.media.iter().position(|medium| mapping.ends_with(&format!("-{}", medium.inode)))
    }

    /// The uid of the claim whose data a disk holds.
    pub(super) fn owner(&self, medium: usize) -> Option<&str> {
        self.media[medium].written_by.as_deref()
    }

    /// Returns whether a disk holds nothing but zeros.
    pub(super) fn is_clean(&self, medium: usize) -> bool {
        let bytes = self.bytes(medium);
        // As one comparison, which is fast in code that is not optimized too.
        bytes == vec![0; bytes.len()]
    }

    /// Returns whether a disk holds a part of what was written to it, and not all.
    pub(super) fn is_half_cleaned(&self, medium: usize) -> bool {
        !self.is_clean(medium) && self.bytes(medium) != self.media[medium].image
    }

    /// The disks that hold other bytes than their tenant has written: those of claims that exist, and those that pods use.
    pub(super) fn changed(&self) -> Vec<usize> {
        let used = |medium| {
            self.slots.iter().any(|slot| slot.medium == Some(medium) && slot.user.is_some())
        };
        let is_protected = |medium: &usize| {
            let owner = self.media[*medium].written_by.as_ref();
            owner.is_some_and(|uid| self.live.contains(uid) || used(*medium))
        };
        let protected = (0..self.media.len()).filter(is_protected);
        protected.filter(|medium| self.bytes(*medium) != self.media[*medium].image).collect()
    }

    /// Lets a pod open the disk of a slot. The kernel denies that while it is being cleaned.
    pub(super) fn open(&mut self, slot: usize) {
        let Some(medium) = self.slots[slot].medium else { return };
        let file = File::open(self.entry(slot)).expect("a disk");
        if file.try_lock_shared().is_ok() {
            self.slots[slot].user = Some(file);
            self.forget_former_tenant(medium);
        }
    }

    /// What was removed from a disk since its tenant went is not his any more. Of a claim that exists, nothing may be missing.
    fn forget_former_tenant(&mut self, medium: usize) {
        if self.owner(medium).is_some_and(|uid| self.live.contains(uid)) {
            return;
        }
        self.media[medium].image = self.bytes(medium);
        if self.is_clean(medium) {
            self.media[medium].written_by = None;
        }
    }

    /// Lets the pod of a claim write to the disk that it has open: at the start, where samples see it, and elsewhere.
    pub(super) fn write(&mut self, slot: usize, claim: &str, rng: &mut SeededRng) {
        let (Some(medium), true) = (self.slots[slot].medium, self.slots[slot].user.is_some())
        else {
            return;
        };
        let path = self.entry(slot);
        let disk = OpenOptions::new().write(true).open(&path).expect("a disk");
        let Medium { image, written_by, .. } = &mut self.media[medium];
        if written_by.as_deref() != Some(claim) {
            // What a former tenant has left, if a person gave the disk away with it, is this one's now.
            *image = fs::read(&path).expect("a disk");
        }
        let blocks = u64::try_from(image.len() / BLOCK).expect("a size");
        let mut offsets = BTreeSet::from([0, UNSAMPLED, rng.below(blocks) * 4096]);
        offsets.retain(|at| usize::try_from(*at).expect("a size") < image.len());
        let text = claim.as_bytes().iter().copied().cycle().take(BLOCK).collect::<Vec<u8>>();
        for at in offsets {
            disk.write_all_at(&text, at).expect("written");
            let start = usize::try_from(at).expect("a size");
            image[start..start + BLOCK].copy_from_slice(&text);
        }
        *written_by = Some(claim.to_owned());
    }

    /// Exchanges the disk of a slot that no pod uses for that in the drawer. Whether it was possible.
    pub(super) fn exchange(&mut self, slot: usize, other: usize) -> bool {
        let Some(medium) = self.slots[slot].medium else { return false };
        let is_away = self.slots.iter().all(|slot| slot.medium != Some(other));
        if self.slots[slot].user.is_some() || !is_away {
            return false;
        }
        self.unplug(slot);
        self.plug_in(slot, other);
        self.media[medium].is_doubtful = true;
        self.media[other].is_doubtful = true;
        true
    }

    pub(super) fn unplug(&mut self, slot: usize) {
        if let (Some(medium), None) = (self.slots[slot].medium, &self.slots[slot].user) {
            fs::rename(self.entry(slot), self.drawer(medium)).expect("moved");
            self.slots[slot].medium = None;
        }
    }

    pub(super) fn plug_in(&mut self, slot: usize, medium: usize) {
        fs::rename(self.drawer(medium), self.entry(slot)).expect("moved");
        self.slots[slot].medium = Some(medium);
    }
}

/// The name of an entry of the discovery folder.
pub(super) fn file_name(slot: usize) -> String {
    format!("disk-{slot}")
}

/// What occurred, so that a test in which nothing happens does not pass.
pub(super) type Tally = BTreeMap<&'static str, u64>;

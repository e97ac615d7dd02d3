//! Entries that are the same disk as another one, or a part of it: who writes to one, writes to both.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::device::DeviceNumber;
use super::found::{EntryKey, Found};
use crate::disks::{Disk, DiskEntry, DiskForm, Unusable};

/// Marks them as unusable. Time grows with the number of entries, not with its square.
pub(super) fn mark_shared(entries: &mut BTreeMap<EntryKey, Found>) {
    let mut by_device: BTreeMap<DeviceNumber, Vec<&EntryKey>> = BTreeMap::new();
    for (key, found) in entries.iter() {
        if let DiskEntry::Disk(disk) = &found.entry {
            by_device.entry(disk.device).or_default().push(key);
        }
    }
    let mut shared: Vec<(EntryKey, EntryKey)> = Vec::new();
    let mut both = |one: &EntryKey, other: &EntryKey| {
        shared.push((one.clone(), other.clone()));
        shared.push((other.clone(), one.clone()));
    };
    for (key, found) in entries.iter() {
        let DiskEntry::Disk(disk) = &found.entry else { continue };
        // A disk below this one: what it is a partition of, or made of.
        for device in found.stack.iter().filter(|device| **device != disk.device) {
            by_device.get(device).into_iter().flatten().for_each(|other| both(key, other));
        }
    }
    for keys in by_device.values().filter(|keys| keys.len() > 1) {
        overlapping(entries, keys, &mut both);
    }
    for (key, other) in shared {
        let path = entries.get(&other).map(|found| found.path.to_string_lossy().into_owned());
        if let (Some(found), Some(path)) = (entries.get_mut(&key), path) {
            found.entry = DiskEntry::Unusable(Unusable::SharedWith(path.into()));
        }
    }
}

/// Finds the entries of one device that overlap: folders of its file system only where one is inside the other.
fn overlapping(
    entries: &BTreeMap<EntryKey, Found>,
    keys: &[&EntryKey],
    both: &mut impl FnMut(&EntryKey, &EntryKey),
) {
    let mut folders: Vec<(PathBuf, &EntryKey)> =
        keys.iter().map(|key| (entries.get(*key).map(folder).unwrap_or_default(), *key)).collect();
    // Paths are ordered by their parts: what is inside a folder follows it.
    folders.sort();
    let mut outer: Option<&(PathBuf, &EntryKey)> = None;
    for inner in &folders {
        match outer {
            Some((path, key)) if inner.0.starts_with(path) => both(key, inner.1),
            Some(_) | None => outer = Some(inner),
        }
    }
}

/// The folder of the device's file system that an entry is; of a whole device, all.
fn folder(found: &Found) -> PathBuf {
    match &found.entry {
        DiskEntry::Disk(Disk { form: DiskForm::FileSystem, identity, .. }) => {
            Path::new(identity.folder.as_deref().unwrap_or("/")).to_owned()
        }
        DiskEntry::Disk(_) | DiskEntry::Unusable(_) => PathBuf::from("/"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::disks::{DiskContent, DiskIdentity};

    fn entry(form: DiskForm, minor: u32, folder: &str, stack: &[u32]) -> Found {
        let folder = (folder != "/").then(|| folder.into());
        let disk = Disk {
            form,
            device: (8, minor),
            identity: DiskIdentity { folder, ..DiskIdentity::default() },
            capacity: 1,
            content: DiskContent::Unread,
            mark: None,
            permit: None,
            is_in_use: false,
        };
        let stack: BTreeSet<DeviceNumber> = stack.iter().map(|minor| (8, *minor)).collect();
        Found {
            entry: DiskEntry::Disk(disk),
            path: format!("/mnt/{minor}").into(),
            device: String::new(),
            target: None,
            stack,
        }
    }

    #[test]
    fn disks_that_overlap_are_found_and_folders_beside_each_other_are_not() {
        let (file_system, block) = (DiskForm::FileSystem, DiskForm::BlockDevice);
        for (entries, shared) in [
            (
                vec![entry(file_system, 1, "/a", &[1, 0]), entry(file_system, 1, "/b", &[1, 0])],
                vec![],
            ),
            (
                vec![entry(file_system, 1, "/a", &[1]), entry(file_system, 1, "/a/b", &[1])],
                vec![0, 1],
            ),
            (
                vec![
                    entry(file_system, 1, "/a", &[1]),
                    entry(file_system, 1, "/a-b", &[1]),
                    entry(file_system, 1, "/a/b", &[1]),
                ],
                vec![0, 2],
            ),
            (vec![entry(file_system, 1, "/", &[1]), entry(file_system, 1, "/b", &[1])], vec![0, 1]),
            (vec![entry(block, 1, "/", &[1]), entry(block, 1, "/", &[1])], vec![0, 1]),
            (vec![entry(block, 1, "/", &[1, 0]), entry(block, 0, "/", &[0])], vec![0, 1]),
            (vec![entry(file_system, 1, "/a", &[1, 0]), entry(block, 0, "/", &[0])], vec![0, 1]),
            // Two logical volumes of one disk.
            (vec![entry(block, 1, "/", &[1, 0]), entry(block, 2, "/", &[2, 0])], vec![]),
        ] {
            let key = |number: usize| EntryKey { class: "a".to_owned(), file: number.to_string() };
            let count = entries.len();
            let mut map: BTreeMap<EntryKey, Found> = entries
                .into_iter()
                .enumerate()
                .map(|(number, found)| (key(number), found))
                .collect();
            mark_shared(&mut map);
            let is_shared = |number: &usize| {
                matches!(map[&key(*number)].entry, DiskEntry::Unusable(Unusable::SharedWith(_)))
            };
            assert_eq!((0..count).filter(is_shared).collect::<Vec<_>>(), shared, "{map:?}");
        }
    }
}

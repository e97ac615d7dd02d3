//! What is on a disk: a listing of a file system, samples of a block device, or all of it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::disks::DiskContent;

/// A sample. 4 KiB: what a disk reads at a time anyway.
const SAMPLE_BYTES: u64 = 4096;

/// Samples between both ends. 256 take a second on a spinning disk.
const SAMPLES_COUNT: u64 = 256;

/// What is read at each end: partition tables, and the headers of file systems, arrays and volume managers are there.
const END_BYTES: u64 = 1 << 20;

/// What is read at a time of a whole device.
const CHUNK_BYTES: usize = 1 << 20;

/// Returns what the file system that is mounted at `root` holds. An empty `lost+found`, which `mkfs` makes, is nothing.
pub fn of_file_system(root: &Path) -> io::Result<DiskContent> {
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let is_made_by_mkfs = entry.file_name() == "lost+found"
            && entry.file_type()?.is_dir()
            && fs::read_dir(entry.path())?.next().is_none();
        if !is_made_by_mkfs {
            return Ok(DiskContent::Something);
        }
    }
    Ok(DiskContent::Empty)
}

/// Returns what samples of a block device show.
pub fn sampled(device: &Path) -> io::Result<DiskContent> {
    let mut file = File::open(device)?;
    let size = file.seek(SeekFrom::End(0))?;
    let ends = [0, size.saturating_sub(END_BYTES)].map(|at| (at, END_BYTES));
    let step = (size / SAMPLES_COUNT).max(SAMPLE_BYTES);
    let between = (0..SAMPLES_COUNT).map(|number| (number * step, SAMPLE_BYTES));
    for (at, length) in ends.into_iter().chain(between).filter(|(at, _)| *at < size) {
        let length = usize::try_from(length.min(size - at)).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, at)?;
        if !is_zero(&bytes) {
            return Ok(DiskContent::Something);
        }
    }
    Ok(DiskContent::ZerosInSamples)
}

/// Returns what all of a block device holds. Hours for a large disk.
pub fn whole(device: &Path) -> io::Result<DiskContent> {
    let mut file = File::open(device)?;
    let mut bytes = vec![0; CHUNK_BYTES];
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(DiskContent::Empty),
            length if is_zero(&bytes[..length]) => {}
            _ => return Ok(DiskContent::Something),
        }
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    let mut words = bytes.chunks_exact(16);
    words.by_ref().all(|word| word == [0; 16]) && words.remainder().iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn one_byte_anywhere_is_found_by_a_whole_read_and_at_the_ends_by_samples() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        let size = 16 << 20;
        for (at, is_sampled) in [(0, true), (size - 1, true), (END_BYTES + 4097, false)] {
            let file = File::create(&path).unwrap();
            file.set_len(size).unwrap();
            assert_eq!(sampled(&path).unwrap(), DiskContent::ZerosInSamples);
            assert_eq!(whole(&path).unwrap(), DiskContent::Empty);
            file.write_all_at(&[1], at).unwrap();
            let expected =
                if is_sampled { DiskContent::Something } else { DiskContent::ZerosInSamples };
            assert_eq!(sampled(&path).unwrap(), expected, "{at}");
            assert_eq!(whole(&path).unwrap(), DiskContent::Something, "{at}");
        }
    }

    #[test]
    fn hidden_files_are_something_and_an_empty_lost_and_found_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let lost = folder.path().join("lost+found");
        fs::create_dir(&lost).unwrap();
        assert_eq!(of_file_system(folder.path()).unwrap(), DiskContent::Empty);
        for path in [lost.join("#12"), folder.path().join(".hidden")] {
            File::create(&path).unwrap().write_all(b"x").unwrap();
            assert_eq!(of_file_system(folder.path()).unwrap(), DiskContent::Something);
            fs::remove_file(&path).unwrap();
        }
    }
}

//! The proof that a cleaning reached the end of a block device: its name at the start of the device.
//!
//! What a Job reports can be written by everyone who may write Jobs, and samples miss what is small. This is written by the
//! process that has cleaned, after all else. No tenant can write it: the name is made after the claim is gone, and a tenant
//! that gets the device later finds it without.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// What comes before the name.
const PREFIX: &str = "bindery: clean by ";

fn text(cleaning: &str) -> Vec<u8> {
    format!("{PREFIX}{cleaning}").into_bytes()
}

/// Writes the proof. It is on the device before this returns.
pub fn write(device: &File, cleaning: &str) -> io::Result<()> {
    device.write_all_at(&text(cleaning), 0)?;
    device.sync_all()
}

/// Returns whether the device has the proof of this cleaning.
pub fn has(device: &File, cleaning: &str) -> io::Result<bool> {
    let expected = text(cleaning);
    let mut found = vec![0; expected.len()];
    match device.read_exact_at(&mut found, 0) {
        Ok(()) => Ok(found == expected),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Overwrites the proof with zeros.
pub fn remove(device: &File, cleaning: &str) -> io::Result<()> {
    device.write_all_at(&vec![0; text(cleaning).len()], 0)?;
    device.sync_all()
}

#[test]
fn a_proof_is_of_one_cleaning_and_leaves_nothing() {
    let device = tempfile::tempfile().unwrap();
    assert!(!has(&device, "c1").unwrap(), "it is too small");
    device.set_len(4096).unwrap();
    assert!(!has(&device, "c1").unwrap());
    write(&device, "c1").unwrap();
    assert!(has(&device, "c1").unwrap() && !has(&device, "c2").unwrap());
    remove(&device, "c1").unwrap();
    let mut bytes = [1; 4096];
    device.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(bytes, [0; 4096]);
}

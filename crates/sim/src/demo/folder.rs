//! The folder of one demo: certificate, key, and a review for curl.
//!
//! No other user can look into it, and it is removed with everything in it when the demo ends, however
//! it ends.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;

use super::error::DemoError;

/// An existing folder of this process alone. Removed when it is dropped.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

/// How many names are tried: others are only taken by demos of the same process or by leavings of
/// a killed process of the same number.
const TRIES_COUNT_MAX: u32 = 100;

impl Folder {
    /// Makes a new one in `parent`.
    pub(super) fn create(parent: &Path) -> Result<Self, DemoError> {
        let mut number = 0;
        loop {
            let path = parent.join(format!("bindery-demo-{}-{number}", process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists && number < TRIES_COUNT_MAX =>
                {
                    number += 1;
                }
                Err(reason) => return Err(denied(&path, reason)),
            }
        }
    }

    /// The path of something in it.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Makes a folder in it, and returns its path.
    pub(super) fn create_folder(&self, name: &str) -> Result<PathBuf, DemoError> {
        let path = self.path(name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => Ok(path),
            Err(reason) => Err(denied(&path, reason)),
        }
    }

    /// Writes a new file that no other user can read, and returns its path.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf, DemoError> {
        let path = self.path(name);
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match opened.and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => Ok(path),
            Err(reason) => Err(denied(&path, reason)),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // No one is left to notify, and nothing in it is worth anything.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn denied(path: &Path, reason: io::Error) -> DemoError {
    DemoError::Folder { path: path.display().to_string(), reason }
}

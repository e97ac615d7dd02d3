//! Removes all that is on a disk, and proves that it is gone.
//!
//! Whether that may be done is decided in `disks`, and the mark that announces it is on the disk before.

pub mod block;
pub mod by_job;
mod command;
pub mod file_system;
pub mod proof;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

pub use self::command::run_command;

/// How far a cleaning is, in bytes.
#[derive(Debug, Default)]
pub struct CleaningProgress(AtomicU64);

impl CleaningProgress {
    /// Adds bytes that are gone.
    pub fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns how many bytes are gone.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why a disk is not clean.
#[derive(Debug, thiserror::Error)]
pub enum CleanError {
    /// Something is left.
    #[error(
        "{0} is still there after everything was removed; something writes to the disk: end it"
    )]
    Left(String),
    /// The device is another one now.
    #[error(
        "the disk was exchanged while it was to be cleaned; nothing of the new one was removed"
    )]
    Exchanged,
    /// A pod got the device meanwhile.
    #[error(
        "a pod got the device while it was being cleaned; the rest of it was not touched; back up what the pod has written, \
         then delete its PVC"
    )]
    InUse,
    /// The command of the StorageClass failed.
    #[error("blockCleanerCommand {command} {reason}")]
    Command {
        /// The command.
        command: String,
        /// How it ended.
        reason: String,
    },
    /// The disk or the kernel reports an error.
    #[error("{path}: {error}")]
    Io {
        /// What was accessed.
        path: String,
        /// The error.
        error: io::Error,
    },
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> CleanError + '_ {
    move |error| CleanError::Io { path: path.display().to_string(), error }
}

//! One run of the command line: its time, its memory and what it printed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::plane::process::dying_with_us;
use crate::process::peak;

/// How often the memory of a running command is looked at. Its peak only grows, so that no more than the growth of its last
/// milliseconds is missed.
const LOOK: Duration = Duration::from_millis(3);

/// What came of a run.
pub(crate) struct Run {
    /// From the start of the process to its end.
    pub(crate) seconds: f64,
    /// The peak of its resident memory.
    pub(crate) megabytes: f64,
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// What it printed.
    pub(crate) output: Vec<u8>,
}

/// Runs `bindery` in a folder, where its output goes into a file.
pub(crate) fn run(
    folder: &Path,
    words: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<Run, String> {
    let failed = |error: std::io::Error| format!("cannot run bindery: {error}");
    let printed = folder.join("output");
    let start = Instant::now();
    let mut child = dying_with_us(Path::new(env!("CARGO_BIN_EXE_bindery")))
        .args(words)
        .stdout(File::create(&printed).map_err(failed)?)
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(failed)?;
    let id = child.id();
    let has_ended = AtomicBool::new(false);
    let (status, seconds, bytes) = thread::scope(|scope| {
        let watched = scope.spawn(|| {
            let mut bytes = 0.0_f64;
            while !has_ended.load(Ordering::Relaxed) {
                // A process that has just ended has none.
                bytes = bytes.max(peak(id).unwrap_or_default());
                thread::park_timeout(LOOK);
            }
            bytes
        });
        let status = child.wait();
        let seconds = start.elapsed().as_secs_f64();
        has_ended.store(true, Ordering::Relaxed);
        (status, seconds, watched.join().unwrap_or(f64::NAN))
    });
    let status = status.map_err(failed)?;
    let output = fs::read(&printed).map_err(failed)?;
    Ok(Run { seconds, megabytes: bytes / 1e6, status, output })
}

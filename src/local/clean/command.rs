//! Runs the command that a StorageClass has for cleaning a block device.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use super::CleanError;
use super::block::prove;

/// Lines of its output that are logged. A loop over 16 TB may print one for each megabyte.
const LINES_COUNT_MAX: usize = 1000;

/// Runs the command on a block device, then proves by samples that the device is empty.
///
/// sig-storage-local-static-provisioner: `pkg/deleter/deleter.go`, `execScript`: the path is in `LOCAL_PV_BLKDEVICE`.
///
/// # Errors
///
/// The command cannot be started, fails, or leaves something.
pub fn run_command(command: &[String], device: &Path) -> Result<(), CleanError> {
    let failed = |reason: String| CleanError::Command { command: command.join(" "), reason };
    let Some((program, arguments)) = command.split_first() else { return prove(device) };
    let mut child = Command::new(program)
        .args(arguments)
        .env("LOCAL_PV_BLKDEVICE", device)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("cannot be started: {error}")))?;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        scope.spawn(|| errors.into_iter().for_each(log));
        output.into_iter().for_each(log);
    });
    let status = child.wait().map_err(|error| failed(format!("cannot be waited for: {error}")))?;
    if !status.success() {
        return Err(failed(format!("failed with {status}; its output is in the log")));
    }
    // What the command has written may be in memory only, and what is recorded next must not be on a disk before it.
    let sync = || File::open(device)?.sync_all();
    sync().map_err(|error| failed(format!("cannot be written to the disk: {error}")))?;
    prove(device)
}

/// Logs lines of output, and reads on when they are too many: a full pipe would stop the command.
fn log(output: impl Read) {
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    for (number, line) in lines.enumerate() {
        if number < LINES_COUNT_MAX {
            tracing::info!(line, "output of blockCleanerCommand");
        }
    }
}

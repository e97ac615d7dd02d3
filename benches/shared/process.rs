//! What the kernel knows of a process: its memory and its processor time.

use std::fmt::Display;
use std::fs;

/// Kernel: times in `/proc` are in ticks of 10 ms on every architecture of Linux that Rust serves.
const TICKS_PER_SECOND: f64 = 100.0;

/// Resident memory now, in bytes.
pub(crate) fn resident(id: u32) -> Result<f64, String> {
    status_bytes(id, "VmRSS:")
}

/// The peak of resident memory since the start or since it was reset, in bytes.
pub(crate) fn peak(id: u32) -> Result<f64, String> {
    status_bytes(id, "VmHWM:")
}

/// Processor time of the processes together, in seconds; of the caller's own thread it is that of
/// `thread-self`.
pub(crate) fn processor_seconds<Id: Display>(
    ids: impl IntoIterator<Item = Id>,
) -> Result<f64, String> {
    let mut ticks = 0;
    for id in ids {
        let text = read(id, "stat")?;
        // After the name, which may hold anything, user and system time are fields 12 and 13.
        let (_, fields) = text.rsplit_once(')').unwrap_or_default();
        let times = fields.split_whitespace().skip(11).take(2);
        ticks += times.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>();
    }
    Ok(ticks as f64 / TICKS_PER_SECOND)
}

/// A line of `/proc/ID/status` that is given in kB, in bytes.
fn status_bytes(id: u32, line: &str) -> Result<f64, String> {
    let text = read(id, "status")?;
    let value = text.lines().find_map(|candidate| candidate.strip_prefix(line));
    let kilobytes = value.and_then(|value| value.trim().strip_suffix(" kB"));
    kilobytes
        .and_then(|number| number.trim().parse::<f64>().ok())
        .map(|kilobytes| kilobytes * 1024.0)
        .ok_or_else(|| format!("/proc/{id}/status has no {line}"))
}

fn read(id: impl Display, file: &str) -> Result<String, String> {
    let path = format!("/proc/{id}/{file}");
    fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))
}

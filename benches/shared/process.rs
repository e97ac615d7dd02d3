//! What the kernel knows of a process: its memory and its processor time.

use std::fs;

/// Kernel: times in `/proc` are in ticks of 10 ms on every architecture of Linux that Rust serves.
const TICKS_PER_SECOND: f64 = 100.0;

/// Resident memory now, in bytes.
pub(crate) fn resident(id: u32) -> Result<f64, String> {
    status_bytes(id, "VmRSS:")
}

/// The peak of resident memory since the start or since [`reset_peak`], in bytes.
pub(crate) fn peak(id: u32) -> Result<f64, String> {
    status_bytes(id, "VmHWM:")
}

/// Makes the peak what is resident now.
#[allow(dead_code, reason = "only hostile bodies are measured from a point in time on")]
pub(crate) fn reset_peak(id: u32) -> Result<(), String> {
    fs::write(format!("/proc/{id}/clear_refs"), "5")
        .map_err(|error| format!("cannot reset the peak of process {id}: {error}"))
}

/// Processor time of the processes together, in seconds.
pub(crate) fn processor_seconds(ids: impl IntoIterator<Item = u32>) -> Result<f64, String> {
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

/// The processes that this one started and that still run, with their names.
#[allow(dead_code, reason = "only races ask what everybody took")]
pub(crate) fn children() -> Result<Vec<(u32, String)>, String> {
    let tasks = fs::read_dir("/proc/self/task").map_err(|error| error.to_string())?;
    let mut children = Vec::new();
    for task in tasks.flatten() {
        // A thread that has just ended has none.
        let ids = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for id in ids.split_whitespace().filter_map(|id| id.parse().ok()) {
            children.push((id, read(id, "comm")?.trim().to_owned()));
        }
    }
    Ok(children)
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

fn read(id: u32, file: &str) -> Result<String, String> {
    let path = format!("/proc/{id}/{file}");
    fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))
}

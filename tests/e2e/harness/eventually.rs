//! Waiting for what the control plane does in its own time.
//!
//! It exists so that no case sleeps for a fixed time: a case polls until the thing is so, and fails
//! with what it saw last. Not here: time-outs of a single request (`plane::api`).

use std::thread;
use std::time::{Duration, Instant};

/// Between two probes. A probe costs the API server about a millisecond, so this keeps a waiting case
/// under a tenth of a core and adds little to its time.
const PAUSE: Duration = Duration::from_millis(25);

/// Probes until `probe` answers `Ok`, and returns that. An `Err` says what was seen instead.
/// Panics after `within`, with `what` and the last observation: this is how a case fails.
#[track_caller]
pub(crate) fn eventually<T>(
    what: &str,
    within: Duration,
    probe: impl FnMut() -> Result<T, String>,
) -> T {
    match poll(within, probe) {
        Ok(found) => found,
        Err(last) => panic!("not within {within:?}: {what}; last seen: {last}"),
    }
}

/// As [`eventually`], but hands the last observation back: for code that must not panic.
pub(crate) fn poll<T>(
    within: Duration,
    mut probe: impl FnMut() -> Result<T, String>,
) -> Result<T, String> {
    let start = Instant::now();
    loop {
        match probe() {
            Ok(found) => return Ok(found),
            Err(last) if start.elapsed() >= within => return Err(last),
            Err(_) => pause(),
        }
    }
}

/// Lets time pass: for what must not happen meanwhile, and for absences that a case plays.
pub(crate) fn wait(duration: Duration) {
    let start = Instant::now();
    while let Some(left) = duration.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
        thread::park_timeout(left);
    }
}

/// Gives way for the time between two probes. May end early, which only means one probe more.
pub(crate) fn pause() {
    thread::park_timeout(PAUSE);
}

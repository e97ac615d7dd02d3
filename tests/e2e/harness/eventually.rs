//! Waiting for what the control plane does in its own time.
//!
//! It exists so that no case sleeps for a fixed time: a case polls until the thing is so, and fails
//! with what it saw last. Not here: time-outs of a single request (`plane::api`).

use std::thread;
use std::time::{Duration, Instant};

/// Between two probes, where nothing is known of how long it takes.
const PAUSE: Duration = Duration::from_millis(25);

/// The part of the time waited so far after which the next probe follows: what takes long is asked for less often, and no wait
/// gets more than a twentieth longer. A probe costs the API server about a millisecond, which the cases beside it wait for.
const PART: u32 = 20;

/// The shortest and the longest time between two probes. What lasts a second is seen however long it was waited for.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(100);

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
            Err(_) => {
                thread::park_timeout((start.elapsed() / PART).clamp(SHORTEST, LONGEST));
            }
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

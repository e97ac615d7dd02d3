//! The processor time of the thread that asks: other work of the machine does not count.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Processor time of this thread, in microseconds.
pub(crate) fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let time = Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default());
    time.as_secs_f64() * 1e6
}

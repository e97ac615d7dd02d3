//! Whether the machine was asleep: time that the clock of all our deadlines does not know of.
//!
//! Linux stops the monotonic clock while a machine is suspended, and others have taken a lease by then that still
//! looks ours. The boot-time clock goes on: by how much it is ahead is the time asleep. Not here: what follows
//! from it (`lease`).

use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::watch;
use tokio::time::sleep;

use super::lease::LeadershipDeadline;

/// How often it is looked at: a lease lasts for many times that.
const PERIOD: Duration = Duration::from_secs(1);

/// How long the machine has been asleep since it was started; on others than Linux nobody knows.
pub(super) fn suspended_time() -> Duration {
    #[cfg(target_os = "linux")]
    {
        let read = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
        // In this order: what passes between the two is no sleep.
        let with_sleep = read(ClockId::Boottime);
        with_sleep.saturating_sub(read(ClockId::Monotonic))
    }
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}

/// Whether a deadline from when the machine had been asleep for `before` means nothing now; a sleep of `most` does no
/// harm to it.
pub(super) fn was_suspended(before: Duration, now: Duration, most: Duration) -> bool {
    now.saturating_sub(before) > most
}

/// Takes the lead away whenever the machine was asleep for longer than `most`, as `suspended_time` tells. Never ends.
pub(super) async fn drop_after_suspension(
    until: watch::Sender<LeadershipDeadline>,
    suspended_time: impl Fn() -> Duration,
    most: Duration,
) {
    let mut before = suspended_time();
    loop {
        sleep(PERIOD).await;
        let now = suspended_time();
        if was_suspended(before, now, most)
            && until.send_if_modified(|until| until.take().is_some())
        {
            let slept = now.saturating_sub(before).as_secs();
            tracing::warn!(slept, "the machine was suspended; the lease may be another's by now");
        }
        before = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_counts_from_two_seconds_on_and_clocks_that_go_apart_the_other_way_do_not() {
        let seconds = Duration::from_secs;
        let was_suspended = |before, now| was_suspended(before, now, seconds(2));
        assert!(!was_suspended(seconds(5), seconds(5)));
        assert!(!was_suspended(seconds(5), seconds(7)));
        assert!(was_suspended(seconds(5), seconds(7) + Duration::from_nanos(1)));
        assert!(!was_suspended(seconds(50), seconds(5)));
    }

    #[tokio::test]
    async fn who_is_awake_does_not_fall_asleep() {
        let before = suspended_time();
        sleep(Duration::from_millis(20)).await;
        assert!(!was_suspended(before, suspended_time(), Duration::ZERO));
    }
}

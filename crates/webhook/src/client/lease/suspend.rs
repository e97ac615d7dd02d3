//! Suspension of the machine: time that the monotonic clock of all deadlines does not count.
//!
//! Linux stops that clock while a machine is suspended, and another replica may have taken the lease by then. The
//! boot-time clock goes on: the difference is the suspended time. Not here: what follows from it (the leader election).

use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::watch;
use tokio::time::sleep;

use super::timing::LeadershipDeadline;

/// How often it is checked: a lease lasts for many times that.
const PERIOD: Duration = Duration::from_secs(1);

/// Returns how long the machine has been suspended since it was started; zero on other systems than Linux.
pub(super) fn suspended_time() -> Duration {
    #[cfg(target_os = "linux")]
    {
        let read = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
        // In this order: what passes between the two is no suspension.
        let with_suspension = read(ClockId::Boottime);
        with_suspension.saturating_sub(read(ClockId::Monotonic))
    }
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}

/// Returns whether the machine was suspended for longer than `most` since `before`, so that a deadline from then is
/// void.
pub(super) fn was_suspended(before: Duration, now: Duration, most: Duration) -> bool {
    now.saturating_sub(before) > most
}

/// Ends the lead whenever the machine was suspended for longer than `most`, according to `suspended_time`. Never returns.
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
            let suspended = now.saturating_sub(before).as_secs();
            tracing::warn!(
                suspended,
                "the machine was suspended; another replica may hold the lease by now"
            );
        }
        before = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspension_counts_from_two_seconds_on_and_clocks_that_diverge_the_other_way_do_not() {
        let seconds = Duration::from_secs;
        let was_suspended = |before, now| was_suspended(before, now, seconds(2));
        assert!(!was_suspended(seconds(5), seconds(5)));
        assert!(!was_suspended(seconds(5), seconds(7)));
        assert!(was_suspended(seconds(5), seconds(7) + Duration::from_nanos(1)));
        assert!(!was_suspended(seconds(50), seconds(5)));
    }

    #[tokio::test]
    async fn a_running_machine_is_not_suspended() {
        let before = suspended_time();
        sleep(Duration::from_millis(20)).await;
        assert!(!was_suspended(before, suspended_time(), Duration::ZERO));
    }
}

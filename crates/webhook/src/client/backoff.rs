//! Pauses between tries: longer each time while they come to nothing, and not the same for every process.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// What lasted so long did not come to nothing.
const STEADY: Duration = Duration::from_secs(5);

/// The pauses of one task that tries again and again.
#[derive(Debug)]
pub(super) struct Backoff {
    first: Duration,
    next: Duration,
    spread: u64,
    tries: u64,
}

/// The pause after so many failures in a row before this one: doubled each time, from the first up to the longest.
pub fn exponential((first, longest): (Duration, Duration), failures: u32) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(failures)).min(longest)
}

/// A number that differs between what differs in `what`, and is the same whenever that is the same.
pub fn spread(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// A number that differs between processes, as far as their hosts and numbers do.
pub fn spread_of_process() -> u64 {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    spread((host, std::process::id()))
}

impl Backoff {
    /// Pauses that begin with `first`. Tasks with another `spread` pause for other times.
    pub(super) fn new(first: Duration, spread: u64) -> Self {
        Self { first, next: first, spread, tries: 0 }
    }

    /// The pause after a try that failed after it had `lasted` so long: from the half to the whole of twice the one
    /// before, of `most` at most.
    pub(super) fn failed(&mut self, lasted: Duration, most: Duration) -> Duration {
        if lasted >= STEADY {
            self.next = self.first;
        }
        let pause = self.next.min(most);
        self.next = self.next.saturating_mul(2).min(most.max(self.first));
        self.tries += 1;
        let part = u32::try_from(spread((self.spread, self.tries)) % 1_000).unwrap_or_default();
        pause / 2 + pause / 2_000 * part
    }

    /// The pause after one that ended well: none, unless it was over at once, as the one before.
    pub(super) fn ended(&mut self, lasted: Duration, most: Duration) -> Duration {
        if lasted >= STEADY {
            self.next = self.first;
            self.tries = 0;
            return Duration::ZERO;
        }
        if self.tries == 0 {
            self.tries = 1;
            return Duration::ZERO;
        }
        self.failed(lasted, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(100);
    const MOST: Duration = Duration::from_secs(1);

    #[test]
    fn pauses_grow_up_to_the_longest_and_begin_again_after_what_lasted() {
        let mut backoff = Backoff::new(FIRST, 1);
        let expected = [100, 200, 400, 800, 1_000, 1_000];
        for most in expected {
            let pause = backoff.failed(Duration::ZERO, MOST).as_millis();
            assert!((most / 2..=most).contains(&pause), "{pause} of {most}");
        }
        assert!(backoff.failed(STEADY, MOST) <= FIRST);
    }

    #[test]
    fn what_ends_well_goes_on_at_once_but_not_again_and_again() {
        let mut backoff = Backoff::new(FIRST, 1);
        assert_eq!(backoff.ended(Duration::ZERO, MOST), Duration::ZERO);
        for _ in 0..5 {
            assert!(backoff.ended(Duration::ZERO, MOST) >= FIRST / 2);
        }
        assert_eq!(backoff.ended(STEADY, MOST), Duration::ZERO);
        assert_eq!(backoff.ended(Duration::ZERO, MOST), Duration::ZERO);
        assert!(backoff.ended(Duration::ZERO, MOST) <= FIRST);
    }

    #[test]
    fn two_processes_do_not_try_at_the_same_times() {
        let pauses = |spread| {
            let mut backoff = Backoff::new(FIRST, spread);
            (0..8).map(|_| backoff.failed(Duration::ZERO, MOST)).collect::<Vec<_>>()
        };
        assert_eq!(pauses(1), pauses(1));
        assert_ne!(pauses(1), pauses(2));
    }
}

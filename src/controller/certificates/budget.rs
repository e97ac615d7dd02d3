//! The rate limit of certificate writes: another writer that undoes them is not fought without end.

use std::time::Duration;

use tokio::time::Instant;

/// So many writes may follow each other at once. 20: four whole renewals.
const BURST: u32 = 20;

/// The writes that are left.
#[derive(Debug)]
pub(super) struct Budget {
    /// Time after which one more may follow.
    refill: Duration,
    /// When it will be full again; long ago if it is.
    full_at: Option<Instant>,
    /// Whether a warning was logged since it was last empty.
    is_logged: bool,
}

impl Budget {
    /// A full one, for changes that others need `propagation` to learn of. One more may follow after half of that: with the
    /// usual minute two writes a minute, which are no load and restore what was wiped.
    pub(super) fn new(propagation: Duration) -> Self {
        Self { refill: propagation / 2, full_at: None, is_logged: false }
    }

    /// Returns how long to wait for the next write; nothing if it may follow at once.
    pub(super) fn wait(&mut self, now: Instant) -> Option<Duration> {
        let excess = (self.next(now) - now).saturating_sub(self.refill * BURST);
        if excess.is_zero() {
            self.is_logged = false;
            return None;
        }
        if !std::mem::replace(&mut self.is_logged, true) {
            tracing::warn!(
                "certificates were written many times because another writer changes them; writes are rate limited"
            );
        }
        Some(excess)
    }

    /// One write was made.
    pub(super) fn spend(&mut self, now: Instant) {
        self.full_at = Some(self.next(now));
    }

    /// Returns when it would be full again after one more write.
    fn next(&self, now: Instant) -> Instant {
        self.full_at.filter(|full_at| *full_at > now).unwrap_or(now) + self.refill
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_at_a_time() {
        const REFILL: Duration = Duration::from_secs(30);
        let (mut budget, start) = (Budget::new(REFILL * 2), Instant::now());
        let spend = |budget: &mut Budget, now| {
            assert_eq!(budget.wait(now), None);
            budget.spend(now);
        };
        (0..BURST).for_each(|_| spend(&mut budget, start));
        assert_eq!(budget.wait(start), Some(REFILL));
        let later = start + REFILL;
        spend(&mut budget, later);
        assert_eq!(budget.wait(later), Some(REFILL));
        let much_later = start + REFILL * BURST * 3;
        (0..BURST).for_each(|_| spend(&mut budget, much_later));
        assert!(budget.wait(much_later).is_some());
    }
}

//! How often certificates may be written: whoever undoes our writes is not fought without end.

use std::time::Duration;

use tokio::time::Instant;

/// So many writes may follow each other at once. 20: four whole renewals.
const BURST: u32 = 20;

/// What is left to be written.
#[derive(Debug)]
pub(super) struct Budget {
    /// Time after which one more may follow.
    refill: Duration,
    /// When it will be full again; long ago if it is.
    full_at: Option<Instant>,
}

impl Budget {
    /// A full one, for changes that others need `settle` to learn of. One more may follow after half of that: with the
    /// usual minute two writes a minute, which harm nobody and heal what was wiped.
    pub(super) fn new(settle: Duration) -> Self {
        Self { refill: settle / 2, full_at: None }
    }

    /// Takes one write out of it.
    ///
    /// # Errors
    ///
    /// How long to wait for the next one.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let full_at = self.full_at.filter(|full_at| *full_at > now).unwrap_or(now) + self.refill;
        let debt = full_at - now;
        let most = self.refill * BURST;
        let excess = debt.saturating_sub(most);
        if !excess.is_zero() {
            return Err(excess);
        }
        self.full_at = Some(full_at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_at_a_time() {
        const REFILL: Duration = Duration::from_secs(30);
        let (mut budget, start) = (Budget::new(REFILL * 2), Instant::now());
        for _ in 0..BURST {
            assert_eq!(budget.take(start), Ok(()));
        }
        assert_eq!(budget.take(start), Err(REFILL));
        let later = start + REFILL;
        assert_eq!((budget.take(later), budget.take(later)), (Ok(()), Err(REFILL)));
        let much_later = start + REFILL * BURST * 3;
        assert!((0..BURST).all(|_| budget.take(much_later).is_ok()));
        assert!(budget.take(much_later).is_err());
    }
}

//! A rate limit for log lines, so that no client fills the disk or hides the lines about others.
//!
//! Counters stay exact. A line that is written says how many were left out since the last one.

use std::time::Duration;

use tokio::time::Instant;

/// So many lines in each window; the others are counted.
#[derive(Clone, Copy, Debug)]
pub struct LineBudget {
    lines_max: u32,
    window: Duration,
    began: Instant,
    granted: u32,
    withheld: u64,
}

impl LineBudget {
    /// A budget of `lines_max` lines in each `window`, the first of which begins `now`.
    pub fn new(lines_max: u32, window: Duration, now: Instant) -> Self {
        Self { lines_max, window, began: now, granted: 0, withheld: 0 }
    }

    /// Returns whether a line may be written now. `Some(n)`: yes, and `n` were left out since the last one.
    pub fn grant(&mut self, now: Instant) -> Option<u64> {
        if self.age(now) >= self.window {
            (self.began, self.granted) = (now, 0);
        }
        if self.granted >= self.lines_max {
            self.withheld += 1;
            return None;
        }
        self.granted += 1;
        Some(std::mem::take(&mut self.withheld))
    }

    /// Returns how long ago its window began.
    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }

    /// Returns whether lines were left out that no line has reported yet.
    pub fn is_withholding(&self) -> bool {
        self.withheld > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_thinned_and_the_next_window_says_how_much_was_left_out() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut budget = LineBudget::new(10, second, start);
        let granted = (0..5_000).filter(|_| budget.grant(start).is_some()).count();
        assert_eq!((granted, budget.is_withholding()), (10, true));
        assert_eq!(budget.grant(start + second), Some(4_990));
        assert_eq!(budget.grant(start + second), Some(0));
    }
}

//! A ceiling on log lines about peers, so that strangers cannot fill the disk.
//!
//! Counters (see `observer`) stay exact; only the lines are thinned. Lines about reviews do not
//! pass through here.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Lines per second about peers that misbehave. 10: enough to see what is going on, 864,000 lines
/// a day at worst.
const LINES_PER_SECOND: u32 = 10;

const WINDOW: Duration = Duration::from_secs(1);

/// Grants up to [`LINES_PER_SECOND`] lines in each second and counts the others.
#[derive(Debug)]
pub(crate) struct LineBudget {
    window: Mutex<Window>,
}

#[derive(Debug)]
struct Window {
    began: Instant,
    granted: u32,
    withheld: u64,
}

impl LineBudget {
    pub(crate) fn new(now: Instant) -> Self {
        Self { window: Mutex::new(Window { began: now, granted: 0, withheld: 0 }) }
    }

    /// Whether a line may be written now. `Some(n)`: yes, and `n` lines were withheld since the
    /// last one that was granted.
    pub(crate) fn grant(&self, now: Instant) -> Option<u64> {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(window.began) >= WINDOW {
            window.began = now;
            window.granted = 0;
        }
        if window.granted >= LINES_PER_SECOND {
            window.withheld += 1;
            return None;
        }
        window.granted += 1;
        Some(std::mem::take(&mut window.withheld))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_thinned_and_the_next_second_says_how_much_was_withheld() {
        let start = Instant::now();
        let budget = LineBudget::new(start);
        let granted = (0..5_000).filter(|_| budget.grant(start).is_some()).count();
        assert_eq!(granted, 10);
        assert_eq!(budget.grant(start + WINDOW), Some(4_990));
        assert_eq!(budget.grant(start + WINDOW), Some(0));
    }
}

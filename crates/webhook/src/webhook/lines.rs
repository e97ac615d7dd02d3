//! A rate limit for the log lines about each user's reviews, so that no user fills the disk or hides the others.
//!
//! Not here: how lines are counted (`telemetry::line_budget`).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::telemetry::line_budget::LineBudget;

/// Lines about one user in each [`WINDOW`]. 60: a person's or a deployment's every denial; a loop that is denied
/// thousands of times an hour is seen in as few.
const LINES_MAX: u32 = 60;

const WINDOW: Duration = Duration::from_mins(1);

/// Users who are counted apart at once; all others share the lines of one. 1,024: a few hundred kilobytes.
const USERS_MAX: usize = 1_024;

/// Grants each user so many lines and counts the others.
#[derive(Debug, Default)]
pub struct UserLines {
    users: Mutex<BTreeMap<Box<str>, LineBudget>>,
}

impl UserLines {
    /// Returns whether a line about this user may be written now. `Some(n)`: yes, and `n` were left out since the last
    /// one.
    pub(super) fn grant(&self, user: &str, now: Instant) -> Option<u64> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if users.len() >= USERS_MAX && !users.contains_key(user) {
            // A user whose window is over starts again; a count that no line has reported is forgotten after a while.
            users.retain(|_, lines| {
                lines.age(now) < if lines.is_withholding() { 10 * WINDOW } else { WINDOW }
            });
        }
        let user = if users.len() >= USERS_MAX && !users.contains_key(user) { "" } else { user };
        match users.get_mut(user) {
            Some(lines) => lines.grant(now),
            None => users
                .entry(user.into())
                .or_insert(LineBudget::new(LINES_MAX, WINDOW, now))
                .grant(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_lines_of_its_own_and_the_next_minute_says_what_was_left_out() {
        let (lines, start) = (UserLines::default(), Instant::now());
        let granted = |user, now| (0..500).filter(|_| lines.grant(user, now).is_some()).count();
        assert_eq!((granted("a", start), granted("b", start)), (60, 60));
        assert_eq!(lines.grant("a", start + WINDOW), Some(440));
        assert_eq!(lines.grant("a", start + WINDOW), Some(0));
    }

    #[test]
    fn the_number_of_users_is_bounded() {
        let (lines, start) = (UserLines::default(), Instant::now());
        let granted = (0..5_000).filter(|user| lines.grant(&user.to_string(), start).is_some());
        assert_eq!(granted.count(), USERS_MAX + 60);
        assert_eq!(lines.users.lock().unwrap().len(), USERS_MAX + 1);
        assert!(lines.grant("new", start + WINDOW).is_some());
        assert!(lines.users.lock().unwrap().len() <= 3);
    }
}

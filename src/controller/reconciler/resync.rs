//! Resync: reconciles objects although nothing happened to them, a few each second.
//!
//! A safety net, whose cost does not depend on how many objects there are.

use std::time::Duration;

use tokio::time::Instant;

use crate::binding::{ObjectKey, View};

/// Objects that are reconciled in one step.
pub(super) const OBJECTS_COUNT: usize = 200;

/// From the start of one round to that of the next, at least.
const PERIOD: Duration = Duration::from_mins(5);

/// A round over all objects, or the pause before the next.
#[derive(Debug, Default)]
pub(super) struct Resync {
    /// Where the next step starts; none between two rounds.
    next: Option<ObjectKey>,
    /// When the next round starts.
    starts_at: Option<Instant>,
}

impl Resync {
    /// Postpones the next round, because everything is reconciled now.
    pub(super) fn restart(&mut self, now: Instant) {
        self.starts_at = Some(now + PERIOD);
    }

    /// The objects of the next step.
    pub(super) fn step(&mut self, view: &View, now: Instant) -> Vec<ObjectKey> {
        if self.next.is_none() {
            if self.starts_at.is_some_and(|at| now < at) {
                return Vec::new();
            }
            self.restart(now);
        }
        let start = self.next.take();
        let mut rest = view.keys_from(start.as_ref());
        let due = rest.by_ref().take(OBJECTS_COUNT).collect();
        self.next = rest.next();
        due
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::binding::Observed;
    use crate::controller::reconciler::tests::pv;

    #[test]
    fn a_round_takes_each_object_once_and_the_next_starts_after_the_period() {
        let (mut view, mut resync, start) = (View::default(), Resync::default(), Instant::now());
        for number in 0..450 {
            let volume = pv(&format!("pv-{number}"), 1, "1Gi", "Available");
            view.apply(Observed::Volume(Arc::new(volume)));
        }
        let counts = [0; 4].map(|_| resync.step(&view, start).len());
        assert_eq!(counts, [200, 200, 50, 0]);
        assert_eq!(resync.step(&view, start + PERIOD).len(), 200);
        resync.restart(start);
        assert_eq!(resync.step(&view, start).len(), 200, "a round in progress goes on");
    }
}

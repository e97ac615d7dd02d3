//! How long a piece of work waits for others before it gives up.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::move_runner::MoveError;

/// The first pause before objects that another component is to change are read again, and the longest. 100 ms: a binder takes
/// about as long to bind one. 1 s: of hundreds, most wait for the binder's own rate.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// The time that is left until a step is given up.
#[derive(Debug)]
pub(super) struct Patience {
    timeout: Duration,
    until: Instant,
    pause: Duration,
}

impl Patience {
    /// Each step may wait this long.
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout, until: Instant::now() + timeout, pause: PAUSES.0 }
    }

    /// A step was made: the next one has the whole time again.
    pub(super) fn renew(&mut self) {
        *self = Self::new(self.timeout);
    }

    /// Waits a moment for what `reason` names.
    ///
    /// # Errors
    ///
    /// The step has waited for its whole time: why the work has not ended.
    pub(super) async fn wait(&mut self, reason: String) -> Result<(), String> {
        if Instant::now() >= self.until {
            return Err(format!("{reason}; run the same command again to resume it"));
        }
        sleep(self.pause).await;
        self.pause = PAUSES.1.min(self.pause * 2);
        Ok(())
    }
}

/// Returns what a failed request is repeated for.
///
/// # Errors
///
/// It would fail again: why.
pub(super) fn repeated(error: MoveError) -> Result<String, String> {
    match error {
        // Whether the write was made shows in the next step.
        error @ MoveError::Request { .. } => Ok(error.to_string()),
        // The quota controller counts the deletion of a claim a moment later.
        MoveError::Rejected { reason, .. } if reason.contains("exceeded quota") => Ok(reason),
        error @ (MoveError::Rejected { .. }
        | MoveError::Unreadable { .. }
        | MoveError::Journal { .. }
        | MoveError::VolumeGone(_)) => Err(error.to_string()),
    }
}

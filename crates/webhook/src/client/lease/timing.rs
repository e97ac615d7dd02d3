//! The periods of a lease, and what follows from them.

use std::time::Duration;

use tokio::time::Instant;

/// Until when this process leads; none if it does not.
pub type LeadershipDeadline = Option<Instant>;

/// The periods of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long others wait after the last renewal.
    pub duration: Duration,
    /// How long after the last renewal we still write.
    pub deadline: Duration,
    /// How often it is renewed.
    pub period: Duration,
}

/// Why these periods would not make a lease that one holds at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    /// The lease says whole seconds, and others would take it over early.
    #[error("a lease lasts whole seconds")]
    Fraction,
    /// Others may begin before the holder has stopped.
    #[error("a lease has to last longer than its holder writes after the last renewal")]
    Overlap,
    /// One late renewal would be the end.
    #[error(
        "a lease has to be renewed more often: its holder writes for less than 1.2 such periods"
    )]
    Seldom,
}

impl Timing {
    /// These periods, if they keep two from leading at once (Kubernetes: `leaderelection.go`, `NewLeaderElector`).
    pub fn new(
        duration: Duration,
        deadline: Duration,
        period: Duration,
    ) -> Result<Self, TimingError> {
        if duration.subsec_nanos() != 0 {
            return Err(TimingError::Fraction);
        }
        if duration <= deadline {
            return Err(TimingError::Overlap);
        }
        if deadline <= period.mul_f64(1.2) {
            return Err(TimingError::Seldom);
        }
        Ok(Self { duration, deadline, period })
    }

    /// Returns how much of the lease must be left for a write to be begun: a second, or a tenth of a short lease.
    pub fn margin(&self) -> Duration {
        MARGIN.min(self.deadline / 10)
    }

    /// Returns how long a request may take that must end while the lease is held, if it may take `most` otherwise: half
    /// of the deadline at most, so that after each renewal there is a time to begin it.
    pub fn within(&self, most: Duration) -> Duration {
        most.min(self.deadline / 2)
    }

    /// Returns how often a candidate reads the lease: often enough to see the last renewal soon after it was made, as
    /// the lease expires for it so long after it saw that.
    pub(super) fn read_period(&self) -> Duration {
        self.period / 4
    }

    /// Returns how long one request for the lease may take: several must fit into the deadline.
    pub(super) fn request(&self) -> Duration {
        REQUEST_TIMEOUT.min(self.deadline / 3)
    }

    /// Returns how long an existing lease must be gone before its holder re-creates it: shorter than the deadline, so
    /// that the lead outlasts it.
    pub(super) fn gone(&self) -> Duration {
        GONE.min(self.deadline / 2)
    }

    /// Returns how long a suspension of the machine may go unnoticed: within what the lease leaves between the holder's
    /// deadline and its expiry.
    pub(super) fn sleep_max(&self) -> Duration {
        SLEEP_MAX.min(self.duration.saturating_sub(self.deadline) / 2)
    }
}

/// What client-go uses, by which every operator reckons: 15, 10 and 2 seconds.
impl Default for Timing {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            deadline: Duration::from_secs(10),
            period: Duration::from_secs(2),
        }
    }
}

/// How long one request for the lease may take, at most.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

/// So much of the lease must be left for a write to be begun, at most.
const MARGIN: Duration = Duration::from_secs(1);

/// A shorter suspension is within what a lease of the usual periods leaves between the deadline and the expiry, which is
/// five seconds.
const SLEEP_MAX: Duration = Duration::from_secs(2);

/// How long an existing lease must be gone before its holder re-creates it, at most: an uninstallation removes the
/// lease and the right to create it within that time, and nothing is left. Others wait for the whole duration, as the
/// holder leads on meanwhile.
const GONE: Duration = Duration::from_secs(5);

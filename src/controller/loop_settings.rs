//! What the loops beside that of the binder share.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::watch;
use tokio::time::Instant;

use super::metrics::ControllerMetrics;
use crate::client::lease::LeadershipDeadline;
use crate::config::Configuration;

/// The settings of a loop.
#[derive(Clone)]
pub(super) struct LoopSettings {
    pub(super) configuration: Arc<ArcSwap<Configuration>>,
    /// Until when this process leads.
    pub(super) until: watch::Receiver<LeadershipDeadline>,
    /// How much of the lease must be left for a step to begin.
    pub(super) margin: Duration,
    pub(super) metrics: Arc<ControllerMetrics>,
    /// Whether events are stored.
    pub(super) events: bool,
}

impl LoopSettings {
    /// The deadline of a step that begins now; nothing if this process does not lead for long enough.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let until = (*self.until.borrow())?;
        (until > Instant::now() + self.margin).then_some(until)
    }
}

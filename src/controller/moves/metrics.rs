//! Metrics of moves that have not ended.

use prometheus::{IntCounterVec, IntGaugeVec};

use crate::moves::MoveWrite;
use crate::telemetry::registry::metric_table;

metric_table! {
    /// The metrics.
    #[derive(Debug)]
    pub(crate) struct MoveMetrics {
        /// Moves of PersistentVolumes that have not ended: running, waiting, stopped, left or failed.
        pub(super) unfinished: IntGaugeVec = "bindery_moves_unfinished" ["state"],
        /// Steps of moves that the controller made after their command was cut off, by write and outcome: stored, stale or failed.
        steps: IntCounterVec = "bindery_move_steps_total" ["write", "outcome"],
    }
}

impl MoveMetrics {
    /// Counts a write that was made.
    pub(super) fn count_stored(&self, write: &MoveWrite) {
        let write = match write {
            MoveWrite::Record => "record",
            MoveWrite::DeleteClaim(..) => "delete-claim",
            MoveWrite::CreateClaim(_) => "create-claim",
            MoveWrite::Reserve(..) => "reserve",
            MoveWrite::Fence(..) => "fence",
            MoveWrite::Finish => "finish",
        };
        self.steps.with_label_values(&[write, "stored"]).inc();
    }

    /// Counts a step whose objects had changed.
    pub(super) fn count_stale(&self) {
        self.steps.with_label_values(&["", "stale"]).inc();
    }

    /// Counts a step that failed.
    pub(super) fn count_failed(&self) {
        self.steps.with_label_values(&["", "failed"]).inc();
    }
}

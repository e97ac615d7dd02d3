//! What was written, by whom, and on what request.
//!
//! Kept only on request: a demo that serves for days must not grow. Versions, watches and reads
//! of an older state do not rest on it (`store`).

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::request::Method;

/// One write that the server accepted and stored.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The version that it made.
    pub version: u64,
    /// The cluster's clock.
    pub at: Timestamp,
    /// The name of the user who asked.
    pub user: String,
    /// The verb of the request.
    pub method: Method,
    /// The group of the resource; empty for the core.
    pub group: &'static str,
    /// The plural name of the resource.
    pub resource: &'static str,
    /// Empty, `status`, `finalize` or `binding`.
    pub subresource: String,
    /// The body of the request: an object, a patch, the options of a delete.
    pub sent: Arc<Value>,
    /// The object before, unless it is new.
    pub before: Option<Arc<Value>>,
    /// The object after, unless it is gone.
    pub after: Option<Arc<Value>>,
}

impl Accepted {
    /// The object after the write, or its last state if it is gone.
    pub fn object(&self) -> &Value {
        const NOTHING: &Value = &Value::Null;
        self.after.as_deref().or(self.before.as_deref()).unwrap_or(NOTHING)
    }
}

/// Gets each accepted write while the cluster is busy: it must not ask the cluster back.
pub type Witness = Box<dyn FnMut(&Accepted) + Send>;

/// The history and its witness.
#[derive(Default)]
pub(super) struct History {
    kept: Option<Vec<Accepted>>,
    witness: Option<Witness>,
}

impl fmt::Debug for History {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("History").field("kept", &self.kept).finish_non_exhaustive()
    }
}

impl History {
    /// Keeps every write from now on.
    pub(super) fn keep(&mut self) {
        self.kept.get_or_insert_default();
    }

    /// The writes since [`Self::keep`], oldest first.
    pub(super) fn kept(&self) -> &[Accepted] {
        self.kept.as_deref().unwrap_or_default()
    }

    /// Passes to `witness`, instead of an earlier one, every write from now on.
    pub(super) fn pass_to(&mut self, witness: Witness) {
        self.witness = Some(witness);
    }

    /// Records a write, if it is kept or passed on.
    pub(super) fn record(&mut self, write: impl FnOnce() -> Accepted) {
        if self.kept.is_none() && self.witness.is_none() {
            return;
        }
        let accepted = write();
        if let Some(witness) = &mut self.witness {
            witness(&accepted);
        }
        if let Some(kept) = &mut self.kept {
            kept.push(accepted);
        }
    }
}

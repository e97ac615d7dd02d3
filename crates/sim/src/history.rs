//! What was written, by whom, and on what request.
//!
//! Kept only on request: a demo that serves for days must not grow. Versions, watches and reads
//! of an older state do not rest on it (`store`).

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::cluster::ClusterState;
use super::request::{Call, Method};
use super::store::Key;

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

impl ClusterState {
    /// Keeps every write from now on for [`Self::history`].
    pub fn keep_history(&mut self) {
        self.history.kept.get_or_insert_default();
    }

    /// The writes since [`Self::keep_history`], oldest first.
    pub fn history(&self) -> &[Accepted] {
        self.history.kept.as_deref().unwrap_or_default()
    }

    /// Passes to `witness`, instead of an earlier one, every write from now on.
    pub fn on_accepted(&mut self, witness: Witness) {
        self.history.witness = Some(witness);
    }

    /// Stores an object as `call` asks.
    pub(super) fn put(&mut self, call: &Call, key: Key, object: Value) -> Arc<Value> {
        let before = self.store.get(&key).map(Arc::clone);
        let after = self.store.put(key, object);
        self.accepted(call, before, Some(Arc::clone(&after)));
        after
    }

    /// Removes an object as `call` asks; its last state.
    pub(super) fn remove(&mut self, call: &Call, key: &Key) -> Option<Value> {
        let before = self.store.get(key).map(Arc::clone);
        let last = self.store.remove(key);
        self.accepted(call, before, None);
        last
    }

    fn accepted(&mut self, call: &Call, before: Option<Arc<Value>>, after: Option<Arc<Value>>) {
        let History { kept, witness } = &mut self.history;
        if kept.is_none() && witness.is_none() {
            return;
        }
        let accepted = Accepted {
            version: self.store.version(),
            at: self.now,
            user: call.user.name.clone(),
            method: call.method,
            group: call.resource.group,
            resource: call.resource.plural,
            subresource: call.subresource.clone(),
            sent: Arc::new(call.body.clone()),
            before,
            after,
        };
        if let Some(witness) = witness {
            witness(&accepted);
        }
        if let Some(kept) = kept {
            kept.push(accepted);
        }
    }
}

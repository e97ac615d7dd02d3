//! Watches: a position in the history, and what lies after it.
//!
//! A watch is a value. Nothing is pushed: its holder asks for the events that are due, so a
//! simulation can let one watch lag behind another. Delivery over HTTP is in `service`.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::request::Call;
use super::resource::ResourceType;
use super::selector::ListSelector;
use super::status::{StatusError, unreadable_version};
use super::store::{Store, StoredChange};
use bindery::api::server::fields::set;

/// An open watch.
#[derive(Debug, Clone)]
pub struct Watch {
    resource: &'static ResourceType,
    namespace: String,
    selector: ListSelector,
    /// The version up to which everything was handed out.
    position: u64,
    initial: VecDeque<Value>,
    bookmarks: bool,
    is_over: bool,
}

impl Watch {
    /// Opens the watch that `call` asks for.
    pub(super) fn open(call: &Call, store: &Store) -> Result<Self, StatusError> {
        let asked = call.parameter("resourceVersion");
        let version: u64 = match asked {
            "" => 0,
            text => text.parse().map_err(|_| StatusError::plain_error(unreadable_version(text)))?,
        };
        let mut watch = Self {
            resource: call.resource,
            namespace: call.namespace.clone(),
            selector: ListSelector::parse(call)?,
            position: version,
            initial: VecDeque::new(),
            bookmarks: call.is_on("allowWatchBookmarks"),
            is_over: false,
        };
        let streams_list = call.is_on("sendInitialEvents");
        let skips_list = call.query.contains_key("sendInitialEvents") && !streams_list;
        if streams_list || (version == 0 && !skips_list) {
            // Without a version, a streamed list is as new as the store.
            let from =
                if asked.is_empty() { store.version() } else { store.cached(call.lag, version) };
            watch.fill(store, streams_list, from);
        } else if version == 0 {
            watch.position = store.version();
        }
        Ok(watch)
    }

    /// Puts the state of version `from` before the changes, and after it the bookmark that ends it.
    fn fill(&mut self, store: &Store, is_streamed_list: bool, from: u64) {
        let mut objects = store.objects_at(self.resource, &self.namespace, from);
        objects.retain(|object| self.selector.matches(object));
        self.position = from;
        self.initial =
            objects.iter().map(|object| json!({"type": "ADDED", "object": &**object})).collect();
        if is_streamed_list && self.bookmarks {
            let mut end = self.bookmark_at(self.position);
            let annotations = json!({"k8s.io/initial-events-end": "true"});
            end["object"]["metadata"]["annotations"] = annotations;
            self.initial.push_back(end);
        }
    }

    /// The events that are due, oldest first, as
    /// [`ClusterState::events`](super::ClusterState::events) hands them out.
    pub(super) fn events(&mut self, store: &Store) -> Vec<Value> {
        if self.is_over {
            return Vec::new();
        }
        let mut events: Vec<Value> = self.initial.drain(..).collect();
        if self.position < store.compacted() {
            let (position, compacted) = (self.position, store.compacted());
            let message = format!("too old resource version: {position} ({compacted})");
            let status = StatusError::expired(message, None).to_json();
            events.push(json!({"type": "ERROR", "object": status}));
            self.is_over = true;
            return events;
        }
        events.extend(store.since(self.position).iter().filter_map(|one| self.event(one)));
        self.position = self.position.max(store.version());
        events
    }

    /// A bookmark, if it asked for them and no event is due.
    pub(super) fn bookmark(&self, store: &Store) -> Option<Value> {
        let is_due = !self.initial.is_empty() || self.position < store.version();
        (self.bookmarks && !self.is_over && !is_due).then(|| self.bookmark_at(self.position))
    }

    /// Returns how many events of the state at its beginning are still to come.
    pub(super) fn initial(&self) -> usize {
        self.initial.len()
    }

    /// Returns whether it has ended: its history was compacted and the client has got the error.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    fn event(&self, change: &StoredChange) -> Option<Value> {
        if !change.key.is_in(self.resource, &self.namespace) {
            return None;
        }
        let is_meant = |object: &&std::sync::Arc<Value>| self.selector.matches(object);
        let before = change.before.as_ref().filter(is_meant);
        let after = change.after.as_ref().filter(is_meant);
        match (before, after) {
            (None, None) => None,
            (None, Some(new)) => Some(json!({"type": "ADDED", "object": &**new})),
            (Some(_), Some(new)) => Some(json!({"type": "MODIFIED", "object": &**new})),
            (Some(old), None) => {
                // The last state that was meant, under the version at which it went.
                let mut last = (**old).clone();
                let version = json!(change.version.to_string());
                set(&mut last, &["metadata", "resourceVersion"], version);
                Some(json!({"type": "DELETED", "object": last}))
            }
        }
    }

    fn bookmark_at(&self, version: u64) -> Value {
        let mut object = json!({
            "kind": self.resource.kind,
            "apiVersion": self.resource.api_version(),
            "metadata": {"resourceVersion": version.to_string()},
        });
        if self.resource.has_status() {
            object["spec"] = json!({});
            object["status"] = json!({});
        }
        json!({"type": "BOOKMARK", "object": object})
    }
}

//! Watches: a position in the history, and what lies after it.
//!
//! A watch is a value. Nothing is pushed: its holder asks for the events that are due, so a
//! simulation can let one watch lag behind another. Delivery over HTTP is in `service`.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::cluster::ClusterState;
use super::list::unreadable;
use super::outcome::{Body, Progress, Response};
use super::request::Call;
use super::selector::ListSelector;
use super::status::StatusError;
use super::store::StoredChange;
use super::table::ResourceType;
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
    /// How many events of the state at its beginning are still to come.
    pub(super) fn initial(&self) -> usize {
        self.initial.len()
    }

    /// Whether it has ended: its history was compacted and the client has got the error.
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

    fn bookmark(&self, version: u64) -> Value {
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

impl ClusterState {
    pub(super) fn watch(&self, call: &Call) -> Result<Progress, StatusError> {
        let asked = call.parameter("resourceVersion");
        let version: u64 = match asked {
            "" => 0,
            text => text.parse().map_err(|_| StatusError::plain_error(unreadable(text)))?,
        };
        let mut watch = Watch {
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
                if asked.is_empty() { self.store.version() } else { self.cached(call, version) };
            self.fill(&mut watch, streams_list, from);
        } else if version == 0 {
            watch.position = self.store.version();
        }
        let body = Body::Watch(Box::new(watch));
        Ok(Progress::Done(Response { code: 200, warnings: Vec::new(), body }))
    }

    /// Puts the state of version `from` before the changes, and after it the bookmark that ends it.
    fn fill(&self, watch: &mut Watch, is_streamed_list: bool, from: u64) {
        let mut objects = self.store.objects_at(watch.resource, &watch.namespace, from);
        objects.retain(|object| watch.selector.matches(object));
        watch.position = from;
        watch.initial =
            objects.iter().map(|object| json!({"type": "ADDED", "object": &**object})).collect();
        if is_streamed_list && watch.bookmarks {
            let mut end = watch.bookmark(watch.position);
            let annotations = json!({"k8s.io/initial-events-end": "true"});
            end["object"]["metadata"]["annotations"] = annotations;
            watch.initial.push_back(end);
        }
    }

    /// The events that are due, oldest first; each is handed out once. After the history was
    /// compacted past the watch, one `ERROR` event with code 410, and then nothing more.
    pub fn events(&self, watch: &mut Watch) -> Vec<Value> {
        if watch.is_over {
            return Vec::new();
        }
        let mut events: Vec<Value> = watch.initial.drain(..).collect();
        if watch.position < self.store.compacted() {
            let (position, compacted) = (watch.position, self.store.compacted());
            let message = format!("too old resource version: {position} ({compacted})");
            let status = StatusError::expired(message, None).to_json();
            events.push(json!({"type": "ERROR", "object": status}));
            watch.is_over = true;
            return events;
        }
        events.extend(self.store.since(watch.position).iter().filter_map(|one| watch.event(one)));
        watch.position = watch.position.max(self.store.version());
        events
    }

    /// A bookmark at the position of a watch that asked for them. A real server sends one about
    /// every minute; here the caller says when. `None` while events are due, or when the watch did
    /// not ask.
    pub fn bookmark(&self, watch: &Watch) -> Option<Value> {
        let is_due = !watch.initial.is_empty() || watch.position < self.store.version();
        (watch.bookmarks && !watch.is_over && !is_due).then(|| watch.bookmark(watch.position))
    }
}

//! The state machine: a request goes in, an answer or a review comes out.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::history::{Accepted, History, Witness};
use super::outcome::{Progress, Response, ReviewOutcome};
use super::request::{ApiRequest, Call, Method};
use super::resource::NAMESPACES;
use super::review::{Pending, Phase, Review, ReviewStep};
use super::status::StatusError;
use super::store::{Key, Store};
use super::table::TABLE;
use super::uid::Uids;
use super::watch::Watch;
use bindery::api::server::fields::text;

/// A cluster's API server with nothing behind it.
#[derive(Debug)]
pub struct ClusterState {
    pub(super) store: Store,
    pub(super) uids: Uids,
    pub(super) now: Timestamp,
    pub(super) history: History,
}

/// Namespaces that every cluster has from its start.
const FIRST_NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

impl ClusterState {
    /// A cluster with only its first namespaces. `seed` fixes every uid and generated name, `now`
    /// is the time of its clock until [`Self::set_now`].
    pub fn new(seed: u64, now: Timestamp) -> Self {
        let mut cluster =
            Self { store: Store::new(), uids: Uids::new(seed), now, history: History::default() };
        for name in FIRST_NAMESPACES {
            let namespace = json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": name},
            });
            cluster.handle(ApiRequest::new(Method::Post, "/api/v1/namespaces", namespace));
        }
        cluster
    }

    /// Sets the clock. Time may stand still or jump back: nothing here orders by it.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// The version of the latest write, as `resourceVersion` spells it.
    pub fn version(&self) -> u64 {
        self.store.version()
    }

    /// Forgets the history up to and including `version`: watches and pages from before it get 410.
    pub fn compact(&mut self, version: u64) {
        self.store.compact(version);
    }

    /// Every stored object, by resource and then by key.
    pub fn objects(&self) -> Vec<Arc<Value>> {
        TABLE.iter().flat_map(|row| self.store.objects(&row.resource, "")).collect()
    }

    /// Changes a stored object without looking at what comes of it, as an API server of another version over
    /// the same store may, whose rules are not these. `target` is its path; nothing happens if nothing is there.
    pub fn overwrite(&mut self, target: &str, change: impl FnOnce(&mut Value)) {
        let request = ApiRequest::new(Method::Get, target, Value::Null);
        let Ok(key) = Call::parse(request).map(|call| call.key()) else { return };
        if let Some(mut object) = self.store.get(&key).map(|stored| (**stored).clone()) {
            change(&mut object);
            self.store.put(key, object);
        }
    }

    /// Answers a request as a cluster without webhooks does.
    pub fn handle(&mut self, request: ApiRequest) -> Response {
        let mut progress = self.begin(request);
        loop {
            match progress {
                Progress::Done(response) => return response,
                Progress::Review(review) => progress = self.resume(*review, ReviewOutcome::allow()),
            }
        }
    }

    /// Begins a request. Reads are answered at once, writes stop at their first review. Nothing is
    /// stored before the last one was allowed; a request that is dropped there leaves no trace.
    pub fn begin(&mut self, request: ApiRequest) -> Progress {
        let started = Call::parse(request).and_then(|call| match (call.method, &call.name) {
            (Method::Get, name) if name.is_empty() => self.collection(&call),
            (Method::Get, _) => self.get(&call),
            (Method::Post, name) if name.is_empty() => self.create(call),
            (Method::Post, _) => self.place(&call),
            (Method::Put | Method::Patch, _) => self.update(call, Vec::new()),
            (Method::Delete, name) if name.is_empty() => self.delete_collection(call),
            (Method::Delete, _) => self.delete(call),
        });
        started.unwrap_or_else(|error| Progress::Done(error.into()))
    }

    /// Goes on with a write after its review. Another review may follow: validating after mutating,
    /// the next object of a collection, or the same write again because another client changed the
    /// object in between.
    pub fn resume(&mut self, review: Review, outcome: ReviewOutcome) -> Progress {
        let phase = review.phase();
        let mut pending = review.pending;
        let patched = match outcome {
            ReviewOutcome::Allow { object, warnings } => {
                pending.warnings.extend(warnings);
                object
            }
            ReviewOutcome::Deny { webhook, status, warnings } => {
                pending.warnings.extend(warnings);
                return Progress::Done(denied(&webhook, status, pending.warnings));
            }
            ReviewOutcome::Fail { webhook, error } => {
                let why = format!("failed calling webhook {webhook:?}: {error}");
                return Progress::Done(StatusError::internal(&why).into());
            }
        };
        let went_on = match phase {
            Phase::Mutating => self.mutated(pending, patched),
            Phase::Validating => self.admitted(pending),
        };
        went_on.unwrap_or_else(|error| Progress::Done(error.into()))
    }

    fn mutated(
        &mut self,
        mut pending: Pending,
        patched: Option<Value>,
    ) -> Result<Progress, StatusError> {
        match &mut pending.step {
            ReviewStep::Create { object } => {
                *object = patched.unwrap_or_else(|| object.take());
                self.created(pending)
            }
            ReviewStep::Update { object, .. } => {
                *object = patched.unwrap_or_else(|| object.take());
                self.updated(pending)
            }
            ReviewStep::Delete { .. } => Ok(self.review(Phase::Validating, pending)),
        }
    }

    fn admitted(&mut self, pending: Pending) -> Result<Progress, StatusError> {
        match pending.step {
            ReviewStep::Create { object } => {
                self.commit_create(&pending.call, object, pending.warnings).map(Progress::Done)
            }
            ReviewStep::Update { object, existing } => {
                let now = self.store.get(&pending.call.key());
                if now.is_some_and(|now| !Arc::ptr_eq(now, &existing)) {
                    return self.update(pending.call, pending.warnings);
                }
                self.commit_update(&pending.call, object, &existing, pending.warnings)
                    .map(Progress::Done)
            }
            ReviewStep::Delete { existing, collection } => {
                self.commit_delete(pending.call, &existing, collection, pending.warnings)
            }
        }
    }

    pub(super) fn review(&mut self, phase: Phase, pending: Pending) -> Progress {
        let uid = self.uids.next_uid();
        Progress::Review(Box::new(Review::new(phase, uid, pending)))
    }

    fn get(&self, call: &Call) -> Result<Progress, StatusError> {
        self.check_known_version(call.parameter("resourceVersion"))?;
        let object = self.find(call)?;
        Ok(Progress::Done(Response::json(200, (*object).clone())))
    }

    pub(super) fn find(&self, call: &Call) -> Result<Arc<Value>, StatusError> {
        let found = self.store.get(&call.key()).map(Arc::clone);
        found.ok_or_else(|| StatusError::not_found(call.resource, &call.name))
    }

    /// The events that are due, oldest first; each is handed out once. After the history was
    /// compacted past the watch, one `ERROR` event with code 410, and then nothing more.
    pub fn events(&self, watch: &mut Watch) -> Vec<Value> {
        watch.events(&self.store)
    }

    /// A bookmark at the position of a watch that asked for them. A real server sends one about
    /// every minute; here the caller says when. `None` while events are due, or when the watch did
    /// not ask.
    pub fn bookmark(&self, watch: &Watch) -> Option<Value> {
        watch.bookmark(&self.store)
    }

    /// Keeps every write from now on for [`Self::history`].
    pub fn keep_history(&mut self) {
        self.history.keep();
    }

    /// The writes since [`Self::keep_history`], oldest first.
    pub fn history(&self) -> &[Accepted] {
        self.history.kept()
    }

    /// Passes to `witness`, instead of an earlier one, every write from now on.
    pub fn on_accepted(&mut self, witness: Witness) {
        self.history.pass_to(witness);
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
        self.history.record(|| Accepted {
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
        });
    }

    /// The clock as API objects spell it: whole seconds.
    pub(super) fn time(&self) -> String {
        spell(self.now)
    }

    pub(super) fn namespace(&self, name: &str) -> Option<&Arc<Value>> {
        self.store.get(&Key::new(&NAMESPACES, "", name))
    }
}

/// A time as API objects spell it.
pub(super) fn spell(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Returns what the server answers to a client whose request a webhook denied. Kubernetes:
/// `plugin/webhook/errors/statuserror.go`.
fn denied(webhook: &str, status: Value, warnings: Vec<String>) -> Response {
    let mut status = if status.is_object() { status } else { json!({}) };
    let by = format!("admission webhook {webhook:?} denied the request");
    let message = match (text(&status, &["message"]), text(&status, &["reason"])) {
        ("", "") => format!("{by} without explanation"),
        ("", reason) => format!("{by}: {reason}"),
        (message, _) => format!("{by}: {message}"),
    };
    let sent = status["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    let code = sent.filter(|code| *code >= 400).unwrap_or(400);
    status["kind"] = json!("Status");
    status["apiVersion"] = json!("v1");
    status["metadata"] = json!({});
    status["status"] = json!("Failure");
    status["message"] = json!(message);
    status["code"] = json!(code);
    Response::warned(code, status, warnings)
}

//! The leader election: the lease by which one of several replicas leads.
//!
//! Another replica's lease has expired when it has not changed for its whole duration on our own monotonic
//! clock; clocks of other machines are never compared. A leader stops a while before others may start, and
//! when its machine was suspended. A write that is late all the same is rejected by the API server, as it names
//! the version on which it was decided. Not here: what the leader does.

mod suspend;
mod timing;

use std::time::Duration;

use http::{Method, Request};
use jiff::Timestamp;
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};

use self::suspend::{drop_after_suspension, suspended_time, was_suspended};
pub use self::timing::{LeadershipDeadline, Timing, TimingError};
use super::other_binder::OtherBinder;
use super::request::{RequestError, apply_request, is_absent, request, send_text};
use crate::model::annotations::OTHER_BINDER;

/// A leader election: which lease, and for which candidate.
#[derive(Clone, Debug)]
pub struct LeaderElection {
    /// The namespace of the lease.
    pub namespace: String,
    /// The name of the lease.
    pub name: String,
    /// The identity of the candidate: differs between any two processes.
    pub identity: String,
    /// How long it is ours without renewal.
    pub timing: Timing,
}

/// How soon a lease that was not reached is tried again.
const RETRY_PERIOD: Duration = Duration::from_secs(1);

/// How soon a leader reads again what another has written into its lease.
const CONFLICT_RETRY: Duration = Duration::from_millis(50);

/// The channels between a candidate and the rest of the process.
#[derive(Debug)]
pub struct LeadershipChannels {
    /// Updated when the lease is won, renewed and lost.
    pub until: watch::Sender<LeadershipDeadline>,
    /// Stored on the lease by its holder, and read there by every candidate before the lease is won.
    pub other_binder: watch::Sender<OtherBinder>,
}

/// Campaigns for the lease until `stop` resolves, then gives it up if it is ours: every write has returned
/// by then.
pub async fn campaign(
    client: Client,
    election: LeaderElection,
    channels: LeadershipChannels,
    stop: oneshot::Receiver<()>,
) {
    campaign_with(suspended_time, client, election, channels, stop).await;
}

/// Campaigns as [`campaign`] does; `suspended_time` returns how long the machine has been suspended in all.
pub async fn campaign_with(
    suspended_time: impl Fn() -> Duration,
    client: Client,
    election: LeaderElection,
    channels: LeadershipChannels,
    stop: oneshot::Receiver<()>,
) {
    let LeadershipChannels { until, other_binder } = channels;
    let guard = drop_after_suspension(until.clone(), &suspended_time, election.timing.sleep_max());
    let mut candidate = Candidate {
        client,
        election,
        until,
        other_binder,
        seen: None,
        is_taking: false,
        was_there: false,
        was_held: false,
        gone: None,
        suspended_time: &suspended_time,
    };
    tokio::select! {
        biased;
        () = guard => {}
        () = candidate.run() => {}
        stopped = stop => {
            // If the sender was dropped, writes may be in flight: the lease expires by itself.
            if stopped.is_ok() {
                candidate.give_up().await;
            }
        }
    }
}

struct Candidate<'a, A> {
    client: Client,
    election: LeaderElection,
    until: watch::Sender<LeadershipDeadline>,
    other_binder: watch::Sender<OtherBinder>,
    /// The lease as it was last seen, and since when it has been like that.
    seen: Option<(Record, Instant)>,
    /// Whether we may have been written into it, by a request whose reply is not known.
    is_taking: bool,
    /// Whether it was ever there.
    was_there: bool,
    /// Whether it ever had a holder.
    was_held: bool,
    /// Since when it has been gone.
    gone: Option<Instant>,
    suspended_time: &'a A,
}

/// A lease as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Record {
    metadata: RecordMetadata,
    spec: RecordSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RecordMetadata {
    resource_version: String,
    annotations: RecordAnnotations,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct RecordAnnotations {
    #[serde(rename = "bindery.dev/other-binder")]
    other_binder: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RecordSpec {
    holder_identity: Option<String>,
    lease_duration_seconds: Option<u64>,
    lease_transitions: Option<u64>,
}

/// Why a request for the lease came to nothing.
#[derive(Debug, thiserror::Error)]
enum LeaseError {
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("it is gone; it is re-created if it stays so")]
    Gone,
    #[error("the lease cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
}

impl<A: Fn() -> Duration> Candidate<'_, A> {
    async fn run(&mut self) {
        let mut news = self.other_binder.subscribe();
        loop {
            news.mark_unchanged();
            let start = Instant::now();
            let pause = match self.step(start).await {
                Ok(()) if self.is_ours() => self.election.timing.period,
                Ok(()) => self.patience(),
                Err(trouble) => {
                    let lease = &self.election.name;
                    tracing::warn!(%lease, reason = %trouble, "the lease was not reached");
                    self.pause_after(&trouble)
                }
            };
            self.drop_if_over();
            let next = start + pause;
            let end = *self.until.borrow();
            let wake = end.map_or(next, |end| end.min(next));
            // Stored at once: this process may be killed the moment after.
            tokio::select! {
                biased;
                _ = news.changed() => {}
                () = sleep_until(wake) => {}
            }
            self.drop_if_over();
        }
    }

    /// Renews the lease if it is ours, takes it if it is free, else reads it.
    async fn step(&mut self, start: Instant) -> Result<(), LeaseError> {
        if (self.is_ours() || self.is_over(start))
            && let Some((record, _)) = self.seen.clone()
        {
            return self.take(&record, start).await;
        }
        let found = self.read_lease().await?;
        let is_news = self.seen.as_ref().is_none_or(|(seen, _)| *seen != found);
        if is_news {
            self.seen = Some((found.clone(), Instant::now()));
        }
        let holder = found.spec.holder_identity.as_deref();
        let is_other = holder.is_some_and(|holder| holder != self.election.identity);
        if is_other && self.is_ours() {
            tracing::warn!(lease = %self.election.name, holder, "the lease was taken away");
            self.until.send_replace(None);
        }
        // One that was given up says so. Where a holder was wiped out, it leads on until it knows.
        let is_wiped = holder.is_none() && self.was_held && !self.is_ours();
        self.was_held |= holder.is_some_and(|holder| !holder.is_empty());
        if (is_other && holder != Some("")) || is_wiped {
            return Ok(());
        }
        self.take(&found, start).await
    }

    /// Returns whether the lease was not renewed for its whole duration.
    fn is_over(&self, now: Instant) -> bool {
        let Some((record, since)) = &self.seen else { return false };
        let stored = record.spec.lease_duration_seconds.map(Duration::from_secs);
        let duration = stored.unwrap_or(self.election.timing.duration);
        now.duration_since(*since) >= duration
    }

    /// Returns how long to wait before the lease is read again: not beyond the time when the lease of others ends.
    fn patience(&self) -> Duration {
        let period = self.election.timing.read_period();
        let Some((record, since)) = &self.seen else { return period };
        let stored = record.spec.lease_duration_seconds.map(Duration::from_secs);
        let end = *since + stored.unwrap_or(self.election.timing.duration);
        period.min(end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)))
    }

    fn is_ours(&self) -> bool {
        self.until.borrow().is_some()
    }

    fn drop_if_over(&self) {
        let is_over = self.until.borrow().is_some_and(|end| Instant::now() >= end);
        if is_over {
            tracing::warn!(lease = %self.election.name, "the lease could not be renewed in time");
            self.until.send_replace(None);
        }
    }

    /// Returns how long to wait after what went wrong. What another has written since is to be read; at once, if
    /// this replica still takes itself for the leader.
    fn pause_after(&mut self, trouble: &LeaseError) -> Duration {
        if let LeaseError::Request(error) = trouble
            && let Some(status) = error.status()
            && matches!(status.code, 404 | 409)
        {
            self.seen = None;
            if is_absent(status) {
                self.gone.get_or_insert_with(Instant::now);
            } else if self.is_ours() {
                return CONFLICT_RETRY;
            }
        }
        RETRY_PERIOD
    }

    /// The lease as it is. One that is absent is made: some deployment tools leave leases out.
    async fn read_lease(&mut self) -> Result<Record, LeaseError> {
        let found = match self.request(Method::GET, &self.path(), None).await {
            Err(LeaseError::Request(error)) if error.status().is_some_and(is_absent) => {
                let gone = self.gone.get_or_insert_with(Instant::now).elapsed();
                let Timing { duration, .. } = self.election.timing;
                let patience = if self.is_ours() { self.election.timing.gone() } else { duration };
                if self.was_there && gone < patience {
                    return Err(LeaseError::Gone);
                }
                self.exchange(apply_request(&self.path(), &self.made())).await
            }
            other => other,
        }?;
        (self.was_there, self.gone) = (true, None);
        Ok(found)
    }

    /// Writes ourselves into the lease as it was seen.
    async fn take(&mut self, seen: &Record, start: Instant) -> Result<(), LeaseError> {
        let before = (self.suspended_time)();
        let is_new = seen.spec.holder_identity.as_deref() != Some(&self.election.identity);
        let spec = self.claim(seen.spec.lease_transitions, is_new);
        let patch = self.patch(seen, &spec);
        self.is_taking = true;
        let stored = self.request(Method::PATCH, &self.path(), Some(&patch)).await;
        self.is_taking =
            matches!(&stored, Err(LeaseError::Request(error)) if error.status().is_none());
        self.seen = Some((stored?, start));
        if was_suspended(before, (self.suspended_time)(), self.election.timing.sleep_max()) {
            // When it was stored is unknown: it is read again.
            self.until.send_replace(None);
            return Ok(());
        }
        if !self.is_ours() {
            tracing::info!(lease = %self.election.name, identity = %self.election.identity, "leading");
        }
        // From before it was sent: others count from when it was stored, which was later.
        self.until.send_replace(Some(start + self.election.timing.deadline));
        Ok(())
    }

    async fn give_up(&mut self) {
        let may_be_ours = self.is_ours() || self.is_taking;
        let Some((seen, _)) = self.seen.clone().filter(|_| may_be_ours) else { return };
        self.until.send_replace(None);
        let holder = seen.spec.holder_identity.as_deref().unwrap_or_default();
        // As it was seen, it may be another's: that one leads on.
        let left = if holder.is_empty() || holder == self.election.identity {
            match self.leave(&seen).await {
                // What was stopped for this may have been stored: nothing waits for its reply.
                Err(LeaseError::Request(error))
                    if error.status().is_some_and(|status| status.code == 409) =>
                {
                    self.leave_as_stored().await
                }
                left => left,
            }
        } else {
            self.leave_as_stored().await
        };
        if let Err(trouble) = left {
            let lease = &self.election.name;
            tracing::warn!(%lease, reason = %trouble, "the lease was not given up; it ends by itself");
        }
    }

    /// Takes ourselves out of the lease, if it is still as it was seen.
    async fn leave(&self, seen: &Record) -> Result<(), LeaseError> {
        // A duration must be positive; no candidate waits for a lease without a holder.
        let spec =
            json!({"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": micro_time()});
        let patch = self.patch(seen, &spec);
        self.request(Method::PATCH, &self.path(), Some(&patch)).await.map(drop)
    }

    /// Takes ourselves out of the lease as it is stored now, unless another one holds it.
    async fn leave_as_stored(&self) -> Result<(), LeaseError> {
        let stored = self.request(Method::GET, &self.path(), None).await?;
        if stored.spec.holder_identity.as_deref() != Some(&self.election.identity) {
            return Ok(());
        }
        self.leave(&stored).await
    }

    /// Returns what changes the lease as it was seen; stores beside it that another binder is at work.
    fn patch(&self, seen: &Record, spec: &Value) -> Value {
        let version = &seen.metadata.resource_version;
        let mut patch = json!({"metadata": {"resourceVersion": version}, "spec": spec});
        if let Some(text) = self.other_binder.borrow().unstored() {
            patch["metadata"]["annotations"] = json!({OTHER_BINDER: text});
        }
        patch
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Record, LeaseError> {
        self.exchange(request(method, path, body)).await
    }

    async fn exchange(
        &self,
        request: Result<Request<Vec<u8>>, http::Error>,
    ) -> Result<Record, LeaseError> {
        let text = send_text(&self.client, request, self.election.timing.request()).await?;
        let record: Record = serde_json::from_str(&text)?;
        let annotation = record.metadata.annotations.other_binder.as_deref();
        let is_wiped = record.spec.holder_identity.is_none();
        self.other_binder.send_if_modified(|known| known.read(annotation, is_wiped));
        Ok(record)
    }

    fn path(&self) -> String {
        let LeaderElection { namespace, name, .. } = &self.election;
        format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}")
    }

    /// The spec of the lease once it is ours; `is_new` says whether it had another holder before.
    fn claim(&self, transitions: Option<u64>, is_new: bool) -> Value {
        let now = micro_time();
        let mut spec = json!({
            "holderIdentity": self.election.identity,
            "leaseDurationSeconds": self.election.timing.duration.as_secs(),
            "renewTime": now,
            "leaseTransitions": transitions.unwrap_or(0) + u64::from(is_new),
        });
        if is_new {
            spec["acquireTime"] = json!(now);
        }
        spec
    }

    /// A lease that is ours from the start: no candidate finds it without a holder.
    fn made(&self) -> Value {
        let mut lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.election.name, "namespace": self.election.namespace},
            "spec": self.claim(None, true),
        });
        // Deleting the lease under its holder does not mean that the other binder is gone.
        if let Some(text) = self.other_binder.borrow().text() {
            lease["metadata"]["annotations"] = json!({OTHER_BINDER: text});
        }
        lease
    }
}

/// The time of day as leases spell it; people read it, nothing compares it.
fn micro_time() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

//! The lease by which one of several replicas leads.
//!
//! A lease of others has run out when it has not changed for its whole duration on our own monotonic
//! clock; clocks of other machines are never compared. We stop to lead a while before others may begin, and
//! when this machine was asleep. A write that is late all the same is refused by the API server, as it names
//! the version on which it was decided. Not here: what the leader does.

use std::time::Duration;

use http::{Method, Request};
use jiff::Timestamp;
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::request::{apply_request, is_absent, request};
use super::suspend::{asleep, drop_after_sleep, has_slept};

/// Which lease, and for whom.
#[derive(Clone, Debug)]
pub struct Contest {
    /// The namespace of the lease.
    pub namespace: String,
    /// The name of the lease.
    pub name: String,
    /// Who we are: differs between any two processes.
    pub identity: String,
    /// How long it is ours without renewal.
    pub timing: Timing,
}

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

/// Whoever waits looks this often, so that it knows of the last renewal soon after it was made.
const LOOK_PERIOD: Duration = Duration::from_secs(1);

/// How soon a leader looks at what another has written into its lease.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How long one request for the lease may take: several must fit into the deadline.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a lease that was there must be gone before its holder makes it anew: whoever uninstalls takes the lease and
/// the right to make it within that time, and nothing is left. Shorter than [`Timing::deadline`], so that the lead
/// outlasts it. Others wait for the whole duration, as the holder leads on meanwhile.
const GONE: Duration = Duration::from_secs(5);

/// Until when we lead; none if we do not.
pub type Until = Option<Instant>;

/// Contends for the lease until `stop` is told, then gives it up if it is ours: every write has returned
/// by then. Tells `until` when it is won, renewed and lost.
pub async fn contend(
    client: Client,
    contest: Contest,
    until: watch::Sender<Until>,
    stop: oneshot::Receiver<()>,
) {
    contend_by(asleep, client, contest, until, stop).await;
}

/// Contends as [`contend`] does; `asleep` tells how long the machine has been asleep in all.
pub async fn contend_by(
    asleep: impl Fn() -> Duration,
    client: Client,
    contest: Contest,
    until: watch::Sender<Until>,
    stop: oneshot::Receiver<()>,
) {
    let guard = drop_after_sleep(until.clone(), &asleep);
    let mut contender = Contender {
        client,
        contest,
        until,
        seen: None,
        was_there: false,
        was_held: false,
        gone: None,
        asleep: &asleep,
    };
    tokio::select! {
        biased;
        () = guard => {}
        () = contender.run() => {}
        stopped = stop => {
            // Whoever goes without a word may have writes under way: the lease ends by itself.
            if stopped.is_ok() {
                contender.give_up().await;
            }
        }
    }
}

struct Contender<'a, A> {
    client: Client,
    contest: Contest,
    until: watch::Sender<Until>,
    /// The lease as it was last seen, and since when it has been like that.
    seen: Option<(Record, Instant)>,
    /// Whether it was ever there.
    was_there: bool,
    /// Whether it ever had a holder.
    was_held: bool,
    /// Since when it has been gone.
    gone: Option<Instant>,
    asleep: &'a A,
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
enum Trouble {
    #[error("no reply in time")]
    Late,
    #[error("{0}")]
    Refused(#[from] kube::Error),
    #[error("the request cannot be made: {0}")]
    Request(#[from] http::Error),
    #[error("it is gone; it is made anew if it stays so")]
    Gone,
    #[error("the lease cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
}

impl<A: Fn() -> Duration> Contender<'_, A> {
    async fn run(&mut self) {
        loop {
            let start = Instant::now();
            let pause = match self.step(start).await {
                Ok(()) if self.is_ours() => self.contest.timing.period,
                Ok(()) => self.patience(),
                Err(trouble) => {
                    let lease = &self.contest.name;
                    tracing::warn!(%lease, reason = %trouble, "the lease was not reached");
                    self.pause_after(&trouble)
                }
            };
            self.drop_if_over();
            let next = start + pause;
            let end = *self.until.borrow();
            match end {
                Some(end) if end < next => sleep_until(end).await,
                Some(_) | None => sleep_until(next).await,
            }
            self.drop_if_over();
        }
    }

    /// Renews the lease if it is ours, takes it if it is free, else looks at it.
    async fn step(&mut self, start: Instant) -> Result<(), Trouble> {
        if (self.is_ours() || self.is_over(start))
            && let Some((record, _)) = self.seen.clone()
        {
            return self.take(&record, start).await;
        }
        let found = self.look().await?;
        let is_news = self.seen.as_ref().is_none_or(|(seen, _)| *seen != found);
        if is_news {
            self.seen = Some((found.clone(), Instant::now()));
        }
        let holder = found.spec.holder_identity.as_deref();
        let is_other = holder.is_some_and(|holder| holder != self.contest.identity);
        if is_other && self.is_ours() {
            tracing::warn!(lease = %self.contest.name, holder, "the lease was taken away");
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

    /// Whether nobody has renewed the lease for its whole duration.
    fn is_over(&self, now: Instant) -> bool {
        let Some((record, since)) = &self.seen else { return false };
        let told = record.spec.lease_duration_seconds.map(Duration::from_secs);
        let duration = told.unwrap_or(self.contest.timing.duration);
        now.duration_since(*since) >= duration
    }

    /// How long to wait before looking again: not beyond the time when the lease of others ends.
    fn patience(&self) -> Duration {
        let Some((record, since)) = &self.seen else { return LOOK_PERIOD };
        let told = record.spec.lease_duration_seconds.map(Duration::from_secs);
        let end = *since + told.unwrap_or(self.contest.timing.duration);
        LOOK_PERIOD.min(end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)))
    }

    fn is_ours(&self) -> bool {
        self.until.borrow().is_some()
    }

    fn drop_if_over(&self) {
        let is_over = self.until.borrow().is_some_and(|end| Instant::now() >= end);
        if is_over {
            tracing::warn!(lease = %self.contest.name, "the lease could not be renewed in time");
            self.until.send_replace(None);
        }
    }

    /// How long to wait after what went wrong. What another has written since is to be looked at; at once, if this
    /// replica still takes itself for the leader.
    fn pause_after(&mut self, trouble: &Trouble) -> Duration {
        if let Trouble::Refused(kube::Error::Api(status)) = trouble
            && matches!(status.code, 404 | 409)
        {
            self.seen = None;
            if is_absent(status) {
                self.gone.get_or_insert_with(Instant::now);
            } else if self.is_ours() {
                return LOOK_AGAIN;
            }
        }
        LOOK_PERIOD
    }

    /// The lease as it is. One that is absent is made: some deployment tools leave leases out.
    async fn look(&mut self) -> Result<Record, Trouble> {
        let found = match self.request(Method::GET, &self.path(), None).await {
            Err(Trouble::Refused(kube::Error::Api(status))) if is_absent(&status) => {
                let gone = self.gone.get_or_insert_with(Instant::now).elapsed();
                let patience = if self.is_ours() { GONE } else { self.contest.timing.duration };
                if self.was_there && gone < patience {
                    return Err(Trouble::Gone);
                }
                self.exchange(apply_request(&self.path(), &self.made())?).await
            }
            other => other,
        }?;
        (self.was_there, self.gone) = (true, None);
        Ok(found)
    }

    /// Writes ourselves into the lease as it was seen.
    async fn take(&mut self, seen: &Record, start: Instant) -> Result<(), Trouble> {
        let before = (self.asleep)();
        let is_new = seen.spec.holder_identity.as_deref() != Some(&self.contest.identity);
        let spec = self.claim(seen.spec.lease_transitions, is_new);
        let version = &seen.metadata.resource_version;
        let patch = json!({"metadata": {"resourceVersion": version}, "spec": spec});
        let stored = self.request(Method::PATCH, &self.path(), Some(&patch)).await?;
        self.seen = Some((stored, start));
        if has_slept(before, (self.asleep)()) {
            // When it was stored nobody knows: it is looked at again.
            self.until.send_replace(None);
            return Ok(());
        }
        if !self.is_ours() {
            tracing::info!(lease = %self.contest.name, identity = %self.contest.identity, "leading");
        }
        // From before it was sent: others count from when it was stored, which was later.
        self.until.send_replace(Some(start + self.contest.timing.deadline));
        Ok(())
    }

    async fn give_up(&mut self) {
        let Some((seen, _)) = self.seen.clone().filter(|_| self.is_ours()) else { return };
        self.until.send_replace(None);
        let version = &seen.metadata.resource_version;
        let patch = json!({
            "metadata": {"resourceVersion": version},
            // A duration must be positive; nobody waits for a lease without a holder.
            "spec": {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": micro_time()},
        });
        if let Err(trouble) = self.request(Method::PATCH, &self.path(), Some(&patch)).await {
            let reason = trouble.to_string();
            tracing::warn!(reason, "the lease was not given up; it ends by itself");
        }
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Record, Trouble> {
        self.exchange(request(method, path, body)?).await
    }

    async fn exchange(&self, request: Request<Vec<u8>>) -> Result<Record, Trouble> {
        let sent = self.client.request_text(request);
        let text = timeout(REQUEST_TIMEOUT, sent).await.map_err(|_| Trouble::Late)??;
        Ok(serde_json::from_str(&text)?)
    }

    fn path(&self) -> String {
        let Contest { namespace, name, .. } = &self.contest;
        format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}")
    }

    /// What the lease says once it is ours; whether it was somebody else's before.
    fn claim(&self, transitions: Option<u64>, is_new: bool) -> Value {
        let now = micro_time();
        let mut spec = json!({
            "holderIdentity": self.contest.identity,
            "leaseDurationSeconds": self.contest.timing.duration.as_secs(),
            "renewTime": now,
            "leaseTransitions": transitions.unwrap_or(0) + u64::from(is_new),
        });
        if is_new {
            spec["acquireTime"] = json!(now);
        }
        spec
    }

    /// A lease that is ours from the start: nobody finds it without a holder.
    fn made(&self) -> Value {
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.contest.name, "namespace": self.contest.namespace},
            "spec": self.claim(None, true),
        })
    }
}

/// The time of day as leases spell it; people read it, nothing compares it.
fn micro_time() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

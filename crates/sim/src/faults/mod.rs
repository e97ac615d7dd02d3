//! What goes wrong between a client and an API server, under a seed.
//!
//! [`FaultyTransport`] is one client's way to a [`ApiServer`]: `kube::Client::new(faulty, "default")` speaks
//! through it. Nothing happens here that a real server, its cache or the network could not do: a
//! conflict comes because another client wrote, a read is stale only where Kubernetes lets it be, an
//! event is late but never overtakes another on its stream. Waiting is tokio's, so that a test with a
//! paused clock loses no time; random numbers are the seed's. On a runtime of one thread a run therefore
//! repeats. Each [`Fault`] has a rate and is counted.
//!
//! Not here: the clock of the cluster, crashes of the client.

mod error;
mod kind;
mod stream;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::Service;

use super::request::{ApiRequest, Method, RequestUser};
use super::rng::SeededRng;
use super::service::{ApiServer, Lost, Stream, read};
use error::Broken;
pub use kind::{Fault, Faults};

/// One client's faulty way to the server. Clones are the same client.
#[derive(Clone)]
pub struct FaultyTransport {
    server: ApiServer,
    shared: Arc<SharedState>,
}

/// What the clones of a client share.
struct SharedState {
    state: Mutex<State>,
    network: Mutex<NetworkFaults>,
    /// Wakes streams in the order in which they began to wait, so that a run repeats.
    network_changed: Notify,
}

struct State {
    rng: SeededRng,
    faults: Faults,
    tally: BTreeMap<Fault, u64>,
    /// Objects whose events this client does not get before it lists again: path and name.
    unseen: BTreeSet<(String, String)>,
}

/// What streams must notice while they wait.
#[derive(Debug, Clone, Copy, Default)]
struct NetworkFaults {
    is_cut_off: bool,
    /// Counts the times that it was cut off, so that each partition ends none but itself.
    partitions: u64,
    /// Counts changes of the faults: a silent stream breaks at the next one.
    changes: u64,
}

/// What becomes of one request.
enum RequestOutcome {
    Served,
    /// Another client writes the object first.
    Overtaken,
    Failed(Broken),
    /// It never arrives.
    Lost,
    /// It arrives, its answer does not.
    Unanswered,
    /// It arrives when its answer is no longer awaited.
    Late,
}

/// Who writes an object just before this client does.
const BYSTANDER: &str = "bystander";

/// What the bystander writes.
const TOUCHED: &str = "example.com/touched";

impl FaultyTransport {
    /// A client of `server`, as the user of `server`, with the random numbers of `seed`.
    pub fn new(server: ApiServer, faults: Faults, seed: u64) -> Self {
        let state = State {
            rng: SeededRng::new(seed),
            faults,
            tally: BTreeMap::new(),
            unseen: BTreeSet::new(),
        };
        let shared = SharedState {
            state: Mutex::new(state),
            network: Mutex::new(NetworkFaults::default()),
            network_changed: Notify::new(),
        };
        Self { server, shared: Arc::new(shared) }
    }

    /// From now on these faults. Streams that had fallen silent break, and a partition ends. Writes
    /// that are late already still land, after `patience` and `longest_delay` at the latest. What this
    /// client does not see it sees only when it lists again: to compact the history and to end the
    /// watches makes it do so.
    pub fn set(&self, faults: Faults) {
        self.state().faults = faults;
        self.change_network(|network| {
            network.is_cut_off = false;
            network.changes += 1;
        });
    }

    /// Returns how often each fault happened so far.
    pub fn tally(&self) -> BTreeMap<Fault, u64> {
        self.state().tally.clone()
    }

    /// Cuts this client off from the server, or lets it back.
    pub fn cut_off(&self, is_cut_off: bool) {
        self.change_network(|network| {
            network.is_cut_off = is_cut_off;
            network.partitions += u64::from(is_cut_off);
        });
    }

    async fn carry(self, mut request: ApiRequest) -> Result<hyper::Response<Stream>, Lost> {
        if let Some(delay) = self.latency() {
            tokio::time::sleep(delay).await;
        }
        if self.is_cut_off() {
            return self.hang().await;
        }
        self.inject_faults(&mut request);
        match self.outcome(&request) {
            RequestOutcome::Served => self.serve(request).await,
            RequestOutcome::Overtaken => {
                self.overtake(&request);
                self.serve(request).await
            }
            RequestOutcome::Failed(broken) => Ok(error::of(broken)),
            RequestOutcome::Lost => self.hang().await,
            RequestOutcome::Unanswered => {
                drop(self.server.clone().answer(request).await);
                self.hang().await
            }
            RequestOutcome::Late => {
                self.send_late(request);
                self.hang().await
            }
        }
    }

    async fn serve(&self, request: ApiRequest) -> Result<hyper::Response<Stream>, Lost> {
        let path = request.target.split('?').next().unwrap_or_default().to_owned();
        let is_fresh = is_relist(&request);
        let reply = self.server.clone().answer(request).await;
        if self.is_cut_off() {
            return self.hang().await;
        }
        if is_fresh && reply.status().is_success() {
            self.state().unseen.retain(|(of, _)| *of != path);
        }
        Ok(reply.map(|stream| self.through(path, stream)))
    }

    /// No answer for as long as a server would take over one, then a broken connection.
    async fn hang(&self) -> Result<hyper::Response<Stream>, Lost> {
        let patience = self.state().faults.patience;
        tokio::time::sleep(patience).await;
        Err(Lost)
    }

    /// Lets a write arrive after every client has given it up.
    fn send_late(&self, request: ApiRequest) {
        let server = self.server.clone();
        let wait = {
            let mut state = self.state();
            let longest = state.faults.longest_delay;
            state.faults.patience + state.duration(longest)
        };
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            drop(server.answer(request).await);
        });
    }

    /// Injects faults into the server and its cache before it handles a request.
    fn inject_faults(&self, request: &mut ApiRequest) {
        let mut state = self.state();
        if request.method != Method::Get {
            return;
        }
        if is_watch(request) && state.happens(Fault::Compaction) {
            self.server.with(|cluster| cluster.compact(cluster.version()));
        }
        if may_be_stale(request) && state.happens(Fault::StaleRead) {
            let most = state.faults.most_versions_behind;
            request.lag = 1 + state.rng.below(most);
        }
    }

    fn outcome(&self, request: &ApiRequest) -> RequestOutcome {
        let mut state = self.state();
        if state.happens(Fault::Partition) {
            self.isolate(&mut state);
            return RequestOutcome::Lost;
        }
        let is_write = request.method != Method::Get;
        let outcomes = [
            (Fault::TooManyRequests, true, RequestOutcome::Failed(Broken::Overloaded)),
            (Fault::InternalError, true, RequestOutcome::Failed(Broken::Inside)),
            (Fault::Unavailable, true, RequestOutcome::Failed(Broken::Away)),
            (Fault::LostRequest, true, RequestOutcome::Lost),
            (Fault::LostReply, is_write, RequestOutcome::Unanswered),
            (Fault::LateWrite, is_write, RequestOutcome::Late),
            (Fault::Conflict, names_version(request), RequestOutcome::Overtaken),
        ];
        let met = outcomes
            .into_iter()
            .find(|(fault, is_possible, _)| *is_possible && state.draws(*fault));
        let Some((fault, _, outcome)) = met else { return RequestOutcome::Served };
        // A conflict has yet to come about.
        if fault != Fault::Conflict {
            state.count(fault);
        }
        outcome
    }

    /// Cuts the client off for a while.
    fn isolate(&self, state: &mut State) {
        let longest = state.faults.longest_partition;
        let duration = state.duration(longest);
        self.cut_off(true);
        let this = self.network().partitions;
        let faulty = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(duration).await;
            let is_over = faulty.network().partitions != this;
            if !is_over {
                faulty.cut_off(false);
            }
        });
    }

    /// Another client changes the object, if there is one, so that the version that the request names
    /// is the past.
    fn overtake(&self, request: &ApiRequest) {
        let path = request.target.split('?').next().unwrap_or_default();
        let object = ["/status", "/finalize"].iter().find_map(|part| path.strip_suffix(part));
        let number = self.state().rng.next_number().to_string();
        let touch = json!({"metadata": {"annotations": {TOUCHED: number}}});
        let touch = ApiRequest::merge_patch(object.unwrap_or(path), touch);
        let touch = touch.by(RequestUser::named(BYSTANDER, &[]));
        let response = self.server.with(|cluster| cluster.handle(touch));
        if response.code == 200 {
            self.state().count(Fault::Conflict);
        }
    }

    fn latency(&self) -> Option<Duration> {
        let mut state = self.state();
        let longest = state.faults.longest_latency;
        state.happens(Fault::Latency).then(|| state.duration(longest))
    }

    fn is_cut_off(&self) -> bool {
        self.network().is_cut_off
    }

    fn network(&self) -> NetworkFaults {
        *self.shared.network.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change_network(&self, change: impl FnOnce(&mut NetworkFaults)) {
        change(&mut self.shared.network.lock().unwrap_or_else(PoisonError::into_inner));
        self.shared.network_changed.notify_waiters();
    }

    /// Waits until the network is as asked.
    async fn wait_for(&self, is_met: impl Fn(NetworkFaults) -> bool) {
        loop {
            let changed = self.shared.network_changed.notified();
            if is_met(self.network()) {
                return;
            }
            changed.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns whether the fault happens now; counts it if so.
    fn happens(&mut self, fault: Fault) -> bool {
        let happens = self.draws(fault);
        if happens {
            self.count(fault);
        }
        happens
    }

    fn draws(&mut self, fault: Fault) -> bool {
        let rate = self.faults.rate(fault);
        rate > 0 && self.rng.happens(rate)
    }

    fn count(&mut self, fault: Fault) {
        *self.tally.entry(fault).or_default() += 1;
    }

    /// A time up to `longest`, and never none.
    fn duration(&mut self, longest: Duration) -> Duration {
        let most = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(1 + self.rng.below(most))
    }
}

fn query(request: &ApiRequest, name: &str) -> Option<String> {
    let (_, query) = request.target.split_once('?')?;
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

fn is_watch(request: &ApiRequest) -> bool {
    query(request, "watch").is_some_and(|value| value != "false" && value != "0")
}

/// Returns whether Kubernetes lets the cache answer with an older state: a list or watch that names a
/// version and does not mean exactly that one. A read without a version is never stale.
fn may_be_stale(request: &ApiRequest) -> bool {
    let version = query(request, "resourceVersion").unwrap_or_default();
    let is_exact = query(request, "resourceVersionMatch").is_some_and(|rule| rule == "Exact");
    // A list with a limit and a version is exact as well; a watch from a version goes on from there.
    let is_paged = query(request, "limit").is_some() && version != "0";
    let goes_on = is_watch(request)
        && version != "0"
        && query(request, "sendInitialEvents").is_none_or(|value| value == "false");
    !version.is_empty() && !is_exact && !is_paged && !goes_on
}

/// Returns whether the reply holds the whole state again.
fn is_relist(request: &ApiRequest) -> bool {
    if request.method != Method::Get {
        return false;
    }
    let version = query(request, "resourceVersion").unwrap_or_default();
    let initial = query(request, "sendInitialEvents");
    !is_watch(request)
        || initial.as_deref() == Some("true")
        || (initial.is_none() && matches!(version.as_str(), "" | "0"))
}

/// Returns whether the request is rejected if another client has written the object meanwhile.
fn names_version(request: &ApiRequest) -> bool {
    let path = match request.method {
        Method::Put | Method::Patch => "/metadata/resourceVersion",
        Method::Delete => "/preconditions/resourceVersion",
        Method::Get | Method::Post => return false,
    };
    request.body.pointer(path).and_then(Value::as_str).is_some_and(|version| !version.is_empty())
}

impl fmt::Debug for FaultyTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Faulty").field("server", &self.server).finish_non_exhaustive()
    }
}

impl<B> Service<hyper::Request<B>> for FaultyTransport
where
    B: hyper::body::Body + Send + 'static,
    B::Data: Send,
    B::Error: fmt::Display,
{
    type Response = hyper::Response<Stream>;
    type Error = Lost;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Lost>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: hyper::Request<B>) -> Self::Future {
        let faulty = self.clone();
        Box::pin(async move {
            match read(request, faulty.server.user.clone()).await {
                Ok(request) => faulty.carry(request).await,
                Err(error) => Ok(faulty.server.reply(error.into())),
            }
        })
    }
}

//! The way of one process to the server: chosen writes meet their fate on it, and watches can be made to
//! stand still. Made of several faulty ways, of which each request takes one.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use bindery_sim::faults::{Fault, Faults, FaultyTransport};
use bindery_sim::{ApiServer, Lost, Stream};
use hyper::Request;
use hyper::body::Body;
use tokio::time::sleep;
use tower::Service;

use super::cell::{Fate, Side, Sight, Strike};

/// Longer than any deadline of the controller's.
const PATIENCE: Duration = Duration::from_secs(7);

/// So that what was in flight just before a strike has come in.
const MOMENT: Duration = Duration::from_millis(1);

type Reply = Result<hyper::Response<Stream>, Lost>;

/// A process's way. Clones are the same way.
#[derive(Clone)]
pub(super) struct ScriptedTransport(Arc<Parts>);

struct Parts {
    name: String,
    server: ApiServer,
    /// For all that nothing is to happen to.
    calm: FaultyTransport,
    /// For the watches of volumes, and of claims.
    watches: [FaultyTransport; 2],
    script: Arc<Script>,
    /// Whether the process is dead, or as good as dead: nothing of it arrives any more.
    is_dead: AtomicBool,
}

/// What is to happen to the writes of all processes together, and what has.
pub(super) struct Script(Mutex<State>);

struct State {
    strikes: VecDeque<Strike>,
    /// Writes since the last strike.
    count: usize,
    sent: Vec<String>,
    /// Who goes on after a crash, if it waits already.
    heir: Option<ScriptedTransport>,
    struck: VecDeque<Struck>,
}

/// A strike that was carried out.
pub(super) struct Struck {
    pub(super) strike: Strike,
    /// Whose write it was.
    pub(super) process: String,
    /// The version of the cluster at which it began.
    pub(super) version: u64,
    /// Where its fault is counted, and which.
    counted: Option<(FaultyTransport, Fault)>,
}

impl Struck {
    /// Returns whether the fault could come about.
    pub(super) fn came(&self) -> bool {
        self.counted.as_ref().is_none_or(|(transport, fault)| transport.tally().contains_key(fault))
    }
}

impl Script {
    pub(super) fn new(strikes: &[Strike]) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            strikes: strikes.iter().copied().collect(),
            count: 0,
            sent: Vec::new(),
            heir: None,
            struck: VecDeque::new(),
        })))
    }

    /// Returns what is to happen next.
    pub(super) fn coming(&self) -> Option<Strike> {
        self.state().strikes.front().copied()
    }

    /// The next strike that was carried out, once.
    pub(super) fn take_struck(&self) -> Option<Struck> {
        self.state().struck.pop_front()
    }

    /// Returns whether a strike was carried out that was not taken yet.
    pub(super) fn has_struck(&self) -> bool {
        !self.state().struck.is_empty()
    }

    /// Every write that was sent: verb and path.
    pub(super) fn sent(&self) -> Vec<String> {
        self.state().sent.clone()
    }

    /// Returns who goes on after a crash, if it waits already.
    pub(super) fn heir(&self) -> Option<ScriptedTransport> {
        self.state().heir.clone()
    }

    /// Says who goes on after a crash.
    pub(super) fn set_heir(&self, heir: Option<ScriptedTransport>) {
        self.state().heir = heir;
    }

    /// Counts a write; the strike that it meets.
    fn note(&self, write: String) -> Option<Strike> {
        let mut state = self.state();
        state.sent.push(write);
        state.count += 1;
        let count = state.count;
        let strike = state.strikes.pop_front_if(|strike| strike.at == count)?;
        state.count = 0;
        Some(strike)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("whole")
    }
}

impl ScriptedTransport {
    /// The transport of the process of this name, under its own user.
    pub(super) fn new(server_for: &ApiServer, name: &str, script: &Arc<Script>) -> Self {
        let calm = || FaultyTransport::new(server_for.clone(), Faults::none(), 0);
        Self(Arc::new(Parts {
            name: name.to_owned(),
            calm: calm(),
            watches: [calm(), calm()],
            server: server_for.clone(),
            script: Arc::clone(script),
            is_dead: AtomicBool::new(false),
        }))
    }

    /// Lets the process see from here on as little as said.
    pub(super) fn blind(&self, sight: Sight) {
        match sight {
            Sight::Fresh => {}
            Sight::Behind(side) | Sight::Before(side) | Sight::Old(side) => {
                self.watch(side).cut_off(true);
            }
            Sight::Missed => {
                for watch in &self.0.watches {
                    watch.set(Faults::none().with(Fault::LostEvent, 1000));
                }
            }
        }
    }

    /// Lets the process see again; what it has missed for good it sees when it lists again.
    pub(super) fn enlighten(&self) {
        for watch in &self.0.watches {
            watch.set(Faults::none());
        }
    }

    fn watch(&self, side: Side) -> &FaultyTransport {
        match side {
            Side::Volumes => &self.0.watches[0],
            Side::Claims => &self.0.watches[1],
        }
    }

    async fn carry<B>(self, request: Request<B>) -> Reply
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: fmt::Display,
    {
        if self.0.is_dead.load(Ordering::Relaxed) {
            return std::future::pending().await;
        }
        if let Some(side) = watched(&request) {
            return self.watch(side).clone().call(request).await;
        }
        let write = write(&request);
        if let Some(strike) = write.and_then(|write| self.0.script.note(write)) {
            return self.strike(strike, request).await;
        }
        self.0.calm.clone().call(request).await
    }

    async fn strike<B>(self, strike: Strike, request: Request<B>) -> Reply
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: fmt::Display,
    {
        sleep(MOMENT).await;
        let goes_on =
            if strike.fate.is_crash() { self.0.script.heir() } else { Some(self.clone()) };
        if let (Some(transport), Sight::Behind(_) | Sight::Missed) = (goes_on, strike.sight) {
            transport.blind(strike.sight);
        }
        let version = self.0.server.with(|cluster| cluster.version());
        let report = |counted| {
            let process = self.0.name.clone();
            self.0.script.state().struck.push_back(Struck { strike, process, version, counted });
        };
        let fault = match strike.fate {
            Fate::DiesBefore => {
                self.die();
                report(None);
                return std::future::pending().await;
            }
            Fate::DiesUnanswered => {
                drop(self.0.calm.clone().call(request).await);
                self.die();
                report(None);
                return std::future::pending().await;
            }
            Fate::DiesAnswered => {
                let reply = self.0.calm.clone().call(request).await;
                self.die();
                report(None);
                return reply;
            }
            Fate::Conflict => Fault::Conflict,
            Fate::Failure => Fault::InternalError,
            Fate::Unanswered => Fault::LostReply,
            Fate::Busy => Fault::TooManyRequests,
        };
        let mut faults = Faults::none().with(fault, 1000);
        faults.patience = PATIENCE;
        let mut transport = FaultyTransport::new(self.0.server.clone(), faults, 0);
        report(Some((transport.clone(), fault)));
        transport.call(request).await
    }

    /// From now on nothing of the process arrives.
    fn die(&self) {
        self.0.is_dead.store(true, Ordering::Relaxed);
    }
}

/// Whose watch it is, if it is one that may stand still.
fn watched<B>(request: &Request<B>) -> Option<Side> {
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    match request.uri().path().rsplit('/').next() {
        Some("persistentvolumes") if is_watch => Some(Side::Volumes),
        Some("persistentvolumeclaims") if is_watch => Some(Side::Claims),
        _ => None,
    }
}

/// Verb and path of a write that counts: leases are another test's, and events bind nothing. Of a name that
/// was generated, what it begins with.
fn write<B>(request: &Request<B>) -> Option<String> {
    let path = request.uri().path();
    let is_counted = request.method() != http::Method::GET
        && !["/leases", "/events"].iter().any(|part| path.contains(part));
    let generated = ["/pvc-", "/recycler-for-"];
    let known = generated.iter().find_map(|begin| path.find(begin).map(|at| at + begin.len()));
    let known = &path[..known.unwrap_or(path.len())];
    is_counted.then(|| format!("{} {known}", request.method()))
}

impl<B> Service<Request<B>> for ScriptedTransport
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: fmt::Display,
{
    type Response = hyper::Response<Stream>;
    type Error = Lost;
    type Future = Pin<Box<dyn Future<Output = Reply> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Box::pin(self.clone().carry(request))
    }
}

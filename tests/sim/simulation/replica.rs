//! One process of the controller: it starts, is killed or stopped, and never comes back as itself.

use std::sync::Arc;

use bindery::cluster::lease::{Contest, Timing};
use bindery::config::Recycler;
use bindery::controller::mode::Mode;
use bindery::controller::run::{LoopError, Settings, run};
use bindery::sim::faults::{Faults, Faulty};
use bindery::sim::{Outcome, Phase, Reviewer, Server, User};
use kube::Client;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Namespace and name of the lease for which they contend.
pub(super) const LEASE: (&str, &str) = ("kube-system", "bindery-controller");

/// A running process.
pub(super) struct Replica {
    /// Its user, and its identity in the lease.
    pub(super) name: String,
    /// Its way to the server.
    pub(super) way: Faulty,
    task: JoinHandle<Result<(), LoopError>>,
    stop: oneshot::Sender<()>,
}

impl Replica {
    /// Starts a process with these faults on its way.
    pub(super) fn start(
        server: &Server,
        name: String,
        timing: Timing,
        faults: Faults,
        seed: u64,
    ) -> Self {
        let server = server.for_user(User::named(&name, &[])).with_reviewer(timeless());
        let way = Faulty::new(server, faults, seed);
        let contest = Contest {
            namespace: LEASE.0.to_owned(),
            name: LEASE.1.to_owned(),
            identity: name.clone(),
            timing,
        };
        let settings = Settings {
            mode: Mode::Full,
            contest: Some(contest),
            recycler: Recycler::default(),
            own_namespace: "kube-system".to_owned(),
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let client = Client::new(way.clone(), "default");
        let task = tokio::spawn(run(client, settings, async {
            let _ = stopped.await;
        }));
        Self { name, way, task, stop }
    }

    /// Kills it wherever it is; what it has sent is on its way.
    pub(super) fn kill(self) -> Faulty {
        self.task.abort();
        self.way
    }

    /// Asks it to stop, which it may take its time for.
    pub(super) fn stop(self) -> Faulty {
        // One that has ended by itself does not listen.
        let _ = self.stop.send(());
        self.way
    }

    /// Whether it ended, though nobody asked it to.
    pub(super) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }
}

/// Takes the time of day out of events: whether an event that is told again changes by it would depend on
/// the wall clock, and a run would not repeat.
fn timeless() -> Reviewer {
    Arc::new(|review| {
        let request = review.request();
        let is_event = request["resource"]["resource"] == "events";
        let is_edited = review.phase() == Phase::Mutating && request["object"].is_object();
        let object = (is_event && is_edited).then(|| {
            let mut event = request["object"].clone();
            for field in ["firstTimestamp", "lastTimestamp"] {
                event[field] = json!("2026-11-21T05:00:00Z");
            }
            event
        });
        Box::pin(async move { Outcome::Allow { object, warnings: Vec::new() } })
    })
}

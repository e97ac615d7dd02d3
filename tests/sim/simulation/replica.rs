//! One process of the controller: it starts, is killed or stopped, and never comes back as itself.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use bindery::cluster::lease::{Contest, Timing};
use bindery::config::Recycler;
use bindery::controller::mode::Mode;
use bindery::controller::run::{LoopError, Settings, run};
use bindery::sim::faults::{Faults, Faulty};
use bindery::sim::{Method, Outcome, Phase, Reviewer, Server, User};
use kube::Client;
use serde_json::json;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::way::Way;
use crate::controller::{VOLUMES, send, server, volume};

/// Namespace and name of the lease for which they contend.
pub(super) const LEASE: (&str, &str) = ("kube-system", "bindery-controller");

/// A running process.
pub(super) struct Replica {
    /// Its user, and its identity in the lease.
    pub(super) name: String,
    /// Its way to the server.
    pub(super) way: Faulty,
    /// What it asks on that way.
    pub(super) requests: Way,
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
        let requests = Way::new(way.clone());
        let client = Client::new(requests.clone(), "default");
        let task = tokio::spawn(run(client, settings, async {
            let _ = stopped.await;
        }));
        Self { name, way, requests, task, stop }
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

#[test]
fn a_process_ends_whole_whichever_of_its_tasks_panics() {
    for part in ["watch=", "/leases/", "/status"] {
        let (tell, told) = mpsc::channel();
        // On a thread of its own: a loop that never waits would hold up the test for ever.
        thread::spawn(move || tell.send(has_ended_after_a_panic(part)));
        let has_ended = told.recv_timeout(Duration::from_mins(1));
        assert_eq!(has_ended, Ok(true), "a request to {part} panics");
    }
}

/// Whether a process that leads has ended a while after a request to `part` panicked in it.
fn has_ended_after_a_panic(part: &'static str) -> bool {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let server = server();
        let (name, timing) = ("binder".to_owned(), Timing::default());
        let replica = Replica::start(&server, name, timing, Faults::none(), 1);
        sleep(Duration::from_secs(3)).await;
        assert!(!replica.has_ended(), "it has no reason yet");
        replica.requests.doom(Some(part));
        server.end_watches();
        send(&server, Method::Post, VOLUMES, volume("pv-a", "1Gi"));
        sleep(Duration::from_secs(15)).await;
        assert!(replica.requests.panicked_at().is_some(), "nothing was asked of {part}");
        replica.has_ended()
    })
}

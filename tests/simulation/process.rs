//! One process of the controller over the simulated server: it starts, is killed or stopped, and never
//! comes back as itself. Not here: what goes wrong on its way to the server.

use std::sync::Arc;

use bindery::client::lease::{LeaderElection, Timing};
use bindery::controller::error::LoopError;
use bindery::controller::mode::ControllerMode;
use bindery::controller::run::{ControllerSettings, run};
use bindery::file_watch::configuration::ConfigurationSource;
use bindery_sim::{ApiServer, Phase, RequestUser, ReviewOutcome, Reviewer};
use kube::Client;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Namespace and name of the lease for which they compete.
pub(crate) const LEASE: (&str, &str) = ("kube-system", "bindery-controller");

/// A running process.
pub(crate) struct Process {
    /// Its user, and its identity in the lease.
    pub(crate) name: String,
    task: JoinHandle<Result<(), LoopError>>,
    stop: oneshot::Sender<()>,
}

impl Process {
    /// Starts a process of this name, which reaches the server through `client`.
    pub(crate) fn start(client: Client, name: &str, mode: ControllerMode, timing: Timing) -> Self {
        let election = LeaderElection {
            namespace: LEASE.0.to_owned(),
            name: LEASE.1.to_owned(),
            identity: name.to_owned(),
            timing,
        };
        let settings = ControllerSettings {
            mode,
            election: Some(election),
            configuration: ConfigurationSource::default(),
            config_map: None,
            last_good: None,
            own_namespace: "kube-system".to_owned(),
            events: true,
            certificates: None,
            guard: None,
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(run(client, settings, async {
            let _ = stopped.await;
        }));
        Self { name: name.to_owned(), task, stop }
    }

    /// Kills it wherever it is; what it has sent is on its way.
    pub(crate) fn kill(self) {
        self.task.abort();
    }

    /// Asks it to stop, which it may take its time for.
    pub(crate) fn stop(self) {
        // One that has ended by itself does not listen.
        let _ = self.stop.send(());
    }

    /// Returns whether it ended without being asked to.
    pub(crate) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }
}

/// The server as the process of this name reaches it: under its own user.
pub(crate) fn server_for(server: &ApiServer, name: &str) -> ApiServer {
    server.for_user(RequestUser::named(name, &[])).with_reviewer(timeless())
}

/// Takes the time of day out of events: whether a repeated event changes by it would depend on
/// the wall clock, and a run would not repeat.
fn timeless() -> Reviewer {
    Arc::new(|review| {
        let request = review.request();
        let is_event = request["resource"]["resource"] == "events";
        let is_mutated = review.phase() == Phase::Mutating && request["object"].is_object();
        let object = (is_event && is_mutated).then(|| {
            let mut event = request["object"].clone();
            for field in ["firstTimestamp", "lastTimestamp"] {
                event[field] = json!("2026-11-21T05:00:00Z");
            }
            event
        });
        Box::pin(async move { ReviewOutcome::Allow { object, warnings: Vec::new() } })
    })
}

//! The leader finds out all the time whether guard answers, and has it fail closed once it does.
//!
//! A registration that fails closed while no pod can answer denies changes that nothing evaluates: where an image does not
//! exist, replicas were scaled to zero, or a Namespace was deleted. So the API server calls the entry that fails closed only
//! while a `RoleBinding` exists (a condition of the registration asks its authorizer), and otherwise one that fails open. The
//! leader makes that `RoleBinding` after the probe has passed, owned by the pods that answer: the garbage collector deletes it
//! with the last of them, also where no process of ours is left to do it. No tool that deploys the chart knows the object, so
//! none reports a difference.
//!
//! Not here: the condition (the chart), and the answer (`webhook::service`).

mod answering;
pub(super) mod metrics;
mod probe;

use std::future::pending;
use std::time::Duration;

use kube::Client;
use tokio::time::{Instant, sleep};

use self::answering::{AnsweringPod, ready_pods, register};
use self::probe::probe;
use super::loop_settings::LoopSettings;
use crate::api::installation::Installation;

/// Between two probes of a guard that answers. Each is a denial in the API server's metrics and audit log, and the alert waits
/// for minutes.
const PROBE_PERIOD: Duration = Duration::from_secs(30);

/// Between two looks at the pods of a guard that answers. A pod that is replaced takes ten seconds to end: those in its place
/// own the `RoleBinding` before.
const PERIOD: Duration = Duration::from_secs(3);

/// Between two probes of a guard that does not answer.
const RETRY_PERIOD: Duration = Duration::from_secs(1);

/// The loop.
pub(super) struct GuardLoop {
    client: Client,
    /// The installation whose guard is probed; none if guard fails closed in any case.
    installation: Option<Installation>,
    settings: LoopSettings,
    /// The last failure that was logged; empty if guard answered, nothing if it was not probed since this replica leads.
    logged: Option<String>,
    /// When the last probe passed, and the pods that were ready then; nothing if anything failed since.
    passed: Option<(Instant, Vec<AnsweringPod>)>,
}

impl GuardLoop {
    /// A loop over the guard of an installation.
    pub(super) fn new(
        client: &Client,
        settings: LoopSettings,
        installation: Option<Installation>,
    ) -> Self {
        Self { client: client.clone(), installation, settings, logged: None, passed: None }
    }

    /// Runs until the process ends.
    pub(super) async fn run(mut self) {
        let Some(installation) = self.installation.clone() else { return pending().await };
        loop {
            let pause = self.turn(&installation).await;
            sleep(pause).await;
        }
    }

    /// One turn, if this replica leads. Returns how long to wait for the next time.
    async fn turn(&mut self, installation: &Installation) -> Duration {
        let metrics = &self.settings.metrics.guard;
        if self.settings.deadline().is_none() {
            metrics.forget();
            (self.logged, self.passed) = (None, None);
            let is_new = self.settings.until.borrow().is_none()
                && self.settings.until.wait_for(Option::is_some).await.is_ok();
            return if is_new { Duration::ZERO } else { RETRY_PERIOD };
        }
        let outcome = self.probe_and_register(installation).await;
        let is_done = outcome.is_ok();
        if !is_done {
            self.passed = None;
        }
        self.settings.metrics.guard.show(is_done);
        self.log(outcome.err().unwrap_or_default());
        if is_done { PERIOD } else { RETRY_PERIOD }
    }

    /// Probes, unless it was done lately and no pod is new since, and writes the `RoleBinding` for the pods that are ready now.
    /// The error is a sentence.
    async fn probe_and_register(&mut self, installation: &Installation) -> Result<(), String> {
        let pods = ready_pods(&self.client, installation);
        let pods =
            pods.await.map_err(|error| format!("which pods answer is not known: {error}"))?;
        let is_known = self.passed.as_ref().is_some_and(|(at, known)| {
            at.elapsed() < PROBE_PERIOD && pods.iter().all(|pod| known.contains(pod))
        });
        if !is_known {
            probe(&self.client).await.map_err(|error| error.to_string())?;
            self.passed = Some((Instant::now(), pods.clone()));
        }
        register(&self.client, installation, &pods).await.map_err(|error| {
            format!("guard answers, but its RoleBinding was not written, without which it fails open: {error}")
        })
    }

    /// Logs what has changed. No failure is an empty text.
    fn log(&mut self, failure: String) {
        if self.logged.as_ref() == Some(&failure) {
            return;
        }
        if failure.is_empty() {
            tracing::info!(
                "guard answers the API server, and fails closed while a pod of it exists"
            );
        } else {
            tracing::warn!(reason = failure, "the probe of guard did not pass; it is repeated");
        }
        self.logged = Some(failure);
    }
}

//! One replica renews the certificates of an installation: it makes and stores them, and registers the CA certificates.
//!
//! Its leader election has a lease of its own: with that of the binder, a leader without certificates, as one that is
//! about to be replaced, would keep the webhooks from having any.
//!
//! Which step is next is decided in `certificates::rotation`; here it is done. What others undo (a deployment
//! tool that replaces a Secret or a registration) is seen at once and done again, at a limited rate. Not here:
//! serving what is stored (`webhook`).

mod budget;
pub(super) mod metrics;
pub(super) mod renewal;
mod seen;

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use jiff::Timestamp;
use kube::Client;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use self::budget::Budget;
use self::seen::{InstallationState, ObjectWatches};
use super::metrics::ControllerMetrics;
use crate::api::installation::Installation;
use crate::api::secret::{ca_patch, serving_patch};
use crate::api::write::WritePatch;
use crate::certificates::rotation::{
    Ages, LeafState, Periods, RotationStep, Stored, decide, facts,
};
use crate::certificates::{CertificateError, SubjectNames, time};
use crate::client::lease::{LeaderElection, LeadershipDeadline};
use crate::client::request::{RequestError, send_text};
use crate::telemetry::logging::cause;

/// Whose certificates are renewed, and how long each lasts.
#[derive(Clone, Debug)]
pub struct CertificateSettings {
    /// The installation.
    pub installation: Installation,
    /// The lifetimes of certificates.
    pub periods: Periods,
    /// The leader election; none to renew them at once.
    pub election: Option<LeaderElection>,
}

/// How long a write may take: less than what is left of a lease when it is begun.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// So much of the lease must be left for a write to be begun.
const LEASE_MARGIN: Duration = Duration::from_secs(6);

/// The longest time between two looks at the clock: a certificate may have become due.
const RESYNC: Duration = Duration::from_mins(1);

/// Between two tries of what failed.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// How long a change of ours needs to be seen.
const REQUEUE_AFTER: Duration = Duration::from_secs(1);

/// Renews the certificates, whenever this replica leads, until `quit` is true; a step in progress ends before.
async fn renew(
    client: Client,
    settings: CertificateSettings,
    until: watch::Receiver<LeadershipDeadline>,
    mut quit: watch::Receiver<bool>,
    metrics: Arc<ControllerMetrics>,
) {
    let mut renewer = Renewer { client, settings, until, metrics, published: None, switched: None };
    loop {
        tokio::select! {
            biased;
            _ = quit.wait_for(|quit| *quit) => return,
            led = renewer.until.wait_for(Option::is_some) => if led.is_err() { return },
        }
        renewer.lead(&mut quit).await;
    }
}

struct Renewer {
    client: Client,
    settings: CertificateSettings,
    until: watch::Receiver<LeadershipDeadline>,
    metrics: Arc<ControllerMetrics>,
    /// Since when everything that is trusted is registered.
    published: Option<Instant>,
    /// Since when the serving certificate is signed by the newest CA.
    switched: Option<Instant>,
}

#[derive(Debug, thiserror::Error)]
enum RenewalError {
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error("{}", cause(.0))]
    Request(#[from] RequestError),
}

impl Renewer {
    /// Watches and writes as long as this replica leads.
    async fn lead(&mut self, quit: &mut watch::Receiver<bool>) {
        let mut watches = ObjectWatches::start(&self.client, &self.settings.installation);
        let mut budget = Budget::new(self.settings.periods.propagation);
        // How long anything has lasted before is not known.
        (self.published, self.switched) = (None, None);
        loop {
            let pause = if let Some(seen) = watches.seen(&self.settings.installation) {
                self.step(&seen, &mut budget).await
            } else {
                if watches.are_blocked() {
                    self.metrics.certificates.count_blocked();
                }
                RESYNC
            };
            tokio::select! {
                () = watches.changed() => {}
                // An error: the lease has no holder any more, nor ever will.
                _ = self.until.wait_for(Option::is_none) => break,
                _ = quit.wait_for(|quit| *quit) => break,
                () = sleep(pause) => {}
            }
        }
        self.metrics.certificates.ca(None);
    }

    /// Returns whether what is begun now ends while this replica leads.
    fn may_write(&self) -> bool {
        let until = *self.until.borrow();
        until.is_some_and(|until| until.saturating_duration_since(Instant::now()) > LEASE_MARGIN)
    }

    /// One look and one step; how long to wait for a change before the next.
    async fn step(&mut self, seen: &InstallationState, budget: &mut Budget) -> Duration {
        let now = Timestamp::now();
        let step = self.next(seen, now);
        match step {
            RotationStep::Rest => return RESYNC,
            RotationStep::Wait(left) => return left.min(RESYNC),
            RotationStep::CreateCa(_)
            | RotationStep::CreateLeaf(_)
            | RotationStep::Publish
            | RotationStep::Retire => {}
        }
        if let Some(wait) = budget.wait(Instant::now()) {
            return wait;
        }
        if !self.may_write() {
            return REQUEUE_AFTER;
        }
        match self.do_step(step, seen, now).await {
            Ok(()) => {
                budget.spend(Instant::now());
                self.metrics.certificates.count(step, "done");
                log(step);
            }
            // What was seen was old; the next look shows what there is.
            Err(RenewalError::Request(error))
                if error.status().is_some_and(|it| it.code == 409) =>
            {
                self.metrics.certificates.count(step, "outdated");
            }
            Err(trouble) => {
                self.metrics.certificates.count(step, "failed");
                let reason = trouble.to_string();
                tracing::warn!(?step, reason, "certificates could not be written; retried");
                return RETRY_AFTER;
            }
        }
        REQUEUE_AFTER
    }

    /// Returns what is to be done, and since when what is seen has been so.
    fn next(&mut self, seen: &InstallationState, now: Timestamp) -> RotationStep {
        let CertificateSettings { installation, periods, election: _ } = &self.settings;
        let facts = facts(&seen.stored, &seen.trust(), &installation.host(), now);
        let clock = Instant::now();
        let since = |holds: bool, since: Option<Instant>| holds.then(|| since.unwrap_or(clock));
        self.published = since(facts.is_published, self.published);
        self.switched = since(matches!(facts.leaf, LeafState::Current { .. }), self.switched);
        let age = |since: Option<Instant>| since.map(|since| clock - since);
        let ages = Ages { published: age(self.published), switched: age(self.switched) };
        let end = seen.stored.ca.as_ref().and_then(|pair| time(&pair.certificate));
        self.metrics.certificates.ca(end.map(|time| time.end));
        decide(facts, ages, periods.propagation)
    }

    async fn do_step(
        &self,
        step: RotationStep,
        seen: &InstallationState,
        now: Timestamp,
    ) -> Result<(), RenewalError> {
        let CertificateSettings { installation, periods, election: _ } = &self.settings;
        let stored = &seen.stored;
        let ca_path = installation.secret_path(&installation.ca_secret());
        let ca = |stored: &Stored| ca_patch(ca_path, &seen.ca, stored);
        match step {
            RotationStep::CreateCa(_) => {
                let known = (installation.to_string(), seen.trust().concat());
                let known = (known.0.as_str(), known.1.as_str());
                let made = stored.with_new_ca(known, now, periods.ca)?;
                self.write(ca(&made)).await
            }
            RotationStep::CreateLeaf(_) => {
                let names = names(installation);
                let Some(made) = stored.with_new_leaf(&names, now, periods.leaf)? else {
                    return Ok(());
                };
                let path = installation.secret_path(&installation.serving_secret());
                self.write(serving_patch(path, &seen.serving, &made)).await
            }
            RotationStep::Publish => {
                for (path, registered) in &seen.registered {
                    if let Some(patch) = registered.patch(path.clone(), &stored.trust()) {
                        self.write(patch).await?;
                    }
                }
                Ok(())
            }
            RotationStep::Retire => self.write(ca(&stored.without_former())).await,
            RotationStep::Wait(_) | RotationStep::Rest => Ok(()),
        }
    }

    async fn write(&self, patch: WritePatch) -> Result<(), RenewalError> {
        let request = Request::patch(patch.path)
            .header("content-type", patch.content_type)
            .body(patch.body.to_string().into_bytes());
        send_text(&self.client, request, WRITE_TIMEOUT).await?;
        Ok(())
    }
}

/// The names under which the service is called.
fn names(installation: &Installation) -> SubjectNames {
    let host = installation.host();
    SubjectNames { dns: vec![format!("{host}.cluster.local"), host], ip: Vec::new() }
}

fn log(step: RotationStep) {
    match step {
        RotationStep::CreateCa(reason) => {
            tracing::info!(reason = reason.label(), "a new CA certificate was made");
        }
        RotationStep::CreateLeaf(reason) => {
            tracing::info!(reason = reason.label(), "a new serving certificate was made");
        }
        RotationStep::Publish => {
            tracing::info!("the registrations trust the current CA certificates");
        }
        RotationStep::Retire => tracing::info!("the former CA certificate is no longer trusted"),
        RotationStep::Wait(_) | RotationStep::Rest => {}
    }
}

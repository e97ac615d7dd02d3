//! Renewal of certificates while this replica is the leader for it.
//!
//! Not here: what is renewed, and how (`certificates`).

use std::sync::Arc;

use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::super::metrics::ControllerMetrics;
use super::{CertificateSettings, WRITE_TIMEOUT, renew};
use crate::client::lead::Lead;

/// The leadership, and the task that renews the certificates while it lasts.
pub(in crate::controller) struct CertificateRenewal {
    lead: Lead,
    tasks: JoinSet<()>,
    quit: watch::Sender<bool>,
}

impl CertificateRenewal {
    /// Campaigns for the lease and renews the certificates; without settings it does neither.
    pub(in crate::controller) fn start(
        client: &Client,
        settings: Option<CertificateSettings>,
        metrics: &Arc<ControllerMetrics>,
    ) -> Self {
        let election = settings.as_ref().and_then(|settings| settings.election.clone());
        let lead = Lead::start(client, election);
        let (quit, quitting) = watch::channel(false);
        let mut tasks = JoinSet::new();
        if let Some(settings) = settings {
            let (until, metrics) = (lead.until.clone(), Arc::clone(metrics));
            tasks.spawn(renew(client.clone(), settings, until, quitting, metrics));
        }
        Self { lead, tasks, quit }
    }

    /// Resolves if what must not end has ended.
    pub(in crate::controller) async fn ended(&mut self) {
        tokio::select! {
            Some(_) = self.tasks.join_next() => {}
            () = self.lead.lost() => {}
        }
    }

    /// Waits for the step in progress, then gives up the lease.
    pub(in crate::controller) async fn give_up(mut self) {
        self.quit.send_replace(true);
        // A step writes to two registrations at most.
        let _ = timeout(2 * WRITE_TIMEOUT, self.tasks.join_next()).await;
        self.lead.give_up().await;
    }
}

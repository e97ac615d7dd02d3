//! The lead of this replica: a lease, and the task that holds it.
//!
//! Not here: the leader election (`lease`), and what the leader does.

use std::time::Duration;

use kube::Client;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::lease::{LeaderElection, LeadershipChannels, LeadershipDeadline, campaign};
use super::other_binder::OtherBinder;

/// Longer than any process runs: without an election the lead does not expire.
pub const NO_EXPIRY: Duration = Duration::from_hours(24 * 365);

/// The lead, and the task that holds it.
#[derive(Debug)]
pub struct Lead {
    /// Until when this process leads.
    pub until: watch::Receiver<LeadershipDeadline>,
    /// Whether another binder is known to be at work. The lease stores it; without one this process alone knows.
    pub other_binder: watch::Sender<OtherBinder>,
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl Lead {
    /// Campaigns for the lease; leads at once without an election.
    pub fn start(client: &Client, election: Option<LeaderElection>) -> Self {
        let other_binder = watch::Sender::new(OtherBinder::default());
        let at_once = election.is_none().then(|| Instant::now() + NO_EXPIRY);
        let (sender, until) = watch::channel(at_once);
        let (stop, stopped) = oneshot::channel();
        let task = if let Some(election) = election {
            let channels = LeadershipChannels { until: sender, other_binder: other_binder.clone() };
            tokio::spawn(campaign(client.clone(), election, channels, stopped))
        } else {
            tokio::spawn(async move {
                let _ = stopped.await;
                drop(sender);
            })
        };
        Self { until, other_binder, task, stop }
    }

    /// Resolves if the task that holds the lease ends.
    pub async fn lost(&mut self) {
        let _ = (&mut self.task).await;
    }

    /// Gives up the lease; nothing that it allows is in flight any more.
    pub async fn give_up(self) {
        if !self.task.is_finished() {
            let _ = self.stop.send(());
            let _ = self.task.await;
        }
    }
}

//! The lead of this replica: a lease, and the task that holds it.
//!
//! Not here: the leader election (`client::lease`), and what the leader does.

use std::time::Duration;

use kube::Client;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::client::lease::{LeaderElection, LeadershipChannels, LeadershipDeadline, campaign};
use crate::client::other_binder::OtherBinder;

/// Longer than any process runs: without an election the lead does not expire.
pub(super) const NO_EXPIRY: Duration = Duration::from_hours(24 * 365);

/// The lead, and the task that holds it.
pub(super) struct Lead {
    /// Until when this process leads.
    pub(super) until: watch::Receiver<LeadershipDeadline>,
    /// Whether another binder is known to be at work. The lease stores it; without one this process alone knows.
    pub(super) other_binder: watch::Sender<OtherBinder>,
    held: Option<(JoinHandle<()>, oneshot::Sender<()>)>,
    /// Keeps the lead where there is no election.
    _alone: Option<watch::Sender<LeadershipDeadline>>,
}

impl Lead {
    /// Campaigns for the lease; leads at once without an election.
    pub(super) fn start(client: &Client, election: Option<LeaderElection>) -> Self {
        let other_binder = watch::Sender::new(OtherBinder::default());
        match election {
            None => {
                let (sender, until) = watch::channel(Some(Instant::now() + NO_EXPIRY));
                Self { until, other_binder, held: None, _alone: Some(sender) }
            }
            Some(election) => {
                let (sender, until) = watch::channel(None);
                let (stop, stopped) = oneshot::channel();
                let channels =
                    LeadershipChannels { until: sender, other_binder: other_binder.clone() };
                let task = tokio::spawn(campaign(client.clone(), election, channels, stopped));
                Self { until, other_binder, held: Some((task, stop)), _alone: None }
            }
        }
    }

    /// Resolves if the task that holds the lease ends.
    pub(super) async fn lost(&mut self) {
        match &mut self.held {
            Some((task, _)) => {
                let _ = task.await;
            }
            None => std::future::pending().await,
        }
    }

    /// Gives up the lease; nothing that it allows is in flight any more.
    pub(super) async fn give_up(self) {
        if let Some((task, stop)) = self.held
            && !task.is_finished()
        {
            let _ = stop.send(());
            let _ = task.await;
        }
    }
}

//! How one of several replicas becomes the one that writes.

use std::time::Duration;

use clap::Args;

use super::cluster::duration;
use crate::client::lease::Timing;

/// The arguments of every command that one replica at a time performs.
#[derive(Clone, Debug, Args)]
pub struct ElectionArgs {
    /// Take part in leader election; without it, this is the only replica.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub leader_elect: bool,
    /// Time after the last renewal of the Lease until another replica may take it: about as long as nothing is done
    /// after the leader is killed. Whole seconds.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "15s")]
    pub leader_elect_lease_duration: Duration,
    /// Time after the last renewal in which the leader still writes; shorter than the Lease.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub leader_elect_renew_deadline: Duration,
    /// Time between two renewals of the Lease; several fit before the deadline.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2s")]
    pub leader_elect_retry_period: Duration,
}

impl ElectionArgs {
    /// The periods of the Lease. The error says which flags do not go together.
    pub fn timing(&self) -> Result<Timing, String> {
        let (duration, deadline, period) = (
            self.leader_elect_lease_duration,
            self.leader_elect_renew_deadline,
            self.leader_elect_retry_period,
        );
        Timing::new(duration, deadline, period).map_err(|error| {
            format!(
                "--leader-elect-lease-duration {duration:?}, --leader-elect-renew-deadline {deadline:?} and \
                 --leader-elect-retry-period {period:?} do not go together: {error}; leave them out for 15s, 10s and 2s"
            )
        })
    }
}

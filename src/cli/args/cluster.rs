//! How a command reaches a cluster.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// How to reach a cluster, with kubectl's names.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Cluster")]
pub struct ClusterArgs {
    /// Kubeconfig file.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Time limit of one request.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub request_timeout: Duration,
    /// User to impersonate.
    #[arg(long = "as", value_name = "USER")]
    pub as_user: Option<String>,
    /// Group to impersonate; repeatable.
    #[arg(long, value_name = "GROUP")]
    pub as_group: Vec<String>,
}

/// A positive time such as `10s`, `5m` or `24h`; a bare number is seconds, as kubectl reads it.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<u64>().ok().map(Duration::from_secs);
    let parsed = || {
        let signed = text.parse::<jiff::SignedDuration>().ok()?;
        Duration::try_from(signed).ok()
    };
    seconds
        .or_else(parsed)
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "expected a time like 10s, 5m or 24h".to_owned())
}

//! The arguments of `bindery reporter` and `bindery exemptions`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::cluster::{ClusterArgs, duration};
use super::{LogArgs, Notation};

/// Arguments of `bindery reporter`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
The findings are those of `bindery scan`. They are written as policy reports, one for each Namespace and one for \
PersistentVolumes, all of the name bindery-scan: Reports and ClusterReports of openreports.io/v1alpha1, or PolicyReports \
and ClusterPolicyReports of wgpolicyk8s.io/v1alpha2 where only these are installed. Where neither is, the metrics alone \
show the findings.\n\n\
One replica is enough. A second one writes the same.\n\n\
Exit codes with --once: 0 scanned and written; 2 wrong usage; 4 the cluster cannot be reached, or a report was not written.\n\n\
Examples:\n  \
bindery reporter --once --context production\n  \
kubectl get reports,clusterreports -A -l app.kubernetes.io/managed-by=bindery")]
pub struct ReporterArgs {
    /// Time between two scans.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1h")]
    pub interval: Duration,
    /// Scan once, write the reports and end, as a `CronJob` does.
    #[arg(long)]
    pub once: bool,
    /// The webhook's configuration: modes of rules, trusted accounts; read again when it changes.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Used instead of a configuration that is wrong when the process starts; if this is missing or wrong too, the defaults
    /// under the profile that the wrong one names. Without it, a wrong configuration ends the process.
    #[arg(long, value_name = "FILE", requires = "config")]
    pub config_last_good: Option<PathBuf>,
    /// Address of the plain port with /livez, /readyz and /metrics.
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:8081")]
    pub health_listen: SocketAddr,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// The log.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Arguments of `bindery exemptions`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
The owner of a Namespace asks for an exemption by an annotation on the PersistentVolumeClaim, whose value is the reason. It \
exempts from nothing by itself. An administrator grants it with the command that is printed for it: an annotation on the \
PersistentVolume, or an entry of the configuration for a PersistentVolumeClaim without one. Read the reason first: the \
owner of the Namespace wrote it.\n\n\
Nothing is changed.\n\n\
Examples:\n  \
kubectl annotate pvc data request.bindery.dev/bound-volume-delete=\"moving to the new array\"\n  \
bindery exemptions\n  \
bindery exemptions --for 2h -o json")]
pub struct ExemptionsArgs {
    /// A dump or a snapshot, or `-` for standard input; repeatable. Without it, the cluster is read.
    #[arg(short, long, value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// How long an exemption lasts that a printed command grants; at most as long as the configuration allows.
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "24h")]
    pub lasting: Duration,
    /// The webhook's configuration: exemptions without an annotation, and how far ahead one may end.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// `json` or `yaml` instead of text.
    #[arg(short, long, value_name = "FORM")]
    pub output: Option<Notation>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

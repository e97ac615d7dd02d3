//! The arguments of the commands that judge: `check`, `scan`, and `snapshot`, which both read.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::cluster::{ClusterArgs, duration};
use super::output::{Format, Output};

/// Arguments of `bindery check`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
What is judged: an object in --filename and in the base is an UPDATE, one only in --filename a \
CREATE, one only in --old a DELETE. The base is --live if given, else --old.\n\n\
Results: denied, warned, audited, exempted, clean; api (the API server itself will refuse it, as Kubernetes 1.36 does); \
unverified (it depends on objects that --live does not show, or was not given for, or on what the \
asker may do). Of a kind of which a dump \
holds no list, nothing is absent (see bindery plan --help).\n\n\
In folders, files that hold no Kubernetes object are passed over with a note.\n\n\
Of a PersistentVolume that a PersistentVolumeClaim names, check tells what the webhook tells an asker who may read \
it. Others are only told that it is not available.\n\n\
Examples:\n  \
bindery check -f manifests/ -R --live cluster\n  \
git show main:pv.yaml | bindery check -f pv.yaml --old - --live dump.yaml\n  \
bindery check --delete pv/pv-db-0 --live cluster -o json")]
pub struct CheckArgs {
    /// Manifests or AdmissionReviews: files, folders, or `-` for standard input; repeatable.
    #[arg(short, long, value_name = "PATH")]
    pub filename: Vec<PathBuf>,
    /// Look into folders below the given ones too.
    #[arg(short = 'R', long)]
    pub recursive: bool,
    /// The manifests as they were; repeatable.
    #[arg(long, value_name = "PATH")]
    pub old: Vec<PathBuf>,
    /// Judge the deletion of `pv/NAME`, `pvc/[NAMESPACE/]NAME` or `ns/NAME`; repeatable.
    #[arg(long, value_name = "KIND/NAME")]
    pub delete: Vec<String>,
    /// What is stored: a dump of volumes, claims, classes and pods, or `cluster`; repeatable.
    #[arg(long, value_name = "FILE|cluster")]
    pub live: Vec<PathBuf>,
    /// Refuse a dump that is older than this.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "24h")]
    pub max_age: Duration,
    /// How --filename is put onto what is stored.
    #[arg(long, value_name = "HOW", default_value = "server")]
    pub apply: Apply,
    /// User name of whoever will make the change.
    #[arg(long, value_name = "USER")]
    pub for_user: Option<String>,
    /// A group of whoever will make the change; repeatable.
    #[arg(long, value_name = "GROUP")]
    pub for_group: Vec<String>,
    /// End with code 1 if there is nothing to judge.
    #[arg(long)]
    pub require_match: bool,
    /// Namespace of claims that name none.
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    pub namespace: String,
    /// How findings are told.
    #[command(flatten)]
    pub report: ReportArgs,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Arguments of `bindery scan`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
Every volume and every claim is inspected by each rule that leaves a trace: what slipped in while the \
webhook was away, or stood there before it came. Exemptions that volumes carry are listed.\n\n\
A baseline accepts what is found today until a time; afterwards, and for whatever is new, the exit code is \
that of a finding.\n\n\
Exit codes: 0 nothing that a rule would refuse; 1 something.\n\n\
Examples:\n  \
bindery scan --context production -o wide\n  \
bindery scan -f snapshot.json --write-baseline baseline.yaml --until 2030-01-31T18:00:00Z\n  \
bindery scan -f snapshot.json --baseline baseline.yaml -o sarif=scan.sarif")]
pub struct ScanArgs {
    /// A dump or a snapshot, or `-` for standard input; repeatable. Without it, the cluster is asked.
    #[arg(short, long, value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// Write what is found to a baseline, and end with code 0.
    #[arg(long, value_name = "FILE", requires = "until")]
    pub write_baseline: Option<PathBuf>,
    /// Until when the baseline accepts it, as in 2030-01-31T18:00:00Z.
    #[arg(long, value_name = "TIME", requires = "write_baseline")]
    pub until: Option<jiff::Timestamp>,
    /// Why it is accepted.
    #[arg(long, value_name = "TEXT", default_value = "found when the baseline was made")]
    pub reason: String,
    /// How findings are told.
    #[command(flatten)]
    pub report: ReportArgs,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// How findings are judged and told, by a check and by a scan.
#[derive(Clone, Debug, Args)]
pub struct ReportArgs {
    /// `text`, `wide`, `json`, `yaml`, `junit`, `sarif`, `github` or `markdown`, to standard output or to a
    /// file as `json=PATH`; repeatable.
    #[arg(short, long, value_name = "FORMAT[=PATH]", default_value = "text")]
    pub output: Vec<Output<Format>>,
    /// Accept the findings that this file lists, until the time that it gives.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// End with code 3 if there is nothing worse than these.
    #[arg(long, value_name = "RESULT", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Modes of rules and whom to trust, as the webhook has them.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Never colour the output; the variable `NO_COLOR` does the same.
    #[arg(long)]
    pub no_color: bool,
}

/// Arguments of `bindery snapshot`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
Volumes, claims and classes as they are, but for who managed which field; of nodes and namespaces the names \
and labels, of attachments which volume is where; and which claims pods use, without their names. No \
secrets are read.\n\n\
Examples:\n  \
bindery snapshot --context production > snapshot.json\n  \
bindery check -f manifests/ -R --live snapshot.json --max-age 24h")]
pub struct SnapshotArgs {
    /// Where to write it; standard output if left out.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// How a manifest is put onto a stored object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Apply {
    /// `kubectl apply --server-side`: merged; with --old, what the manifest dropped is removed.
    Server,
    /// `kubectl apply`: merged; what was last applied and is missing now is removed.
    Client,
    /// `kubectl replace`.
    Replace,
}

/// A result that can fail a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A warning.
    Warn,
    /// A verdict that depends on the cluster.
    Unverified,
}

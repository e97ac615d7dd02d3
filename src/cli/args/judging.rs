//! The arguments of the commands that judge: `check`, `scan`, and `snapshot`, which both read.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::InstalledPolicies;
use super::cluster::{ClusterArgs, duration};
use super::output::Output;

/// Arguments of `bindery check`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
What is judged: an object in --filename and in the base is an UPDATE, one only in --filename a \
CREATE, one only in --old a DELETE. The base is --live if given, else --old. AdmissionReviews are judged in order, each on \
what those before it left: one that is denied, or has dryRun true, leaves nothing.\n\n\
Results: denied, warned, audited, exempted, clean; api (the API server itself will deny it, as Kubernetes 1.36 does); \
unverified (it depends on objects that --live does not show, or on the permissions of the requester). \
An object is absent only if the dump holds a list of its kind (see bindery plan --help).\n\n\
In folders, files without a Kubernetes object are skipped with a note.\n\n\
About a PersistentVolume that a PersistentVolumeClaim names, check reports what the webhook reports to a requester \
who may read it. The webhook answers other requesters only that the PersistentVolume is not available.\n\n\
Examples:\n  \
bindery check -f manifests/ -R --live cluster\n  \
git show main:pv.yaml | bindery check -f pv.yaml --old - --live dump.yaml\n  \
bindery check --delete pv/pv-db-0 --live cluster -o json")]
pub struct CheckArgs {
    /// Manifests or AdmissionReviews: files, folders, or `-` for standard input; repeatable.
    #[arg(short, long, value_name = "PATH")]
    pub filename: Vec<PathBuf>,
    /// Read subfolders too.
    #[arg(short = 'R', long)]
    pub recursive: bool,
    /// The previous manifests; repeatable.
    #[arg(long, value_name = "PATH")]
    pub old: Vec<PathBuf>,
    /// Judge the deletion of `pvc/[NAMESPACE/]NAME`, or of `pv`, `ns`, `sc`, `node`, `volumeattachment`, `csidriver` or
    /// `volumesnapshotcontent` with `/NAME`; repeatable.
    #[arg(long, value_name = "KIND/NAME")]
    pub delete: Vec<String>,
    /// The stored objects: a dump of PersistentVolumes, PersistentVolumeClaims, StorageClasses and pods, or `cluster`;
    /// repeatable.
    #[arg(long, value_name = "FILE|cluster")]
    pub live: Vec<PathBuf>,
    /// The largest age of a dump; an older one is an error.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "24h")]
    pub max_age: Duration,
    /// How --filename is applied to the stored objects.
    #[arg(long, value_name = "HOW", default_value = "server")]
    pub apply: Apply,
    /// User name of the requester.
    #[arg(long, value_name = "USER")]
    pub for_user: Option<String>,
    /// A group of the requester; repeatable.
    #[arg(long, value_name = "GROUP")]
    pub for_group: Vec<String>,
    /// End with code 1 if there is nothing to judge.
    #[arg(long)]
    pub require_match: bool,
    /// The value `policies` of the chart, where policies are installed: `wide`, `json` and `yaml` then say of each finding
    /// whether they deny the change. The result stays that of the webhook, also with `instead`.
    #[arg(long, value_name = "VALUE")]
    pub policies: Option<InstalledPolicies>,
    /// Namespace of PersistentVolumeClaims without one.
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    pub namespace: String,
    /// How findings are reported.
    #[command(flatten)]
    pub report: ReportArgs,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Arguments of `bindery scan`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
Each rule that can judge existing objects inspects every PersistentVolume and PersistentVolumeClaim: it finds \
what was written before the webhook was installed or while it was unavailable. Exemptions on PersistentVolumes are listed.\n\n\
A baseline accepts today's findings until a time. Later findings, and new ones, set the exit code again.\n\n\
Exit codes: 0 no denial; 1 a finding that a rule would deny.\n\n\
Examples:\n  \
bindery scan --context production -o wide\n  \
bindery scan -f snapshot.json --write-baseline baseline.yaml --until 2030-01-31T18:00:00Z\n  \
bindery scan -f snapshot.json --baseline baseline.yaml -o sarif=scan.sarif")]
pub struct ScanArgs {
    /// A dump or a snapshot, or `-` for standard input; repeatable. Without it, the cluster is read.
    #[arg(short, long, value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// Write the findings to a baseline, and end with code 0.
    #[arg(long, value_name = "FILE", requires = "until")]
    pub write_baseline: Option<PathBuf>,
    /// When the baseline expires, as in 2030-01-31T18:00:00Z.
    #[arg(long, value_name = "TIME", requires = "write_baseline")]
    pub until: Option<jiff::Timestamp>,
    /// Why the findings are accepted.
    #[arg(long, value_name = "TEXT", default_value = "found when the baseline was made")]
    pub reason: String,
    /// How findings are reported.
    #[command(flatten)]
    pub report: ReportArgs,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// How `check` and `scan` judge and report findings.
#[derive(Clone, Debug, Args)]
pub struct ReportArgs {
    /// `text`, `wide`, `json`, `yaml`, `junit`, `sarif`, `github`, `markdown` or `html` (one file for a browser), to standard
    /// output or to a file as `json=PATH`; repeatable.
    #[arg(short, long, value_name = "FORMAT[=PATH]", value_parser = Output::of_findings, default_value = "text")]
    pub output: Vec<Output>,
    /// Accept the findings that this file lists, until the time in it.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// End with code 3 if there is nothing worse than these.
    #[arg(long, value_name = "RESULT", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// The webhook's configuration: modes of rules, trusted accounts.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Never colour the output; the variable `NO_COLOR` does the same.
    #[arg(long)]
    pub no_color: bool,
}

/// Arguments of `bindery snapshot`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
A snapshot holds PersistentVolumes, PersistentVolumeClaims and StorageClasses without managedFields, names and labels \
of Nodes and Namespaces, which volume is attached to which Node, and which PersistentVolumeClaims pods use, without the \
names of the pods. Secrets are not read.\n\n\
Examples:\n  \
bindery snapshot --context production > snapshot.json\n  \
bindery check -f manifests/ -R --live snapshot.json --max-age 24h")]
pub struct SnapshotArgs {
    /// File to write to; standard output if left out.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// How a manifest is applied to a stored object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Apply {
    /// `kubectl apply --server-side`: merged; with --old, fields that the manifest dropped are removed.
    Server,
    /// `kubectl apply`: merged; fields that were last applied and are missing now are removed.
    Client,
    /// `kubectl replace`.
    Replace,
}

/// A result that can fail a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A warning.
    Warn,
    /// A result that depends on the cluster.
    Unverified,
}

//! The arguments of every command.
//!
//! The only description of them: help, completions and `docs/reference/cli.md` are made from it.

mod cluster;
mod clusters;
mod config;
mod election;
mod generate;
mod judging;
mod local;
mod moves;
mod nodes;
mod output;
mod reporter;
mod rule;
mod trash;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use self::cluster::ClusterArgs;
use self::cluster::duration;
pub use self::clusters::{AdoptArgs, CreationArgs, ExportArgs, ImportArgs};
pub use self::config::{ConfigArgs, ConfigCommand, ConfigInitArgs};
pub use self::election::ElectionArgs;
pub use self::generate::{
    ChartArgs, Generate, GenerateArgs, MutationApi, PoliciesArgs, WebhooksArgs,
};
pub use self::judging::{Apply, CheckArgs, FailOn, ReportArgs, ScanArgs, SnapshotArgs};
pub use self::local::{
    CleanDeviceArgs, JobArgs, LocalArgs, LocalCommand, MovesArgs, NodeCleanupArgs,
};
pub use self::moves::{
    MoveArgs, ReleaseArgs, RenameArgs, RescueArgs, RetainArgs, SwapArgs, TransferArgs, UndoArgs,
};
pub use self::nodes::{DrainedNode, LostNodes};
pub use self::output::{Format, Output};
pub use self::reporter::{ExemptionsArgs, ReporterArgs};
pub use self::rule::RuleArgs;
pub use self::trash::{TrashArgs, TrashCommand, TrashEmptyArgs};
use crate::api::installation::Installation;
use crate::controller::mode::ControllerMode;
use crate::telemetry::logging::{LogFormat, LogLevel};

/// Stops changes that would lose or mis-bind persistent storage, and explains why a PersistentVolumeClaim is Pending.
#[derive(Debug, Parser)]
#[command(
    name = "bindery",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 clean or warnings only; 1 denied; 2 wrong usage or unreadable \
        input; 3 only findings that --fail-on names; 4 cluster unreachable."
)]
pub struct Bindery {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the admission webhook.
    Webhook(WebhookArgs),
    /// Bind PersistentVolumes and PersistentVolumeClaims.
    Controller(ControllerArgs),
    /// Offer the disks of this node as PersistentVolumes, and clean them after release.
    Local(LocalArgs),
    /// Judge a change as the webhook would, before it is made.
    Check(CheckArgs),
    /// Preview which PersistentVolumeClaim binds to which PersistentVolume, and why one stays Pending.
    Plan(PlanArgs),
    /// Explain the state of a PersistentVolumeClaim, a PersistentVolume or a pod, and how to fix it.
    #[command(visible_alias = "why")]
    Explain(ExplainArgs),
    /// Find hazards in existing PersistentVolumes and PersistentVolumeClaims.
    Scan(ScanArgs),
    /// Scan the cluster at intervals, and write the findings as policy reports and metrics.
    Reporter(ReporterArgs),
    /// List exemptions in force, and requests for others with the commands that grant them.
    Exemptions(ExemptionsArgs),
    /// Write what `check --live` and `scan` need of a cluster to a file.
    Snapshot(SnapshotArgs),
    /// Create deleted PersistentVolumeClaims again, with their data.
    Rescue(RescueArgs),
    /// Move a PersistentVolumeClaim with its data to another namespace.
    Transfer(TransferArgs),
    /// Rename a PersistentVolumeClaim, with its data.
    Rename(RenameArgs),
    /// Exchange the data of two PersistentVolumeClaims.
    Swap(SwapArgs),
    /// Revert a transfer, a rename, a swap or a rescue.
    Undo(UndoArgs),
    /// Leave PersistentVolumes of deleted PersistentVolumeClaims to the next ones of the same names.
    Release(ReleaseArgs),
    /// Let the data of PersistentVolumes outlive their PersistentVolumeClaims.
    Retain(RetainArgs),
    /// List PersistentVolumes that stay after their PersistentVolumeClaims were deleted, or delete them early.
    Trash(TrashArgs),
    /// Write PersistentVolumeClaims with their PersistentVolumes to a file, for another cluster.
    Export(ExportArgs),
    /// Create PersistentVolumeClaims from an export, with the data that they had in the other cluster.
    Import(ImportArgs),
    /// Create a PersistentVolume and a PersistentVolumeClaim for a disk that exists.
    Adopt(AdoptArgs),
    /// Verify an installation.
    Doctor(DoctorArgs),
    /// Show one rule or mutation, or list them all.
    Rule(RuleArgs),
    /// Write a configuration file to start from.
    Config(ConfigArgs),
    /// Make a certificate for development.
    Certs(CertsArgs),
    /// Generate webhook registrations, reference pages, man pages and shell completions.
    Generate(GenerateArgs),
}

/// Arguments of `bindery webhook`.
#[derive(Clone, Debug, Args)]
pub struct WebhookArgs {
    /// Address of the HTTPS port; `[::]` is every address, of IPv4 too.
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:8443")]
    pub listen: SocketAddr,
    /// Address of the plain port with /livez, /readyz, /startupz and /metrics.
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:8081")]
    pub health_listen: SocketAddr,
    /// The installation that this replica belongs to: API servers call its service. Without certificate files, the
    /// replica serves the pair in its Secret NAME-tls, which the controller renews.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub installation: Option<Installation>,
    /// Serving certificate, PEM; read again when it changes.
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_private_key_file",
        required_unless_present = "installation"
    )]
    pub tls_cert_file: Option<PathBuf>,
    /// Key of the serving certificate, PEM.
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_cert_file",
        required_unless_present = "installation"
    )]
    pub tls_private_key_file: Option<PathBuf>,
    /// CA certificate, PEM, of the client certificates that are required; without it none is.
    #[arg(long, value_name = "FILE")]
    pub client_ca_file: Option<PathBuf>,
    /// Common or host name that a client certificate may have; repeatable. Without it, any.
    #[arg(long, value_name = "NAME", requires = "client_ca_file")]
    pub client_name: Vec<String>,
    /// Kubeconfig of the cluster to watch; else `KUBECONFIG`, `~/.kube/config` or the pod's own
    /// account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Modes of rules and trusted accounts; read again when it changes.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Used instead of a configuration that is wrong when the process starts; if this is missing or wrong too, the defaults
    /// under the profile that the wrong one names. Without it, a wrong configuration ends the process.
    #[arg(long, value_name = "FILE", requires = "config")]
    pub config_last_good: Option<PathBuf>,
    /// Threads that answer AdmissionReviews.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: u16,
    /// Time between SIGTERM and the end of the port, in which every response closes its connection.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub drain_delay: Duration,
    /// The log.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Arguments of processes that log.
#[derive(Clone, Debug, Args)]
pub struct LogArgs {
    /// Format of the log; text on a terminal and JSON elsewhere if left out.
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// Level of the log, or targets with levels (`info,bindery=debug`).
    #[arg(
        long,
        value_name = "LEVEL",
        env = "BINDERY_LOG",
        hide_env_values = true,
        default_value = "info"
    )]
    pub log_level: LogLevel,
}

/// Arguments of `bindery controller`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
observe writes no binding: it reports what it would do. prebind reserves PersistentVolumes for PersistentVolumeClaims \
whose pods bypass the scheduler, and leaves the rest to the in-tree binder. full is the only binder of its cluster: start \
kube-controller-manager with --controllers=*,-persistentvolume-binder-controller first, and confirm it \
with --in-tree-binder-disabled. With --leader-elect-renew-deadline below 6s no PersistentVolume is recycled.")]
pub struct ControllerArgs {
    /// Which writes are allowed.
    #[arg(long, value_name = "MODE", default_value = "observe")]
    pub mode: ControllerMode,
    /// Confirms that kube-controller-manager runs without its own binder; needed for `--mode full`.
    #[arg(long)]
    pub in_tree_binder_disabled: bool,
    /// The leader election.
    #[command(flatten)]
    pub election: ElectionArgs,
    /// Address of the plain port with /livez, /readyz, /startupz and /metrics.
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:8082")]
    pub health_listen: SocketAddr,
    /// Namespace of the Lease.
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    pub lease_namespace: String,
    /// Name of the Lease.
    #[arg(long, value_name = "NAME", default_value = "bindery-controller")]
    pub lease_name: String,
    /// The installation whose certificates the holder of the Lease NAME-certificates manages: it issues them, stores
    /// them in the Secrets NAME-ca and NAME-tls and registers the CA certificates. Without it, certificates come
    /// from elsewhere.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub installation: Option<Installation>,
    /// The installation whose webhook the holder of the Lease probes: it sends a dry run through the API server, which guard
    /// must deny, and has the webhooks fail closed once it was. Without it, they fail closed as they are registered.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub guard: Option<Installation>,
    /// Lifetime of a CA certificate; the next one is issued after two thirds of it.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "8760h")]
    pub ca_life: Duration,
    /// Lifetime of a serving certificate.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "720h")]
    pub certificate_life: Duration,
    /// Time after a change until every API server and replica is assumed to use it.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1m")]
    pub certificate_propagation: Duration,
    /// Whether Kubernetes events are written.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub events: bool,
    /// Kubeconfig of the cluster; else `KUBECONFIG`, `~/.kube/config` or the pod's own account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Configuration, in a file that the webhook can share: how PersistentVolumes are recycled; read again when it
    /// changes.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// `ConfigMap`, in the namespace of the Lease, that the configuration is mounted from: an event on it reports whether
    /// a new configuration is in use.
    #[arg(long, value_name = "NAME", requires = "config")]
    pub config_map: Option<String>,
    /// Used instead of a configuration that is wrong when the process starts; if this is missing or wrong too, the defaults
    /// under the profile that the wrong one names. Without it, a wrong configuration ends the process.
    #[arg(long, value_name = "FILE", requires = "config")]
    pub config_last_good: Option<PathBuf>,
    /// `ConfigMap`, in the namespace of the Lease, that the leader keeps the last good configuration in. It must exist.
    #[arg(long, value_name = "NAME", requires = "config")]
    pub config_last_good_map: Option<String>,
    /// The log.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Arguments of `bindery doctor`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
Nothing is changed: a PersistentVolumeClaim and a PersistentVolume are created as a dry run only. Each line names a \
check and whether it is ok, BAD or, where it could not be checked, unknown.\n\n\
Exit codes: 0 nothing is bad; 1 something is; 4 the cluster cannot be reached.")]
pub struct DoctorArgs {
    /// Namespace and name of the installation: the Helm release's name if it contains "bindery", else
    /// RELEASE-bindery.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "bindery/bindery")]
    pub installation: Installation,
    /// The Secret with the serving certificate, in the same namespace; NAME-tls if left out, which the controller
    /// renews. With cert-manager it is NAME-issued-tls.
    #[arg(long, value_name = "NAME")]
    pub serving_secret: Option<String>,
    /// The installation has no controller, so no leader is expected.
    #[arg(long)]
    pub without_controller: bool,
    /// The value `policies` of the chart, where its policies are installed. With `instead` there is no webhook, and only
    /// they deny.
    #[arg(long, value_name = "VALUE")]
    pub policies: Option<InstalledPolicies>,
    /// The configuration with which `bindery generate policies` made them, where the chart is not installed; the defaults if
    /// left out.
    #[arg(long, value_name = "FILE", requires = "policies")]
    pub config: Option<PathBuf>,
    /// `json` or `yaml` instead of lines.
    #[arg(short, long, value_name = "FORM")]
    pub output: Option<Notation>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// How the policies of an installation are installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InstalledPolicies {
    /// Beside the webhook.
    Beside,
    /// Instead of the webhook.
    Instead,
}

/// Arguments of `bindery plan`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
The outcome of a PersistentVolumeClaim is bound, binds, provisions, waits, unmatched, lost, conflict or unknown. The \
plan shows what the binder does with this state if nothing else changes: the oldest PersistentVolumeClaim first, then by \
namespace and name. Pods show which of them a PersistentVolumeClaim with delayed binding waits for.\n\n\
An outcome is unknown if it depends on objects that the dump may not hold. A dump holds all objects \
of a kind if it is a list, as `kubectl get -A` writes it, with at least one of them. A list of one namespace \
holds the PersistentVolumeClaims and pods of that namespace only; an object outside of a list proves nothing about \
others.\n\n\
A PersistentVolume that the binder reserved for a PersistentVolumeClaim which does not use it becomes free. Whether \
another PersistentVolumeClaim finds it free depends on the order of the API server's replies. The plan shows one order; a note \
and the field `undecided` of `json` and `yaml` show which PersistentVolumeClaims end otherwise if all such become free first, \
or last.\n\n\
Exit codes: 0 every PersistentVolumeClaim is bound, or will be without help; 1 one is unmatched, lost, in conflict \
or unknown, or may be by that order.\n\n\
With --without or --drain, the report is which pods with PersistentVolumeClaims cannot come back on the Nodes that are \
left, and which bound PersistentVolumeClaims no Node is left for, used or not. It is the volume part only: node affinity \
and zone labels of PersistentVolumes, ReadWriteOncePod, attach limits and storage capacity of CSI drivers count; taints, \
resources and disruption budgets do not. Each pod is judged alone, beside the pods that stay. Pods of a DaemonSet, mirror pods and \
finished pods are left out. A dump has to hold all Nodes; CSINodes where PersistentVolumes have a CSI driver; CSIDrivers and CSIStorageCapacities where \
a PersistentVolumeClaim is still to be provisioned. Exit codes: 0 all come back; 1 one does not, or it is not known.\n\n\
With --diff, `text`, `wide` and `markdown` show only the changes; `html` shows them before the whole plan; `json` and `yaml` give \
the whole plan with its field `difference`, which is the next run's OLDPLAN.\n\n\
Examples:\n  \
kubectl get pv,pvc,sc,sts,pods,nodes,ns,events -A -o yaml | bindery plan -f -\n  \
bindery plan --context staging -o json=plan.json\n  \
bindery plan -f state.json --diff plan.json -o markdown=comment.md -o json=plan.json\n  \
bindery plan --drain node/n1 && kubectl drain n1 --ignore-daemonsets\n  \
bindery plan --without zone/eu-1a -o wide")]
pub struct PlanArgs {
    /// A dump of PersistentVolumes, PersistentVolumeClaims, StorageClasses and pods, or `-` for standard input;
    /// repeatable. One without metadata.uid is still to be created and is judged as `check` judges it. Without a file,
    /// the cluster is read.
    #[arg(short, long, value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// `text`, `wide`, `json`, `yaml`, `markdown` or `html` (one file for a browser), to standard output or to a file as
    /// `json=PATH`; repeatable.
    #[arg(short, long, value_name = "FORM[=PATH]", value_parser = Output::of_any_report, default_value = "text")]
    pub output: Vec<Output>,
    /// Show what changed since this plan, which `-o json` wrote earlier.
    #[arg(long, value_name = "OLDPLAN")]
    pub diff: Option<PathBuf>,
    /// Show what cannot come back if this is gone for good: `node/NAME`, or `zone/NAME` for all Nodes with that zone
    /// label; repeatable.
    #[arg(long, value_name = "KIND/NAME", value_parser = LostNodes::read, conflicts_with = "diff")]
    pub without: Vec<LostNodes>,
    /// Show what cannot come back while this Node is drained: `node/NAME`; repeatable.
    #[arg(long, value_name = "node/NAME", value_parser = DrainedNode::read, conflicts_with = "diff")]
    pub drain: Vec<DrainedNode>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Arguments of `bindery explain`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
For a PersistentVolumeClaim: its outcome; every PersistentVolume that does not match and all its mismatches, the \
nearest first; the nodes, if binding is delayed; the provisioner that has to create a volume, and its last event; \
and one command after which the binder binds it. A PersistentVolume with fewer mismatches is nearer. Of \
equally many, the one whose hardest mismatch is easiest to fix comes first (labels, StorageClass, attributes class, size, \
access modes, volume mode, phase, claimRef, node); then the smallest difference in size; then the name.\n\n\
For a pod that has a node and has not started, and for its bound PersistentVolumeClaims: how far each PersistentVolume is \
on its way to that node, who acts next (attach/detach controller, driver, kubelet, administrator), and what is safe. \
A kubelet mounts what status.volumesAttached of its Node lists, and status.volumesInUse says what it has mounted. \
That a VolumeAttachment be deleted by hand is advised only where the Node no longer exists. A dump has to hold \
VolumeAttachments, CSIDrivers, CSINodes and Nodes for it; what it does not hold is unknown. For a StatefulSet, a Deployment or a Node: its pods that have not \
started; for a Node also how many volumes of each driver are attached.\n\n\
An account that may not list PersistentVolumes gets the last event of a binder about the PersistentVolumeClaim, with a \
note that any account that may write events could have written it. What rests on objects that it may not list is unknown, \
and a note names the permission. Dumps may hold nodes, pods and events too; what depends \
on objects that a dump may not hold is unknown (see bindery plan --help).\n\n\
Exit codes: 0 bound, or will be without help; 1 needs a fix.\n\n\
Examples:\n  \
bindery explain pvc/data -n db\n  \
bindery explain statefulset web -n db\n  \
kubectl get pv,pvc,sc,sts,pods,nodes,ns,events -A -o yaml | bindery why pvc/db/data -f -\n  \
bindery explain pod/web-0 -n web -o markdown")]
pub struct ExplainArgs {
    /// What to explain: `pvc/NAME`, `pv/NAME`, `pod/NAME`, `statefulset/NAME`, `deployment/NAME` or `node/NAME`; also
    /// `pvc NAME` and `pvc/NAMESPACE/NAME`.
    #[arg(value_name = "KIND/NAME", num_args = 1..=2, required = true)]
    pub object: Vec<String>,
    /// A dump of PersistentVolumes, PersistentVolumeClaims, StorageClasses and pods, or `-` for standard input;
    /// repeatable. One without metadata.uid is still to be created and is judged as `check` judges it. Without a file,
    /// the cluster is read.
    #[arg(short, long, value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// Namespace of the PersistentVolumeClaim or the pod; else that of the context, or `default` with a dump.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// `text`, `wide`, `json`, `yaml`, `markdown` or `html` (one file for a browser), to standard output or to a file as
    /// `json=PATH`; repeatable.
    #[arg(short, long, value_name = "FORM[=PATH]", value_parser = Output::of_any_report, default_value = "text")]
    pub output: Vec<Output>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Arguments of `bindery certs`.
#[derive(Clone, Debug, Args)]
pub struct CertsArgs {
    /// Folder to write ca.crt, tls.crt and tls.key into.
    #[arg(long, value_name = "FOLDER", default_value = "certs/dev")]
    pub out: PathBuf,
    /// Host name to be valid for; repeatable. Default: localhost, bindery.bindery.svc.
    #[arg(long, value_name = "NAME")]
    pub dns: Vec<String>,
    /// Address to be valid for; repeatable. Default: 127.0.0.1.
    #[arg(long, value_name = "ADDRESS")]
    pub ip: Vec<IpAddr>,
    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,
}

/// The notation of API objects: several are documents of YAML, or a List in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Notation {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

//! The arguments of every command.
//!
//! The only description of them: help, completions and `docs/reference/cli.md` are made from it.

mod cluster;
mod judging;
mod output;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub use self::cluster::ClusterArgs;
use self::cluster::duration;
pub use self::judging::{Apply, CheckArgs, FailOn, ReportArgs, ScanArgs, SnapshotArgs};
pub use self::output::{Form, Format, Output};
use crate::api::installation::Installation;
use crate::controller::mode::ControllerMode;
use crate::telemetry::logging::{LogFormat, LogLevel};

/// Keeps PersistentVolumes and PersistentVolumeClaims correctly married.
#[derive(Debug, Parser)]
#[command(
    name = "bindery",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 clean or warnings only; 1 refused; 2 wrong usage or unreadable \
        input; 3 only findings that --fail-on names; 4 cluster unreachable."
)]
pub struct Bindery {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the admission webhook.
    Webhook(WebhookArgs),
    /// Bind volumes and claims.
    Controller(ControllerArgs),
    /// Judge a change as the webhook would, before it is made.
    Check(CheckArgs),
    /// Show what would bind to what, who waits and why.
    Plan(PlanArgs),
    /// Explain why a claim, a volume or a pod stands where it stands, and what helps.
    #[command(visible_alias = "why")]
    Explain(ExplainArgs),
    /// Find what is wrong with what stands.
    Scan(ScanArgs),
    /// Write down what `check --live` and `scan` need of a cluster.
    Snapshot(SnapshotArgs),
    /// Find out whether an installation in a cluster does what it is there for.
    Doctor(DoctorArgs),
    /// Show one rule or edit, or list them all.
    Rule(RuleArgs),
    /// Make a certificate for development.
    Certs(CertsArgs),
    /// Print what would otherwise be written twice.
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
    /// The installation that this replica belongs to: API servers call its service. Without certificate files, its
    /// Secret NAME-tls is served, which the controller keeps.
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
    /// Authority, PEM, of the certificates that callers must show; without it they show none.
    #[arg(long, value_name = "FILE")]
    pub client_ca_file: Option<PathBuf>,
    /// Common or host name that a caller's certificate may have; repeatable. Without it, any.
    #[arg(long, value_name = "NAME", requires = "client_ca_file")]
    pub client_name: Vec<String>,
    /// Kubeconfig of the cluster to watch; else `KUBECONFIG`, `~/.kube/config` or the pod's own
    /// account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Modes of rules and whom to trust; read again when it changes.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Threads that answer reviews.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: u16,
    /// How long every reply asks to close its connection before the port is closed, when the
    /// process is told to end.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub drain_delay: Duration,
    /// Form of the log; text on a terminal and JSON elsewhere if left out.
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// What is logged, as a level or as targets with levels (`info,bindery=debug`).
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: LogLevel,
}

/// Arguments of `bindery controller`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
observe writes no binding: it tells what it would do. prebind reserves volumes for claims that no \
scheduler will see, and leaves the rest to the cluster's own binder. full is the only binder of its cluster: start \
kube-controller-manager with --controllers=*,-persistentvolume-binder-controller first, and say so \
with --in-tree-binder-disabled.")]
pub struct ControllerArgs {
    /// How much it may write.
    #[arg(long, value_name = "MODE", default_value = "observe")]
    pub mode: ControllerMode,
    /// Confirms that kube-controller-manager runs without its own binder; needed for `--mode full`.
    #[arg(long)]
    pub in_tree_binder_disabled: bool,
    /// Contend for the lead with other replicas; without it, this is the only one.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub leader_elect: bool,
    /// How long the other replicas wait after the last renewal of the lease before one of them takes it: about as
    /// long as nothing is bound after the leader is killed. Whole seconds.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "15s")]
    pub leader_elect_lease_duration: Duration,
    /// How long after the last renewal the leader still writes; shorter than the lease. With less than 6s no volume is
    /// recycled.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub leader_elect_renew_deadline: Duration,
    /// How often the leader renews its lease; several times before the deadline.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2s")]
    pub leader_elect_retry_period: Duration,
    /// Address of the plain port with /livez, /readyz, /startupz and /metrics.
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:8082")]
    pub health_listen: SocketAddr,
    /// Namespace of the lease.
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    pub lease_namespace: String,
    /// Name of the lease.
    #[arg(long, value_name = "NAME", default_value = "bindery-controller")]
    pub lease_name: String,
    /// The installation whose certificates are kept, by whoever holds the lease NAME-certificates: it makes them,
    /// stores them in the Secrets NAME-ca and NAME-tls and registers whom to trust. Without it, they come from
    /// elsewhere.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub installation: Option<Installation>,
    /// Life of an authority; another is made when two thirds are over.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "8760h")]
    pub ca_life: Duration,
    /// Life of a serving certificate.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "720h")]
    pub certificate_life: Duration,
    /// How long after a change everybody is taken to know of it.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1m")]
    pub certificate_settle: Duration,
    /// Whether Kubernetes events are written.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub events: bool,
    /// Kubeconfig of the cluster; else `KUBECONFIG`, `~/.kube/config` or the pod's own account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Configuration, in a file that the webhook can share: how volumes are recycled; read again when it changes.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// `ConfigMap`, in the namespace of the lease, that the configuration is mounted from: an event there tells whether
    /// a new one can be used.
    #[arg(long, value_name = "NAME", requires = "config")]
    pub config_map: Option<String>,
    /// Form of the log; text on a terminal and JSON elsewhere if left out.
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// What is logged, as a level or as targets with levels (`info,bindery=debug`).
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: LogLevel,
}

/// Arguments of `bindery doctor`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
Nothing is changed: a claim and a volume are created as a dry run only. Each line says what was asked and \
whether it is ok, BAD or unknown, where the account may not look.\n\n\
Exit codes: 0 nothing is bad; 1 something is; 4 the cluster cannot be reached.")]
pub struct DoctorArgs {
    /// The installation, as helm was told.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "bindery/bindery")]
    pub installation: Installation,
    /// The Secret with the serving certificate, in the same namespace; NAME-tls if left out, which the controller
    /// keeps. With cert-manager it is NAME-issued-tls.
    #[arg(long, value_name = "NAME")]
    pub serving_secret: Option<String>,
    /// No controller is meant to be there, so that nobody has to lead.
    #[arg(long)]
    pub without_controller: bool,
    /// `json` or `yaml` instead of lines.
    #[arg(short, long, value_name = "FORM")]
    pub output: Option<Notation>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Arguments of `bindery plan`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
Claims end as bound, binds, provisions, waits, starves, lost, conflict or unknown. The plan is what the binder \
does on this state if nobody else acts: claims are served by age, then by namespace and name. Pods tell \
which of them a claim of a delayed class waits for.\n\n\
A claim or a volume is unknown if it rests on objects that the dump may not hold. A dump holds all objects \
of a kind if it is a list, as `kubectl get -A` writes it, that holds one of them. A list of one namespace \
holds the claims and the pods of that namespace; an object outside of a list proves nothing about others.\n\n\
Exit codes: 0 every claim is served or waits for what comes by itself; 1 one starves, is lost, in conflict \
or unknown.\n\n\
With --diff, `text`, `wide` and `markdown` tell the changes alone; `json` and `yaml` give the whole plan \
with its field `difference`, which is the next run's OLDPLAN.\n\n\
Examples:\n  \
kubectl get pv,pvc,sc,pods,nodes,ns,events -A -o yaml | bindery plan -f -\n  \
bindery plan --context staging -o json=plan.json\n  \
bindery plan -f state.json --diff plan.json -o markdown=comment.md -o json=plan.json")]
pub struct PlanArgs {
    /// A dump of volumes, claims, classes and pods, or `-` for standard input; repeatable. A volume or a claim
    /// without metadata.uid is still to be created and is judged as `check` judges it. Without a file, the cluster
    /// is asked.
    #[arg(short, long, value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// `text`, `wide`, `json`, `yaml` or `markdown`, to standard output or to a file as `json=PATH`;
    /// repeatable.
    #[arg(short, long, value_name = "FORM[=PATH]", default_value = "text")]
    pub output: Vec<Output<Form>>,
    /// Tell what changed against this plan, which `-o json` wrote earlier.
    #[arg(long, value_name = "OLDPLAN")]
    pub diff: Option<PathBuf>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Arguments of `bindery explain`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
For a claim: how it ends, every volume that it does not get and all that speaks against it, the nearest \
first; the nodes, where its class waits for the pod's; the provisioner that is awaited and its last event; \
and one command after which the binder serves it. A volume is nearer the fewer mismatches it has; of \
equally many, the easier the hardest one is to repair (labels, class, attributes class, size, access modes, \
volume mode, phase, holder, node); then the less the sizes differ; then by name.\n\n\
Who may not list volumes gets the last event about the claim in the name of a binder, and is told so: \
whoever may write events could have written it. Dumps may hold nodes, pods and events too; what rests on \
objects that a dump may not hold is unknown (see bindery plan --help).\n\n\
Exit codes: 0 served, or waiting for what comes by itself; 1 somebody has to do something.\n\n\
Examples:\n  \
bindery explain pvc/data -n db\n  \
kubectl get pv,pvc,sc,pods,nodes,ns,events -A -o yaml | bindery why pvc/db/data -f -\n  \
bindery explain pod/web-0 -n web -o markdown")]
pub struct ExplainArgs {
    /// What to explain: `pvc/NAME`, `pv/NAME` or `pod/NAME`; also `pvc/NAMESPACE/NAME`.
    #[arg(value_name = "KIND/NAME")]
    pub object: String,
    /// A dump of volumes, claims, classes and pods, or `-` for standard input; repeatable. A volume or a claim
    /// without metadata.uid is still to be created and is judged as `check` judges it. Without a file, the cluster
    /// is asked.
    #[arg(short, long, value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// Namespace of the claim or the pod; else that of the context, or `default` with a dump.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// `text`, `wide`, `json`, `yaml` or `markdown`, to standard output or to a file as `json=PATH`;
    /// repeatable.
    #[arg(short, long, value_name = "FORM[=PATH]", default_value = "text")]
    pub output: Vec<Output<Form>>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Arguments of `bindery rule`.
#[derive(Clone, Debug, Args)]
pub struct RuleArgs {
    /// Id of a rule or an edit; all are listed if left out.
    pub id: Option<String>,
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
    /// Overwrite what is there.
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `bindery generate`.
#[derive(Clone, Debug, Args)]
pub struct GenerateArgs {
    /// What to print.
    #[command(subcommand)]
    pub what: Generate,
}

/// What can be printed.
#[derive(Clone, Debug, Subcommand)]
pub enum Generate {
    /// The registrations for the API server.
    Webhooks(WebhooksArgs),
    /// The registrations as the chart's templates read them, with placeholders for names.
    Chart,
    /// The reference of rules and edits, as Markdown.
    Rules,
    /// The reference of this command line, as Markdown.
    Cli,
    /// The completion script of a shell.
    Completion {
        /// The shell.
        shell: Shell,
    },
}

/// Arguments of `bindery generate webhooks`.
#[derive(Clone, Debug, Args)]
pub struct WebhooksArgs {
    /// Base address of a webhook outside the cluster; the paths are appended.
    #[arg(
        long,
        value_name = "BASE",
        required_unless_present = "service",
        conflicts_with = "service"
    )]
    pub url: Option<String>,
    /// Service in front of the webhook, on port 443.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub service: Option<String>,
    /// Certificate of the authority that signs the webhook's, PEM.
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Configuration of the webhook, for the name of its own controller.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Form of the output.
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub output: Notation,
}

/// The notation of API objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Notation {
    /// YAML, a document each.
    Yaml,
    /// A JSON List.
    Json,
}

//! The arguments of `bindery generate`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::Notation;

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
    /// ValidatingAdmissionPolicies: what the API server can evaluate of the rules without the webhook.
    Policies(PoliciesArgs),
    /// The registrations as the chart's templates read them, with placeholders for names.
    Chart(ChartArgs),
    /// The table of rules and mutations, as Markdown. `bindery rule` prints the page of each.
    Rules,
    /// The reference of this command line, as Markdown.
    Cli,
    /// The table of metrics, as Markdown.
    Metrics,
    /// The keys of the configuration file, as Markdown.
    Configuration,
    /// The completion script of a shell. It completes commands, flags, rules, contexts, namespaces and objects of the
    /// cluster; it asks `bindery`, which has to be on the PATH.
    #[command(after_long_help = "\
For bash, in ~/.bashrc: source <(bindery generate completion bash)\n\
For zsh, in ~/.zshrc: source <(bindery generate completion zsh)\n\
For fish, in ~/.config/fish/config.fish: bindery generate completion fish | source\n\
For kubectl bindery: a link with the name kubectl_complete-bindery to this program, on the PATH. kubectl starts it.\n\n\
Objects and namespaces are read from the cluster of --kubeconfig, --context and -n on the line, or from the dump of -f. What \
is not there within two seconds is not completed.")]
    Completion {
        /// The shell.
        shell: Shell,
    },
    /// The man pages, one for each command, into a folder.
    Man {
        /// Folder to write into; it is made if it does not exist.
        #[arg(long, value_name = "FOLDER")]
        dir: PathBuf,
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
    /// CA certificate that signs the webhook's certificate, PEM.
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Configuration of the webhook: the account of its controller, the Namespace labels by which overrides select, and
    /// tenancy.label. Generate again when they change.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Form of the output.
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub output: Notation,
}

/// Arguments of `bindery generate chart`.
#[derive(Clone, Debug, Args)]
pub struct ChartArgs {
    /// The parts of the ValidatingAdmissionPolicies instead of the registrations.
    #[arg(long)]
    pub policies: bool,
}

/// Arguments of `bindery generate policies`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
Rules that a single object can break are in ValidatingAdmissionPolicies, one for each resource and mode, with the sentences \
of the rules. What a policy denies more or less than its rule, and which rules have none, says `bindery rule \
<RULE>`. Exemptions by annotation do not count: CEL has no clock. Who is in the group bindery.dev:break-glass is not judged: \
the policy bindery-break-glass warns of the use and notes it in the audit log. Overrides for Namespaces do not count.\n\n\
Example:\n  \
bindery generate policies | kubectl apply -f -")]
pub struct PoliciesArgs {
    /// Print MutatingAdmissionPolicies too, of this version of the API: what the API server can mutate by itself. Kubernetes
    /// 1.36 serves `v1`; 1.34 and 1.35 serve `v1beta1`, if its feature gate and the API are switched on.
    #[arg(long, value_name = "VERSION")]
    pub mutations: Option<MutationApi>,
    /// Configuration of the webhook: modes of rules, trusted accounts, and the account of its controller. Generate again
    /// when they change.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Also compare a PVC with the PV that it names, and with the tenant of that, which the API server then does for each PV: for
    /// clusters of at most 100 PVs. Each PV adds about 0.1 ms to the creation of each PVC.
    #[arg(long)]
    pub volumes_as_parameters: bool,
    /// Form of the output.
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub output: Notation,
}

/// A version of the API of MutatingAdmissionPolicies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MutationApi {
    /// v1.
    V1,
    /// v1beta1.
    V1beta1,
}

impl MutationApi {
    /// Its apiVersion.
    pub fn version(self) -> &'static str {
        match self {
            Self::V1 => "admissionregistration.k8s.io/v1",
            Self::V1beta1 => "admissionregistration.k8s.io/v1beta1",
        }
    }
}

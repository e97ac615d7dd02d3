//! The arguments of `bindery trash`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::cluster::{ClusterArgs, duration};
use super::output::Output;

/// Arguments of `bindery trash`.
#[derive(Clone, Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = "\
With `trash.keep` in the configuration file, or the annotation `bindery.dev/keep` on a PersistentVolume, the controller lets a \
PersistentVolume whose reclaim policy is Delete stay for that time after its PersistentVolumeClaim was deleted. `bindery \
rescue` creates the PersistentVolumeClaim again, with its data.\n\n\
Exit codes: 0 done; 1 not possible, or not finished in time; 4 the cluster cannot be reached.\n\n\
Examples:\n  \
bindery trash\n  \
bindery trash -n shop -o json\n  \
bindery trash empty pvc/shop/data --yes"
)]
pub struct TrashArgs {
    /// What to do; without it, list what is in the trash.
    #[command(subcommand)]
    pub command: Option<TrashCommand>,
    /// Namespace of the deleted PersistentVolumeClaims; without it, all.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Format of the list: text, json, yaml or html (one file for a browser).
    #[arg(short, long, value_name = "FORMAT", value_parser = Output::of_list, default_value = "text")]
    pub output: Output,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// What to do with the trash.
#[derive(Clone, Debug, Subcommand)]
pub enum TrashCommand {
    /// Delete PersistentVolumes of the trash before their time is over.
    Empty(TrashEmptyArgs),
}

/// Arguments of `bindery trash empty`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
Sets `bindery.dev/trash-empty` on the PersistentVolumes; the controller then sets their reclaim policy Delete again, and the \
driver deletes the storage. This cannot be undone.\n\n\
Example:\n  \
bindery trash empty ns/shop")]
pub struct TrashEmptyArgs {
    /// What to delete: `pvc/NAMESPACE/NAME`, `pv/NAME`, or `ns/NAMESPACE` for all of a namespace.
    #[arg(value_name = "KIND/NAME", required = true)]
    pub objects: Vec<String>,
    /// Namespace of PersistentVolumeClaims that are given without one; else that of the context.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
    /// How long to wait for the controller.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2m")]
    pub timeout: Duration,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

//! The arguments of the commands that move volumes.

use std::time::Duration;

use clap::Args;

use super::Notation;
use super::cluster::{ClusterArgs, duration};
use crate::api::installation::Installation;

/// What the commands that move volumes have in common.
#[derive(Clone, Debug, Args)]
pub struct MoveArgs {
    /// Namespace of PersistentVolumeClaims that are given without one; else that of the context.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Check everything and show each write, and make none.
    #[arg(long)]
    pub dry_run: bool,
    /// Shows the writes as AdmissionReviews, in order: `bindery check -f -` judges them.
    #[arg(short, long, value_name = "FORMAT", requires = "dry_run")]
    pub output: Option<Notation>,
    /// How long to wait for other components between two steps. After it, the same command resumes the move.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2m")]
    pub timeout: Duration,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Arguments of `bindery transfer`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
The PersistentVolumeClaim is created again in the other namespace, with its labels, annotations and data. From the first \
write to the last, the reclaim policy is Retain and the PersistentVolume is reserved: nothing is deleted, and no other \
PersistentVolumeClaim can take it. What was before is recorded on the PersistentVolume. After a stop at any point, the same \
command resumes the move, and `bindery undo` reverts it.\n\n\
The account needs the rights to delete the PersistentVolumeClaim, to create the new one, to list pods, and to patch \
PersistentVolumes. Nothing has to be installed in the cluster.\n\n\
Exit codes: 0 done; 1 not possible, or not finished in time; 4 the cluster cannot be reached.\n\n\
Examples:\n  \
bindery transfer pvc/shop/data --to archive\n  \
bindery transfer pvc/data -n shop --to archive/data-2025 --dry-run")]
pub struct TransferArgs {
    /// The PersistentVolumeClaim: `pvc/NAME` or `pvc/NAMESPACE/NAME`. No pod may use it.
    #[arg(value_name = "pvc/NAME")]
    pub claim: String,
    /// The namespace to which it goes, and its name there if that is another one.
    #[arg(long, value_name = "NAMESPACE[/NAME]")]
    pub to: String,
    /// What the commands have in common.
    #[command(flatten)]
    pub common: MoveArgs,
}

/// Arguments of `bindery rename`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
The PersistentVolumeClaim is created again under the new name, with its labels, annotations and data. How, and with which \
rights, `bindery transfer --help` says.\n\n\
Example:\n  \
bindery rename pvc/data-db-0 data-postgres-0 -n shop")]
pub struct RenameArgs {
    /// The PersistentVolumeClaim: `pvc/NAME` or `pvc/NAMESPACE/NAME`. No pod may use it.
    #[arg(value_name = "pvc/NAME")]
    pub claim: String,
    /// Its new name.
    #[arg(value_name = "NEWNAME")]
    pub name: String,
    /// What the commands have in common.
    #[command(flatten)]
    pub common: MoveArgs,
}

/// Arguments of `bindery swap`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
Each PersistentVolumeClaim gets the PersistentVolume of the other, with the labels and annotations that belong to it. How, \
and with which rights, `bindery transfer --help` says.\n\n\
Example:\n  \
bindery swap pvc/data pvc/data-restored -n shop")]
pub struct SwapArgs {
    /// A PersistentVolumeClaim: `pvc/NAME` or `pvc/NAMESPACE/NAME`. No pod may use it.
    #[arg(value_name = "pvc/NAME")]
    pub claim: String,
    /// The other one.
    #[arg(value_name = "pvc/NAME")]
    pub other: String,
    /// What the commands have in common.
    #[command(flatten)]
    pub common: MoveArgs,
}

/// Arguments of `bindery rescue`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
A PersistentVolume whose PersistentVolumeClaim was deleted stays, if its reclaim policy is Retain. The \
PersistentVolumeClaim is created again, under its name or another one, and gets its PersistentVolume back.\n\n\
A PersistentVolume that is being deleted while its PersistentVolumeClaim exists cannot be saved as an object: a second one \
is created for the same storage, reserved for the same PersistentVolumeClaim, which is then deleted and created again. No \
pod may use it.\n\n\
Examples:\n  \
bindery rescue pvc/data -n shop\n  \
bindery rescue ns/shop\n  \
bindery rescue -n shop -l app=db\n  \
bindery rescue pv/pvc-0f3a --to shop/data-before")]
pub struct RescueArgs {
    /// What was deleted: `pvc/NAME`, or `ns/NAMESPACE` for all of a namespace. Or the PersistentVolume, as `pv/NAME`.
    #[arg(value_name = "KIND/NAME", required_unless_present = "selector")]
    pub object: Option<String>,
    /// Only PersistentVolumeClaims that had these labels, as `KEY=VALUE`, `KEY!=VALUE`, `KEY` or `!KEY`, separated by commas;
    /// without an object, of the namespace that -n names.
    #[arg(short = 'l', long, value_name = "LABELS")]
    pub selector: Option<String>,
    /// Namespace and name of the installation, whose controller records PersistentVolumes that were deleted.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "bindery/bindery")]
    pub installation: Installation,
    /// Another namespace or name for the PersistentVolumeClaim.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub to: Option<String>,
    /// What the commands have in common.
    #[command(flatten)]
    pub common: MoveArgs,
}

/// Arguments of `bindery undo`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
Reverts a transfer, a rename, a swap or a rescue to another name, finished or not: the PersistentVolume goes back to the \
PersistentVolumeClaim that it had; both do after a swap. No pod may use them.\n\n\
Example:\n  \
bindery undo pvc/data -n archive")]
pub struct UndoArgs {
    /// The PersistentVolumeClaim as `pvc/NAME`, before or after the move, or the PersistentVolume as `pv/NAME`.
    #[arg(value_name = "KIND/NAME")]
    pub object: String,
    /// What the commands have in common.
    #[command(flatten)]
    pub common: MoveArgs,
}

/// Arguments of `bindery release`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
A PersistentVolume whose PersistentVolumeClaim was deleted is Released: no PersistentVolumeClaim can bind it. This leaves it \
to the next PersistentVolumeClaim of the same namespace and name, and to no other. Its reclaim policy has to be Retain. To \
have the PersistentVolumeClaim created as well, use bindery rescue.\n\n\
Exit codes: 0 done; 1 not possible; 4 the cluster cannot be reached.\n\n\
Examples:\n  \
bindery release pvc/data -n shop\n  \
bindery release pv/pvc-0f3a")]
pub struct ReleaseArgs {
    /// The PersistentVolumeClaim that was deleted, as `pvc/NAME`, or the PersistentVolume, as `pv/NAME`; repeatable.
    #[arg(value_name = "KIND/NAME", required = true)]
    pub objects: Vec<String>,
    /// Namespace of PersistentVolumeClaims that are given without one; else that of the context.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Arguments of `bindery retain`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
Sets the reclaim policy Retain, and takes the PersistentVolume out of the trash: it stays, with its data, until a person \
deletes it.\n\n\
Exit codes: 0 done; 1 not possible; 4 the cluster cannot be reached.\n\n\
Examples:\n  \
bindery retain pvc/data -n shop\n  \
bindery retain ns/shop ns/archive")]
pub struct RetainArgs {
    /// What to keep: `pvc/NAME`, `pv/NAME`, or `ns/NAMESPACE` for all of a namespace; repeatable.
    #[arg(value_name = "KIND/NAME", required = true)]
    pub objects: Vec<String>,
    /// Namespace of PersistentVolumeClaims that are given without one; else that of the context.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

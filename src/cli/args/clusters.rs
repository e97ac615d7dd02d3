//! The arguments of the commands between two clusters.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Notation;
use super::cluster::{ClusterArgs, duration};
use crate::api::moves::Mapping;

/// Arguments of `bindery export`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
The output is a Kubernetes List: the PersistentVolumes and PersistentVolumeClaims, with the StorageClasses and CSIDrivers \
that they name, and without what belongs to this cluster. Secrets are not in it. In the output, the reclaim policy of each \
PersistentVolume is Retain, and `spec.claimRef` has no uid; the former policy is in the annotation bindery.dev/export.\n\n\
Without --hand-over, this cluster is not changed. With it, each PersistentVolume here gets the reclaim policy Retain and the \
annotation bindery.dev/handed-over before the output is written: afterwards, deleting the objects here does not delete the \
data. Its name is not --release: the phase Released is that of a PersistentVolume whose PersistentVolumeClaim was \
deleted. To take the data back, run `bindery retain` in the other cluster first; then remove the annotation here, and set the \
former reclaim policy again.\n\n\
Exit codes: 0 done; 1 not possible; 4 the cluster cannot be reached.\n\n\
Examples:\n  \
bindery export ns/shop -o shop.yaml\n  \
bindery export pvc/shop/data pvc/shop/orders --hand-over -o shop.yaml")]
pub struct ExportArgs {
    /// What to export: `pvc/NAME`, `pv/NAME`, or `ns/NAME` for all of a namespace; repeatable.
    #[arg(value_name = "KIND/NAME", required = true)]
    pub objects: Vec<String>,
    /// Namespace of PersistentVolumeClaims that are given without one; else that of the context.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Give the data to the other cluster: PersistentVolumes here get the reclaim policy Retain and are marked. No pod may
    /// use them, and they may be attached to no node.
    #[arg(long)]
    pub hand_over: bool,
    /// File to write to; standard output if left out.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Notation of the output.
    #[arg(long, value_name = "NOTATION", default_value = "yaml")]
    pub format: Notation,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// What the commands that create pairs have in common.
#[derive(Clone, Debug, Args)]
pub struct CreationArgs {
    /// Check everything and show each write, and make none.
    #[arg(long)]
    pub dry_run: bool,
    /// How long to wait for other components between two steps. After it, the same command resumes.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2m")]
    pub timeout: Duration,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Arguments of `bindery import`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
Everything that prevents the import is reported before the first write. Each PersistentVolume is created with the reclaim \
policy Retain and is reserved for its PersistentVolumeClaim, which is created next. Once both are bound, the \
PersistentVolume gets the reclaim policy that it had. After a stop at any point, the same command resumes.\n\n\
StorageClasses, CSIDrivers, namespaces and Secrets are not created. --map names what is called otherwise here, as \
`class=OLD=NEW`, `driver=OLD=NEW`, `node=OLD=NEW` or `namespace=OLD=NEW`.\n\n\
A PersistentVolume that the other cluster may still delete is denied, unless with --retain: export it with --hand-over.\n\n\
Exit codes: 0 done; 1 not possible, or not finished in time; 2 the file cannot be used; 4 the cluster cannot be reached.\n\n\
Examples:\n  \
bindery import -f shop.yaml --context new --dry-run\n  \
bindery import -f shop.yaml --context new --map class=gp2=fast --map node=old-1=new-1")]
pub struct ImportArgs {
    /// The file that `bindery export` wrote; - is standard input.
    #[arg(short, long, value_name = "FILE")]
    pub filename: PathBuf,
    /// A name that is another one here; repeatable.
    #[arg(long = "map", value_name = "KIND=OLD=NEW", value_parser = Mapping::parse)]
    pub mappings: Vec<Mapping>,
    /// Leave the reclaim policy Retain in the end, whichever it was.
    #[arg(long)]
    pub retain: bool,
    /// The largest age of the export. One of a day ago may name PersistentVolumes that were expanded or deleted since.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "24h")]
    pub max_age: Duration,
    /// What the commands have in common.
    #[command(flatten)]
    pub common: CreationArgs,
}

/// Arguments of `bindery adopt`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
The PersistentVolume is created with the reclaim policy Retain, which it keeps, and is reserved for the \
PersistentVolumeClaim, which is created next. The checks are those of `bindery import`. Nothing is read from the disk: \
--size is the size that it has.\n\n\
A CSV file has a header with the columns driver, handle, size and claim, and any of class, access-modes (separated by \
spaces), volume-mode and fs-type. Quotes are not read.\n\n\
Exit codes: 0 done; 1 not possible, or not finished in time; 2 the file cannot be used; 4 the cluster cannot be reached.\n\n\
Examples:\n  \
bindery adopt --driver ebs.csi.aws.com --handle vol-0a1b --size 20Gi --class gp3 --claim shop/data\n  \
bindery adopt --csv disks.csv --dry-run")]
pub struct AdoptArgs {
    /// CSI driver that serves the disk.
    #[arg(long, value_name = "NAME", required_unless_present = "csv")]
    pub driver: Option<String>,
    /// What the driver calls the disk: `spec.csi.volumeHandle`.
    #[arg(long, value_name = "HANDLE", required_unless_present = "csv")]
    pub handle: Option<String>,
    /// Size of the disk, as `20Gi`.
    #[arg(long, value_name = "QUANTITY", required_unless_present = "csv")]
    pub size: Option<String>,
    /// The PersistentVolumeClaim that is created for it.
    #[arg(long, value_name = "NAMESPACE/NAME", required_unless_present = "csv")]
    pub claim: Option<String>,
    /// StorageClass of both; none if left out.
    #[arg(long, value_name = "NAME")]
    pub class: Option<String>,
    /// Access mode; repeatable. `ReadWriteOnce` if left out.
    #[arg(long = "access-mode", value_name = "MODE")]
    pub access_modes: Vec<String>,
    /// `Filesystem` or `Block`; `Filesystem` if left out.
    #[arg(long, value_name = "MODE")]
    pub volume_mode: Option<String>,
    /// File system of the disk, for drivers that need it.
    #[arg(long, value_name = "TYPE")]
    pub fs_type: Option<String>,
    /// File with a disk a line, instead of the flags; - is standard input.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["driver", "handle", "size", "claim", "class", "access_modes", "volume_mode", "fs_type"]
    )]
    pub csv: Option<PathBuf>,
    /// What the commands have in common.
    #[command(flatten)]
    pub common: CreationArgs,
}

//! The arguments of the local static provisioner and of what belongs to it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::cluster::{ClusterArgs, duration};
use super::{ElectionArgs, LogArgs, Notation};
use crate::disks::OnNodeLoss;

/// Arguments of `bindery local`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
Takes the place of the local static provisioner of sig-storage: the ConfigMap, the names of PersistentVolumes, their \
labels and the metrics are the same. PersistentVolumes that it created are taken over.")]
#[command(args_conflicts_with_subcommands = true)]
pub struct LocalArgs {
    /// What is done instead of offering the disks of one node.
    #[command(subcommand)]
    pub command: Option<LocalCommand>,
    /// The name of the Node whose disks are offered.
    #[arg(long, value_name = "NAME", env = "MY_NODE_NAME", hide_env_values = true)]
    pub node_name: Option<String>,
    /// Folder of the configuration: one file for each key of the `ConfigMap`.
    #[arg(long, value_name = "FOLDER", default_value = "/etc/provisioner/config")]
    pub config_dir: PathBuf,
    /// Folder on the node for the marks of disks that have no file system. It must survive a restart of the node.
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/bindery/local")]
    pub ledger_dir: PathBuf,
    /// Folder of the kubelet, where the mounts of pods are seen: no disk is cleaned while a pod uses it.
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/kubelet")]
    pub kubelet_dir: PathBuf,
    /// Time between two scans of the discovery folders; a mount is found at once.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub discovery_period: Duration,
    /// How Jobs are created.
    #[command(flatten)]
    pub jobs: JobArgs,
    /// Address of the plain port with /livez, /readyz, /ready and the metrics.
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:8080")]
    pub listen_address: SocketAddr,
    /// Path of the metrics.
    #[arg(long, value_name = "PATH", default_value = "/metrics")]
    pub metrics_path: String,
    /// Kubeconfig of the cluster; else `KUBECONFIG`, `~/.kube/config` or the pod's own account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The log.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Arguments about the Jobs that clean block devices with `useJobForCleaning`.
#[derive(Clone, Debug, Args)]
pub struct JobArgs {
    /// Namespace of the Jobs that clean block devices, with `useJobForCleaning`.
    #[arg(long, value_name = "NAMESPACE", env = "MY_NAMESPACE", hide_env_values = true)]
    pub job_namespace: Option<String>,
    /// Image of these Jobs: that of Bindery, or one made from it.
    #[arg(long, value_name = "IMAGE", env = "JOB_CONTAINER_IMAGE", hide_env_values = true)]
    pub job_image: Option<String>,
    /// Service account of the pods of these Jobs. It needs no rights.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub job_service_account: String,
    /// Time between the end of a Job that has not cleaned its disk and the next one: its log can be read until then.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1m")]
    pub job_retry_delay: Duration,
}

/// What is done instead of offering the disks of one node.
#[derive(Clone, Debug, Subcommand)]
pub enum LocalCommand {
    /// Delete the PersistentVolumeClaims of lost nodes, so that the pods go on with other disks.
    NodeCleanup(NodeCleanupArgs),
    /// Show the disks that were found elsewhere than their PersistentVolumes have them, and how to move these.
    Moves(MovesArgs),
    /// Clean one block device: what the Job of `useJobForCleaning` runs.
    CleanDevice(CleanDeviceArgs),
}

/// Arguments of `bindery local clean-device`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
The device is cleaned only while the provisioner of its node permits it, and nothing else has the device. Otherwise nothing is \
touched.\n\n\
Exit codes: 0 clean, or not to be cleaned any more; 1 not cleaned.")]
pub struct CleanDeviceArgs {
    /// The cleaning that the provisioner permits, by its name in the ledger.
    #[arg(long, value_name = "ID")]
    pub cleaning: String,
    /// The PersistentVolume of the disk.
    #[arg(long, value_name = "PV")]
    pub volume: String,
    /// Path of the device.
    #[arg(long, value_name = "PATH")]
    pub path: PathBuf,
    /// Folder on the node for the marks of disks, as the provisioner has it.
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/bindery/local")]
    pub ledger_dir: PathBuf,
    /// Folder of the kubelet, where the mounts of pods are seen.
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/kubelet")]
    pub kubelet_dir: PathBuf,
    /// The machine-id of the node, by which loop devices are recognized.
    #[arg(long, value_name = "ID", default_value = "")]
    pub machine_id: String,
    /// The log.
    #[command(flatten)]
    pub log: LogArgs,
    /// The command that cleans the device, if the StorageClass has one.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Arguments of `bindery local moves`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
A disk is shown if the provisioner of its PersistentVolume's node has reported it missing, or that Node is gone or out of \
service, and the provisioner of another node, or at another path, has found it. Nothing is changed.\n\n\
Exit codes: 0 shown; 2 no such move; 4 the cluster cannot be reached.")]
pub struct MovesArgs {
    /// Print the manifests of the new PersistentVolume and of its PersistentVolumeClaim for this PersistentVolume, as YAML.
    #[arg(long, value_name = "PV")]
    pub manifest: Option<String>,
    /// `json` or `yaml` instead of text.
    #[arg(short, long, value_name = "FORM", conflicts_with = "manifest")]
    pub output: Option<Notation>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Arguments of `bindery local node-cleanup`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = "\
A node is lost if no Node has its host name for --pvc-deletion-delay, or if its Node is not ready and has the taint \
node.kubernetes.io/out-of-service. A PersistentVolumeClaim is deleted only if a StatefulSet creates it again, its pod waits \
for a node, and no other replica is on its way: one replica at a time, in the order of their numbers.\n\n\
wait deletes nothing and reports the loss as an event. keep needs another ready replica, and sets the reclaim policy of the \
PersistentVolume to Retain first. release is for data that can be made again: it needs no other replica, and deletes the \
PersistentVolume too, unless its reclaim policy is Retain.")]
pub struct NodeCleanupArgs {
    /// What becomes of the PersistentVolumeClaims of a StorageClass: `CLASS=wait`, `CLASS=keep` or `CLASS=release`;
    /// repeatable.
    #[arg(long, value_name = "CLASS=ACTION", value_parser = on_node_loss, required = true)]
    pub on_node_loss: Vec<(Box<str>, OnNodeLoss)>,
    /// Time for which a Node is gone before it counts as lost.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s")]
    pub pvc_deletion_delay: Duration,
    /// Time between two rounds over all PersistentVolumes.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub period: Duration,
    /// The leader election.
    #[command(flatten)]
    pub election: ElectionArgs,
    /// Namespace of the Lease.
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    pub lease_namespace: String,
    /// Name of the Lease.
    #[arg(long, value_name = "NAME", default_value = "bindery-local-node-cleanup")]
    pub lease_name: String,
    /// Address of the plain port with /livez, /readyz and /metrics.
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:8080")]
    pub listen_address: SocketAddr,
    /// Kubeconfig of the cluster; else `KUBECONFIG`, `~/.kube/config` or the pod's own account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The log.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Reads `CLASS=ACTION`.
fn on_node_loss(text: &str) -> Result<(Box<str>, OnNodeLoss), String> {
    let (class, action) = text.split_once('=').unwrap_or((text, ""));
    let action = match action {
        "wait" => OnNodeLoss::Wait,
        "keep" => OnNodeLoss::Keep,
        "release" => OnNodeLoss::Release,
        _ => return Err("write CLASS=wait, CLASS=keep or CLASS=release".to_owned()),
    };
    if class.is_empty() {
        return Err("the StorageClass has no name; write CLASS=ACTION".to_owned());
    }
    Ok((class.into(), action))
}

//! Running the provisioner of a node.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Client;
use tokio::time::Instant;

use super::api::VolumeRequests;
use super::configuration::LocalConfiguration;
use super::jobs::JobSettings;
use super::ledger::Ledger;
use super::metrics::LocalMetrics;
use super::node::{LocalNode, LocalNodeError};
use super::provisioner::Provisioner;
use super::search::DiskSearch;
use super::shared::{EventCounts, Shared};
use super::source::DiskSource;
use super::unanswered::Inspected;
use super::volumes::LocalVolumes;
use crate::client::resource::ResourceKind;
use crate::client::watch::watch_collection;

/// How the provisioner is to run.
#[derive(Clone, Debug)]
pub struct LocalSettings {
    /// The name of its node.
    pub node: String,
    /// What is offered.
    pub configuration: LocalConfiguration,
    /// The folder of marks that have no room on their disk.
    pub ledger: PathBuf,
    /// The folder of the kubelet, below which it mounts what pods use.
    pub kubelet: PathBuf,
    /// Time between two scans without a reason.
    pub period: Duration,
    /// What is taken for disks. The command line knows but one.
    pub disks: DiskSource,
    /// How Jobs clean block devices; nothing if this process does.
    pub jobs: Option<JobSettings>,
}

/// Why the provisioner cannot start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// The node cannot be used.
    #[error(transparent)]
    Node(#[from] LocalNodeError),
    /// The ledger cannot be used.
    #[error(
        "the ledger in {folder} cannot be used: {error}; without it a disk could be offered with data on it; mend it"
    )]
    Ledger {
        /// Its folder.
        folder: String,
        /// Why.
        error: io::Error,
    },
    /// The folder of the kubelet is not there.
    #[error(
        "{0} is no folder; whether a pod still uses a disk could not be seen; \
         mount the folder of the kubelet with HostToContainer propagation, or name it with --kubelet-dir"
    )]
    Kubelet(String),
    /// The loop ended.
    #[error("disks are not watched any more: {0}")]
    Ended(io::Error),
    /// The watch ended.
    #[error("the task that watches PersistentVolumes ended")]
    Watch,
}

/// Runs the provisioner until `stop` resolves.
///
/// # Errors
///
/// It cannot start, or a part of it ended.
pub async fn run(
    client: Client,
    settings: LocalSettings,
    metrics: Arc<LocalMetrics>,
    stop: impl Future<Output = ()>,
) -> Result<(), LocalError> {
    let LocalSettings { node, mut configuration, ledger: folder, kubelet, period, disks, jobs } =
        settings;
    if !kubelet.is_dir() {
        return Err(LocalError::Kubelet(kubelet.display().to_string()));
    }
    let ledger = Ledger::open(&folder)
        .map_err(|error| LocalError::Ledger { folder: folder.display().to_string(), error })?;
    let requests = VolumeRequests::new(client.clone(), metrics.requests.clone());
    let node = LocalNode::read(&requests, &node, &configuration).await?;
    configuration.classes.retain(|_, class| class.nodes.admits(&node.node));
    let volumes = LocalVolumes::of_node(&node.name);
    let watch =
        watch_collection(client, ResourceKind::Volumes, Arc::clone(&volumes), Instant::now());
    let ledger = Mutex::new(ledger);
    let shared = Arc::new(Shared {
        search: DiskSearch::new(requests.clone()),
        requests,
        node,
        ledger,
        volumes,
        metrics,
        events: EventCounts::default(),
        inspected: Inspected::default(),
        kubelet,
        disks,
        jobs,
    });
    let mut provisioner = Provisioner::new(shared, configuration, period);
    tokio::select! {
        () = stop => Ok(()),
        () = watch => Err(LocalError::Watch),
        ended = provisioner.run() => ended.map_err(LocalError::Ended),
    }
}

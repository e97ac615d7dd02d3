//! `bindery local`: hands its arguments to the local static provisioner, or to the node cleanup, and waits for the signal to
//! end; or shows the disks that were moved; or cleans one device, as a Job does.

mod clean_device;
mod jobs;
mod moves;

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use kube::Client;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::cli::args::{LocalArgs, LocalCommand, NodeCleanupArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::health_port::{self, HealthState};
use crate::cli::process::{self, Signals, port_ended};
use crate::client::connect::{Address, connect};
use crate::client::lease::LeaderElection;
use crate::local::await_configuration::await_configuration;
use crate::local::configuration::LocalConfiguration;
use crate::local::jobs::JobSettings;
use crate::local::metrics::LocalMetrics;
use crate::local::node_cleanup::metrics::NodeCleanupMetrics;
use crate::local::node_cleanup::run::{NodeCleanupSettings, run as run_node_cleanup};
use crate::local::run::{LocalSettings, run as run_provisioner};
use crate::local::source::DiskSource;
use crate::telemetry::connections::ConnectionMetrics;
use crate::telemetry::logging;
use crate::webhook::transport::PortServer;

/// Runs the command until a signal ends the process.
pub fn run(arguments: &LocalArgs) -> Result<Exit, Failure> {
    match &arguments.command {
        None => run_on_node(arguments),
        Some(LocalCommand::NodeCleanup(arguments)) => run_cleanup(arguments),
        Some(LocalCommand::Moves(arguments)) => moves::run(arguments),
        Some(LocalCommand::CleanDevice(arguments)) => clean_device::run(arguments),
    }
}

fn run_on_node(arguments: &LocalArgs) -> Result<Exit, Failure> {
    let node = arguments.node_name.as_ref().ok_or_else(|| {
        Failure::usage(
            "whose disks are to be offered is not known; set MY_NODE_NAME or --node-name to the name of the Node",
        )
    })?;
    process::start_logging(&arguments.log);
    open_many_files();
    // The loop is one task; disks that do not answer have threads of their own.
    process::block_on(1, serve(arguments, node))?
}

/// Allows as many open files as the process may have: free space is overwritten through many at once.
fn open_many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::warn!(%error, "the limit of open files is not raised");
    }
}

async fn serve(arguments: &LocalArgs, node: &str) -> Result<Exit, Failure> {
    let mut signals = signals()?;
    let client = client(arguments.kubeconfig.as_ref()).await?;
    let metrics = LocalMetrics::new().map_err(|error| Failure::usage(error.to_string()))?;
    let health = HealthState {
        ready: metrics.ready.clone(),
        not_ready: "not every disk was decided about yet\n",
        registry: metrics.registry(),
    };
    let health = health_port::router(health, &arguments.metrics_path);
    let mut port = local_port(arguments.listen_address, health, &metrics.connections)?;
    let health = port.address().to_string();
    tracing::info!(node, health, version = env!("CARGO_PKG_VERSION"), "starting");
    let folder = &arguments.config_dir;
    let configuration = tokio::select! {
        read = await_configuration(folder, &client, node, &metrics.configuration) => {
            read.map_err(|error| Failure::usage(error.to_string()))?
        }
        () = signals.next() => return Ok(Exit::Clean),
        ended = port.join() => return Err(port_ended(ended)),
    };
    let jobs = jobs::settings(arguments, &configuration)?;
    let settings = provisioner_settings(arguments, node, configuration, jobs);
    let running = run_provisioner(client, settings, Arc::new(metrics), signals.next());
    served(running, port).await
}

fn provisioner_settings(
    arguments: &LocalArgs,
    node: &str,
    configuration: LocalConfiguration,
    jobs: Option<JobSettings>,
) -> LocalSettings {
    LocalSettings {
        node: node.to_owned(),
        configuration,
        ledger: arguments.ledger_dir.clone(),
        kubelet: arguments.kubelet_dir.clone(),
        period: arguments.discovery_period,
        disks: DiskSource::Devices,
        jobs,
    }
}

async fn client(kubeconfig: Option<&PathBuf>) -> Result<Client, Failure> {
    let address = Address { kubeconfig: kubeconfig.cloned(), ..Address::default() };
    Ok(connect(&address).await?)
}

fn local_port(
    address: SocketAddr,
    handler: Router,
    connections: &ConnectionMetrics,
) -> Result<PortServer, Failure> {
    process::health_port(address, "--listen-address", handler, connections.clone())
}

/// Waits until what runs ends, or the health port does.
async fn served<E: Error>(
    running: impl Future<Output = Result<(), E>>,
    mut port: PortServer,
) -> Result<Exit, Failure> {
    tokio::select! {
        ended = running => ended.map_err(|error| Failure::usage(logging::chain(&error)))?,
        ended = port.join() => return Err(port_ended(ended)),
    }
    tracing::info!("ended");
    Ok(Exit::Clean)
}

fn signals() -> Result<Signals, Failure> {
    Signals::new().map_err(|error| Failure::usage(format!("signals cannot be received: {error}")))
}

fn run_cleanup(arguments: &NodeCleanupArgs) -> Result<Exit, Failure> {
    let settings = cleanup_settings(arguments)?;
    process::start_logging(&arguments.log);
    process::block_on(1, serve_cleanup(arguments, settings))?
}

fn cleanup_settings(arguments: &NodeCleanupArgs) -> Result<NodeCleanupSettings, Failure> {
    let timing = arguments.election.timing().map_err(Failure::usage)?;
    let mut classes = BTreeMap::new();
    for (class, action) in &arguments.on_node_loss {
        if classes.insert(class.clone(), *action).is_some_and(|before| before != *action) {
            return Err(Failure::usage(format!(
                "--on-node-loss names StorageClass {class:?} with two actions; write it once"
            )));
        }
    }
    let election = arguments.election.leader_elect.then(|| LeaderElection {
        namespace: arguments.lease_namespace.clone(),
        name: arguments.lease_name.clone(),
        identity: process::identity(),
        timing,
    });
    let (period, delay) = (arguments.period, arguments.pvc_deletion_delay);
    Ok(NodeCleanupSettings { classes, period, delay, election })
}

async fn serve_cleanup(
    arguments: &NodeCleanupArgs,
    settings: NodeCleanupSettings,
) -> Result<Exit, Failure> {
    let mut signals = signals()?;
    let client = client(arguments.kubeconfig.as_ref()).await?;
    let metrics = NodeCleanupMetrics::new().map_err(|error| Failure::usage(error.to_string()))?;
    let health = HealthState {
        ready: metrics.ready.clone(),
        not_ready: "the PersistentVolumes were not listed yet\n",
        registry: metrics.registry(),
    };
    let health = health_port::router(health, "/metrics");
    let port = local_port(arguments.listen_address, health, &metrics.connections)?;
    let health = port.address().to_string();
    tracing::info!(health, version = env!("CARGO_PKG_VERSION"), "starting");
    let running = run_node_cleanup(client, settings, Arc::new(metrics), signals.next());
    served(Box::pin(running), port).await
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::args::{Bindery, Command};

    #[test]
    fn no_argument_lets_regular_files_be_disks() {
        let words = "bindery local --node-name node-1 --config-dir /c --ledger-dir /l --kubelet-dir /k \
                     --discovery-period 1s --metrics-path /m --kubeconfig /f";
        for count in [2, 4, words.split_whitespace().count()] {
            let cli = Bindery::try_parse_from(words.split_whitespace().take(count)).unwrap();
            let Command::Local(arguments) = cli.command else { panic!("{words}") };
            let settings =
                provisioner_settings(&arguments, "n", LocalConfiguration::default(), None);
            assert!(matches!(settings.disks, DiskSource::Devices), "{count}");
        }
    }
}

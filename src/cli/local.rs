//! `bindery local`: hands its arguments to the local static provisioner and waits for the signal to end.

use std::num::NonZeroUsize;
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::args::LocalArgs;
use super::exit::{Exit, Failure};
use super::process::{self, Signals};
use crate::client::connect::{Address, connect};
use crate::listen::listen;
use crate::local::configuration::{self, LocalConfiguration};
use crate::local::health;
use crate::local::metrics::LocalMetrics;
use crate::local::run::{LocalSettings, run as run_provisioner};
use crate::telemetry::logging;
use crate::webhook::connection_metrics::ConnectionCounter;
use crate::webhook::transport::{Limits, PortOptions, PortServer, Security};

/// Backlog of the health port: more than probes and scrapes need at once.
const WAITING: u16 = 128;

/// Runs the command until a signal ends the process.
pub fn run(arguments: &LocalArgs) -> Result<Exit, Failure> {
    // Errors in it are reported before anything starts.
    let configuration = configuration::read(&arguments.config_dir)
        .map_err(|error| Failure::usage(error.to_string()))?;
    process::start_logging(&arguments.log);
    open_many_files();
    // The loop is one task; disks that do not answer have threads of their own.
    process::block_on(1, serve(arguments, configuration))?
}

/// Allows as many open files as the process may have: free space is overwritten through many at once.
fn open_many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::warn!(%error, "the limit of open files is not raised");
    }
}

async fn serve(arguments: &LocalArgs, configuration: LocalConfiguration) -> Result<Exit, Failure> {
    let mut signals = Signals::new()
        .map_err(|error| Failure::usage(format!("signals cannot be received: {error}")))?;
    let address = Address { kubeconfig: arguments.kubeconfig.clone(), ..Address::default() };
    let client = connect(&address).await?;
    let metrics = LocalMetrics::new().map_err(|error| Failure::usage(error.to_string()))?;
    let metrics = Arc::new(metrics);
    let address = arguments.listen_address;
    let listener = listen(address, WAITING).map_err(|error| {
        let reason = logging::cause(&error);
        Failure::usage(format!(
            "cannot listen on {address}: {reason}; free it or choose another with --listen-address"
        ))
    })?;
    let endpoint = PortOptions {
        name: "health",
        listener,
        security: Security::Plain,
        handler: health::router(Arc::clone(&metrics), &arguments.metrics_path),
        limits: Limits::health(),
    };
    let observer =
        Arc::new(ConnectionCounter { connections: metrics.connections.clone(), panics: None });
    let mut port = PortServer::start(endpoint, NonZeroUsize::MIN, observer)
        .map_err(|error| Failure::usage(logging::chain(&error)))?;
    let health = port.address().to_string();
    tracing::info!(
        node = arguments.node_name,
        health,
        version = env!("CARGO_PKG_VERSION"),
        "starting"
    );
    let settings = LocalSettings {
        node: arguments.node_name.clone(),
        configuration,
        ledger: arguments.ledger_dir.clone(),
        kubelet: arguments.kubelet_dir.clone(),
        period: arguments.discovery_period,
    };
    let stop = async {
        signals.next().await;
    };
    tokio::select! {
        ended = run_provisioner(client, settings, metrics, stop) => {
            ended.map_err(|error| Failure::usage(logging::chain(&error)))?;
        }
        ended = port.join() => {
            let reason = ended.err().map(|error| logging::cause(&error)).unwrap_or_default();
            return Err(Failure::usage(format!("the health port is not served any more: {reason}")));
        }
    }
    tracing::info!("ended");
    Ok(Exit::Clean)
}

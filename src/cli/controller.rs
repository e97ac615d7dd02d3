//! `bindery controller`: hands its arguments to the bind loop and waits for the signal to end.

use std::net::SocketAddr;

use jiff::SignedDuration;
use tokio::net::TcpListener;

use super::args::{ControllerArgs, ControllerMode};
use super::exit::{Exit, Failure};
use super::process::{self, Signals};
use crate::certificates::rotation::Periods;
use crate::cluster::client::{Address, connect};
use crate::cluster::lease::{Contest, Timing};
use crate::controller::mode::Mode;
use crate::controller::run::{Settings, meter, run_metered};
use crate::controller::{certificates, health};
use crate::follow::configuration::Source;
use crate::listen::listen;
use crate::telemetry::logging;

/// As many may knock at once as probes, scrapes and people at their worst.
const WAITING: u16 = 128;

/// Runs the command until the process is told to end.
pub fn run(arguments: &ControllerArgs) -> Result<Exit, Failure> {
    let mode = match arguments.mode {
        ControllerMode::Observe => Mode::Observe,
        ControllerMode::Prebind => Mode::Prebind,
        ControllerMode::Full if arguments.in_tree_binder_disabled => Mode::Full,
        ControllerMode::Full => {
            return Err(Failure::usage(
                "two binders would fight over every claim; start kube-controller-manager with \
                 --controllers=*,-persistentvolume-binder-controller, then give \
                 --in-tree-binder-disabled",
            ));
        }
    };
    // What is wrong with it is told before anything else, as by every command.
    super::configuration(arguments.config.as_deref())?;
    process::start_logging(arguments.log_format, &arguments.log_level);
    // The loop is one task; a second thread encrypts and decodes beside it.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("cannot start a runtime: {error}")))?;
    runtime.block_on(serve(arguments, mode))
}

async fn serve(arguments: &ControllerArgs, mode: Mode) -> Result<Exit, Failure> {
    let mut signals = Signals::new()
        .map_err(|error| Failure::usage(format!("signals cannot be waited for: {error}")))?;
    let address = Address { kubeconfig: arguments.kubeconfig.clone(), ..Address::default() };
    let client = connect(&address).await?;
    let identity = identity();
    let contest = |namespace: &str, name: String| {
        arguments.leader_elect.then(|| Contest {
            namespace: namespace.to_owned(),
            name,
            identity: identity.clone(),
            timing: Timing::default(),
        })
    };
    let own_namespace = arguments.lease_namespace.clone();
    let certificates = arguments.installation.clone().map(|installation| certificates::Settings {
        periods: periods(arguments),
        contest: contest(installation.namespace(), installation.certificates_lease()),
        installation,
    });
    let settings = Settings {
        mode,
        contest: contest(&own_namespace, arguments.lease_name.clone()),
        recycler: arguments.config.clone().map_or_else(Source::default, Source::File),
        config_map: arguments.config_map.clone(),
        own_namespace,
        events: arguments.events,
        certificates,
    };
    let (probe, meter) = meter().map_err(|error| Failure::usage(error.to_string()))?;
    let listener = health_port(arguments.health_listen)?;
    let health = listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
    tracing::info!(mode = mode.label(), health, version = env!("CARGO_PKG_VERSION"), "starting");
    tokio::select! {
        ended = run_metered(client, settings, meter, signals.next()) => {
            ended.map_err(|error| Failure::usage(logging::chain(&error)))?;
        }
        ended = health::serve(listener, probe) => {
            let reason = ended.err().map(|error| logging::cause(&error)).unwrap_or_default();
            return Err(Failure::usage(format!("the health port is not served any more: {reason}")));
        }
    }
    tracing::info!("ended");
    Ok(Exit::Clean)
}

fn periods(arguments: &ControllerArgs) -> Periods {
    // What does not fit is longer than any certificate lives.
    let signed = |time| SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
    Periods {
        authority: signed(arguments.authority_life),
        leaf: signed(arguments.certificate_life),
        settle: arguments.certificate_settle,
    }
}

fn health_port(address: SocketAddr) -> Result<TcpListener, Failure> {
    listen(address, WAITING).and_then(TcpListener::from_std).map_err(|error| {
        let reason = logging::cause(&error);
        Failure::usage(format!(
            "cannot listen on {address}: {reason}; free it or choose another with --health-listen"
        ))
    })
}

/// Differs between any two processes: the pod's name is the host's, and a restarted container has
/// another start.
fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let start = jiff::Timestamp::now().as_nanosecond();
    format!("{}_{}_{start:x}", host.trim(), std::process::id())
}

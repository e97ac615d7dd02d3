//! `bindery controller`: hands its arguments to the bind loop and waits for the signal to end.

use std::sync::Arc;

use super::args::ControllerArgs;
use super::exit::{Exit, Failure};
use super::process::{self, Signals};
use crate::certificates::rotation::Periods;
use crate::client::connect::{Address, connect};
use crate::client::lease::{LeaderElection, Timing};
use crate::controller::last_good::LastGoodConfiguration;
use crate::controller::metrics::ControllerMetrics;
use crate::controller::mode::ControllerMode;
use crate::controller::run::{ControllerSettings, run_metered};
use crate::controller::{certificates, health};
use crate::file_watch::configuration::ConfigurationSource;
use crate::telemetry::logging;
use jiff::SignedDuration;

/// Runs the command until a signal ends the process.
pub fn run(arguments: &ControllerArgs) -> Result<Exit, Failure> {
    if arguments.mode == ControllerMode::Full && !arguments.in_tree_binder_disabled {
        return Err(Failure::usage(
            "two binders would write to every PVC; start kube-controller-manager with \
             --controllers=*,-persistentvolume-binder-controller, then give \
             --in-tree-binder-disabled",
        ));
    }
    // Errors in it are reported before anything starts, as by every command, unless another takes its place.
    if arguments.config_last_good.is_none() {
        super::files::configuration(arguments.config.as_deref())?;
    }
    // That of the certificates has the default periods: nothing is urgent.
    let timing = arguments.election.timing().map_err(Failure::usage)?;
    process::start_logging(&arguments.log);
    // The loop is one task; a second thread encrypts and decodes beside it.
    process::block_on(2, serve(arguments, timing))?
}

async fn serve(arguments: &ControllerArgs, timing: Timing) -> Result<Exit, Failure> {
    let mut signals = Signals::new()
        .map_err(|error| Failure::usage(format!("signals cannot be received: {error}")))?;
    let address = Address { kubeconfig: arguments.kubeconfig.clone(), ..Address::default() };
    let client = connect(&address).await?;
    let settings = settings(arguments, timing);
    let metrics = ControllerMetrics::new().map_err(|error| Failure::usage(error.to_string()))?;
    let metrics = Arc::new(metrics);
    let connections = metrics.connections.clone();
    let health = health::router(Arc::clone(&metrics));
    let mut port =
        process::health_port(arguments.health_listen, "--health-listen", health, connections)?;
    let health = port.address().to_string();
    tracing::info!(
        mode = arguments.mode.label(),
        health,
        version = env!("CARGO_PKG_VERSION"),
        "starting"
    );
    tokio::select! {
        ended = run_metered(client, settings, metrics, signals.next()) => {
            ended.map_err(|error| Failure::usage(logging::chain(&error)))?;
        }
        ended = port.join() => return Err(process::port_ended(ended)),
    }
    tracing::info!("ended");
    Ok(Exit::Clean)
}

/// The settings of the controller: its own Lease has the periods of the arguments, that of the certificates the default
/// ones.
fn settings(arguments: &ControllerArgs, timing: Timing) -> ControllerSettings {
    let identity = process::identity();
    let election = |namespace: &str, name: String, timing: Timing| {
        arguments.election.leader_elect.then(|| LeaderElection {
            namespace: namespace.to_owned(),
            name,
            identity: identity.clone(),
            timing,
        })
    };
    let own_namespace = arguments.lease_namespace.clone();
    let certificates =
        arguments.installation.clone().map(|installation| certificates::CertificateSettings {
            periods: periods(arguments),
            election: election(
                installation.namespace(),
                installation.certificates_lease(),
                Timing::default(),
            ),
            installation,
        });
    ControllerSettings {
        mode: arguments.mode,
        election: election(&own_namespace, arguments.lease_name.clone(), timing),
        configuration: ConfigurationSource::of(
            arguments.config.clone(),
            arguments.config_last_good.clone(),
        ),
        config_map: arguments.config_map.clone(),
        last_good: last_good(arguments),
        own_namespace,
        events: arguments.events,
        certificates,
        guard: arguments.guard.clone(),
    }
}

/// Returns where the last good configuration is kept: beside the Lease, as the configuration itself is.
fn last_good(arguments: &ControllerArgs) -> Option<LastGoodConfiguration> {
    let (file, config_map) = (arguments.config.clone()?, arguments.config_last_good_map.clone()?);
    Some(LastGoodConfiguration { file, namespace: arguments.lease_namespace.clone(), config_map })
}

fn periods(arguments: &ControllerArgs) -> Periods {
    // A longer time is longer than any certificate is valid.
    let signed = |time| SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
    Periods {
        ca: signed(arguments.ca_life),
        leaf: signed(arguments.certificate_life),
        propagation: arguments.certificate_propagation,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::*;
    use crate::cli::args::{Bindery, Command};

    /// Returns what the command line with these flags comes to, or how it fails.
    fn settings_of(flags: &str) -> Result<ControllerSettings, String> {
        let words: Vec<&str> =
            ["bindery", "controller"].into_iter().chain(flags.split_whitespace()).collect();
        let cli = Bindery::try_parse_from(&words).map_err(|error| error.to_string())?;
        let Command::Controller(arguments) = cli.command else { panic!("{words:?}") };
        let timing = arguments.election.timing()?;
        Ok(settings(&arguments, timing))
    }

    #[test]
    fn each_period_of_the_lease_is_the_one_that_was_asked_for() {
        let usual = Timing::default();
        let seconds = Duration::from_secs;
        for (flags, expected) in [
            ("", usual),
            ("--leader-elect-lease-duration 30s", Timing { duration: seconds(30), ..usual }),
            ("--leader-elect-renew-deadline 8s", Timing { deadline: seconds(8), ..usual }),
            ("--leader-elect-retry-period 3s", Timing { period: seconds(3), ..usual }),
            (
                "--leader-elect-lease-duration 4s --leader-elect-renew-deadline 3s --leader-elect-retry-period 1s",
                Timing { duration: seconds(4), deadline: seconds(3), period: seconds(1) },
            ),
        ] {
            let flags = format!("--installation storage/rel {flags}");
            let settings = settings_of(&flags).unwrap();
            assert_eq!(settings.election.unwrap().timing, expected, "{flags}");
            let certificates = settings.certificates.unwrap();
            assert_eq!(certificates.election.unwrap().timing, usual, "{flags}");
        }
        assert!(settings_of("--leader-elect false").unwrap().election.is_none());
    }

    #[test]
    fn periods_that_conflict_are_reported_with_their_flags() {
        for (flags, reason) in [
            ("--leader-elect-lease-duration 10s", "a lease has to last longer than its holder"),
            ("--leader-elect-renew-deadline 15s", "a lease has to last longer than its holder"),
            ("--leader-elect-retry-period 9s", "a lease has to be renewed more often"),
        ] {
            let message = settings_of(flags).unwrap_err();
            assert!(message.contains(flags) && message.contains(reason), "{flags}: {message}");
        }
    }
}

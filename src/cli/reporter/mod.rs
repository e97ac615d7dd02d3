//! `bindery reporter`: scans the cluster at intervals, and writes the findings as policy reports and metrics.
//!
//! A process of its own: a scan holds the lists of a cluster in memory, for which neither the webhook nor the controller has
//! room, and the account of the webhook's pods, which answer the network, needs no right to write reports.

mod metrics;
mod policy_report;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

pub(super) use self::metrics::ReporterMetrics;
use self::policy_report::{PolicyReport, policy_reports};
use self::writer::{ReportApi, ReportChanges, installed, write_reports};
use super::args::ReporterArgs;
use super::exemptions::report::ExemptionsReport;
use super::exit::{Exit, Failure};
use super::health_port::{HealthState, router};
use super::input::cluster::address;
use super::input::dump::StorageState;
use super::input::dump::batch::ReadPurpose;
use super::process::{self, Signals, health_port, port_ended};
use super::report::Report;
use super::scan;
use crate::client::connect::connect;
use crate::client::request::RequestError;
use crate::file_watch::configuration::{ConfigurationSource, LiveConfiguration};
use crate::rules::Policy;
use crate::telemetry::logging;

/// The longest pause after a scan that failed. A minute: an API server that restarts is back by then.
const RETRY_PAUSE_MAX: Duration = Duration::from_mins(1);

/// Runs the command until a signal ends the process, or until one scan was made.
pub(super) fn run(arguments: &ReporterArgs) -> Result<Exit, Failure> {
    process::start_logging(&arguments.log);
    process::block_on(1, serve(arguments))?
}

async fn serve(arguments: &ReporterArgs) -> Result<Exit, Failure> {
    let mut signals = Signals::new()
        .map_err(|error| Failure::usage(format!("signals cannot be received: {error}")))?;
    let client = connect(&address(&arguments.cluster)).await?;
    let metrics = ReporterMetrics::new().map_err(|error| Failure::usage(error.to_string()))?;
    let counted = metrics.configuration.clone();
    let policy = LiveConfiguration::start(
        ConfigurationSource::of(arguments.config.clone(), arguments.config_last_good.clone()),
        |read| read.policy,
        move |loaded| counted.count(loaded.is_ok()),
    );
    let policy = policy.map_err(|error| Failure::usage(error.to_string()))?;
    let (arguments, metrics) = (arguments.clone(), Arc::new(metrics));
    let reporter = Reporter { client, arguments, policy, metrics };
    if reporter.arguments.once {
        return match reporter.scan_and_write().await? {
            Storing::Stored => Ok(Exit::Clean),
            Storing::NoApi => Err(Failure::unreachable(format!(
                "{NO_API}, so no report was written; install the CustomResourceDefinitions of OpenReports, or run bindery scan"
            ))),
        };
    }
    let arguments = &reporter.arguments;
    let health = HealthState {
        ready: reporter.metrics.ready.clone(),
        not_ready: "no scan was complete yet\n",
        registry: reporter.metrics.registry.clone(),
    };
    let connections = reporter.metrics.connections.clone();
    let health = router(health, "/metrics");
    let mut port = health_port(arguments.health_listen, "--health-listen", health, connections)?;
    let health = port.address().to_string();
    tracing::info!(health, version = env!("CARGO_PKG_VERSION"), "starting");
    tokio::select! {
        () = reporter.run() => {}
        () = signals.next() => {}
        ended = port.join() => return Err(port_ended(ended)),
    }
    tracing::info!("ended");
    Ok(Exit::Clean)
}

/// What a scan shows.
struct ScannedCluster {
    report: Report,
    exemptions: ExemptionsReport,
}

/// Where the findings of a scan went.
enum Storing {
    /// To policy reports.
    Stored,
    /// To the metrics alone: the cluster has no API of policy reports.
    NoApi,
}

/// What it means that the cluster has no API of policy reports.
const NO_API: &str = "neither openreports.io/v1alpha1 nor wgpolicyk8s.io/v1alpha2 is installed";

/// The loop with what it talks to.
struct Reporter {
    client: Client,
    arguments: ReporterArgs,
    policy: LiveConfiguration<Policy>,
    metrics: Arc<ReporterMetrics>,
}

impl Reporter {
    /// Scans until the process ends.
    async fn run(&self) {
        loop {
            let interval = self.arguments.interval;
            let ended = self.scan_and_write().await;
            self.metrics.count_scan(ended.is_ok());
            let pause = match ended {
                Ok(Storing::Stored | Storing::NoApi) => interval,
                Err(failure) => {
                    tracing::warn!(error = %failure, "a scan failed; it is tried again");
                    interval.min(RETRY_PAUSE_MAX)
                }
            };
            sleep(pause).await;
        }
    }

    async fn scan_and_write(&self) -> Result<Storing, Failure> {
        let start = Instant::now();
        let (arguments, policy) = (self.arguments.clone(), self.policy.current().load_full());
        // On a thread of its own: the health port goes on.
        let scanned = spawn_blocking(move || scan_cluster(&arguments, &policy)).await;
        let ScannedCluster { report, exemptions } =
            scanned.map_err(|_| Failure::usage("the scan ended because of a bug; report it"))??;
        // What was not read may have findings, so that their absence proves nothing.
        if !report.notes.is_empty() {
            let notes = report.notes.join("; ");
            return Err(Failure::unreachable(format!(
                "not every object can be read, so metrics and reports stay as they are: {notes}"
            )));
        }
        let now = Timestamp::now();
        self.metrics.show_scan(&report.findings, start.elapsed(), now);
        self.metrics.show_exemptions(&exemptions);
        let wanted = policy_reports(&report.findings, now);
        self.metrics.show_left_out(wanted.values().map(|report| report.left_out).sum());
        self.write(wanted, report.findings.len()).await
    }

    /// Writes the reports to the API that the cluster has. Once all are there, ours are removed from the other.
    async fn write(
        &self,
        wanted: BTreeMap<Option<String>, PolicyReport>,
        findings: usize,
    ) -> Result<Storing, Failure> {
        let apis = installed(&self.client).await.map_err(|error| unreachable(&error))?;
        let Some((api, others)) = apis.split_first() else {
            tracing::info!(findings, "{NO_API}; the metrics alone show the findings");
            return Ok(Storing::NoApi);
        };
        let reports = wanted.len();
        let changes = self.write_to(*api, wanted).await?;
        for other in others {
            self.write_to(*other, BTreeMap::new()).await?;
        }
        let (applied, deleted, unchanged) = (changes.applied, changes.deleted, changes.unchanged);
        let api = api.version;
        tracing::info!(findings, api, reports, applied, deleted, unchanged, "scanned");
        Ok(Storing::Stored)
    }

    /// Makes our reports of one API those of `wanted`; an error if one of them could not be written or deleted.
    async fn write_to(
        &self,
        api: ReportApi,
        wanted: BTreeMap<Option<String>, PolicyReport>,
    ) -> Result<ReportChanges, Failure> {
        let changes = write_reports(&self.client, api, wanted).await;
        let changes = changes.map_err(|error| unreachable(&error))?;
        self.metrics.count_changes(&changes);
        match &changes.first_failure {
            None => Ok(changes),
            Some(first) => Err(Failure::unreachable(format!(
                "{} policy reports were not written or deleted; the first is {first}; grant the account the rights of the \
                 chart's README",
                changes.not_applied + changes.not_deleted
            ))),
        }
    }
}

fn unreachable(error: &RequestError) -> Failure {
    let reason = logging::cause(error);
    Failure::unreachable(format!(
        "policy reports cannot be written: {reason}; check the rights of the account"
    ))
}

/// One scan of the cluster.
fn scan_cluster(arguments: &ReporterArgs, policy: &Policy) -> Result<ScannedCluster, Failure> {
    let now = Timestamp::now();
    let state = StorageState::read(&[], &arguments.cluster, ReadPurpose::Verdicts)?;
    let (known, report) = scan::findings(state, policy, now)?;
    let exemptions = ExemptionsReport::of(known.view(), policy, (now, now));
    Ok(ScannedCluster { report, exemptions })
}

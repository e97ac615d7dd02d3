//! Metrics of the controller, in the text format of Prometheus: those of Kubernetes' own binder, and Bindery's own.
//!
//! Metrics of Kubernetes' own binder have its names only where they replace them: in mode `full`, and from the leader.
//! Elsewhere kube-controller-manager or the leader has them too, and their names get the prefix `bindery_`. Objects are
//! counted all the time (`census`). No label comes from a tenant but those that Kubernetes' own metrics have:
//! namespaces, and the classes that claims and volumes name.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use prometheus::{
    Encoder, GaugeVec, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, IntGaugeVec,
    Opts, Registry, TextEncoder,
};

use super::census::{Counts, ObjectCounter, ObjectCounts};
use super::certificates::metrics::CertificateMetrics;
use super::mode::ControllerMode;
use super::operations::OperationMetrics;
use crate::binding::Write;
use crate::client::send::WriteOutcome;
use crate::telemetry::configuration::ConfigurationMetrics;
use crate::telemetry::connections::ConnectionMetrics;
use crate::telemetry::process::register_process;
use crate::telemetry::registry::{counters, register};

/// Bounds of the duration of a write in seconds: a healthy API server answers within milliseconds, and
/// none is waited for longer than five seconds.
const DURATION_BOUNDS: [f64; 10] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];

/// The metrics of a controller, and what they count.
#[derive(Debug)]
pub struct Meter {
    pub(super) metrics: Arc<ControllerMetrics>,
    pub(super) counter: ObjectCounter,
}

impl Meter {
    /// Nothing is counted yet.
    pub(super) fn new(metrics: Arc<ControllerMetrics>) -> Self {
        Self { metrics, counter: ObjectCounter::default() }
    }
}

/// All metrics of the process.
#[derive(Debug)]
pub struct ControllerMetrics {
    registry: Registry,
    writes: IntCounterVec,
    /// How long the API server took to answer a write.
    pub write_duration: Histogram,
    /// Events that were stored, and that were not.
    events: IntCounterVec,
    /// Live reads made for decisions.
    pub live_reads: IntCounter,
    /// Claims that were given the default class.
    default_classes: IntCounter,
    /// Claims that could not be given it.
    default_class_errors: IntCounter,
    /// 1 while this process leads.
    pub leading: IntGauge,
    /// 1 once every resource was listed.
    pub synced: IntGauge,
    /// Objects in the work queue.
    pub queue_depth: IntGauge,
    /// Writes in flight.
    pub writes_under_way: IntGauge,
    /// How often another binder chose a volume that would not have been chosen here.
    pub divergences: IntCounter,
    mode: IntGaugeVec,
    /// Seconds since each watch was last active.
    pub watch_age: GaugeVec,
    /// Objects that exist and cannot be read.
    pub unreadable: IntGaugeVec,
    /// The objects of the cluster, as they were counted last.
    objects: ArcSwap<ObjectCounts>,
    scrape: Mutex<()>,
    volumes: [IntGaugeVec; 2],
    claims: [IntGaugeVec; 2],
    all_volumes: IntGaugeVec,
    /// What takes seconds.
    pub(super) operations: OperationMetrics,
    /// What became of the configuration file.
    pub(super) configuration: ConfigurationMetrics,
    /// What happened to connections.
    pub connections: ConnectionMetrics,
    /// Certificates that the leader keeps.
    pub(super) certificates: CertificateMetrics,
}

impl ControllerMetrics {
    /// Registers all metrics with a registry of their own.
    #[expect(clippy::too_many_lines, reason = "a list: one entry a metric")]
    pub fn register() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        register_process(&registry)?;
        let of_class = ["storage_class"];
        let of_claims = ["namespace", "storage_class", "volume_attributes_class"];
        Ok(Self {
            writes: counters(
                &registry,
                "bindery_controller_writes_total",
                "Writes sent, by kind and outcome.",
                &["write", "outcome"],
            )?,
            write_duration: register(
                &registry,
                Histogram::with_opts(
                    HistogramOpts::new(
                        "bindery_controller_write_duration_seconds",
                        "Time from a write to its answer.",
                    )
                    .buckets(DURATION_BOUNDS.to_vec()),
                )?,
            )?,
            events: counters(
                &registry,
                "bindery_controller_events_total",
                "Events, by reason and outcome.",
                &["reason", "outcome"],
            )?,
            live_reads: counter(
                &registry,
                "bindery_controller_live_reads_total",
                "Live reads made for decisions.",
            )?,
            default_classes: counter(
                &registry,
                "retroactive_storageclass_total",
                "PersistentVolumeClaims that got the default StorageClass after their creation.",
            )?,
            default_class_errors: counter(
                &registry,
                "retroactive_storageclass_errors_total",
                "PersistentVolumeClaims that could not get the default StorageClass after their creation.",
            )?,
            leading: gauge(&registry, "bindery_controller_leading", "1 while this process leads.")?,
            synced: gauge(
                &registry,
                "bindery_controller_cache_synced",
                "1 once every resource was listed once.",
            )?,
            queue_depth: gauge(
                &registry,
                "bindery_controller_queue_depth",
                "Objects in the work queue, delayed ones included.",
            )?,
            writes_under_way: gauge(
                &registry,
                "bindery_controller_writes_under_way",
                "Writes in flight.",
            )?,
            divergences: counter(
                &registry,
                "bindery_controller_divergences_total",
                "How often another binder chose a volume that would not have been chosen here.",
            )?,
            mode: gauges(
                &registry,
                "bindery_controller_mode",
                "1 for the mode in which the controller works now; full falls back to observe once another binder was seen.",
                &["mode"],
            )?,
            watch_age: register(
                &registry,
                GaugeVec::new(
                    Opts::new(
                        "bindery_watch_age_seconds",
                        "Seconds since the API server last sent something on the watch of a resource.",
                    ),
                    &["resource"],
                )?,
            )?,
            unreadable: gauges(
                &registry,
                "bindery_controller_unreadable_objects",
                "Objects that exist and cannot be read; each is named in an event.",
                &["resource"],
            )?,
            objects: ArcSwap::default(),
            scrape: Mutex::default(),
            volumes: [
                gauges(
                    &registry,
                    "pv_collector_bound_pv_count",
                    "PersistentVolumes whose phase is Bound.",
                    &of_class,
                )?,
                gauges(
                    &registry,
                    "pv_collector_unbound_pv_count",
                    "PersistentVolumes whose phase is not Bound.",
                    &of_class,
                )?,
            ],
            claims: [
                gauges(
                    &registry,
                    "pv_collector_bound_pvc_count",
                    "PersistentVolumeClaims whose phase is Bound.",
                    &of_claims,
                )?,
                gauges(
                    &registry,
                    "pv_collector_unbound_pvc_count",
                    "PersistentVolumeClaims whose phase is not Bound.",
                    &of_claims,
                )?,
            ],
            all_volumes: gauges(
                &registry,
                "pv_collector_total_pv_count",
                "PersistentVolumes, by plug-in and volume mode.",
                &["plugin_name", "volume_mode"],
            )?,
            operations: OperationMetrics::register(&registry)?,
            configuration: ConfigurationMetrics::register(&registry)?,
            connections: ConnectionMetrics::register(&registry)?,
            certificates: CertificateMetrics::register(&registry)?,
            registry,
        })
    }

    /// Counts a write by its outcome.
    pub fn count_write(&self, write: &Write, sent: &WriteOutcome) {
        let outcome = match sent {
            WriteOutcome::Stored(_) => "stored",
            WriteOutcome::Stale => "stale",
            WriteOutcome::Rejected(_) => "rejected",
            WriteOutcome::Throttled(_) => "throttled",
            WriteOutcome::Unknown(_) => "unknown",
        };
        self.writes.with_label_values(&[write.label(), outcome]).inc();
        if let Write::SetClass { .. } = write {
            let is_stored = matches!(sent, WriteOutcome::Stored(_));
            if is_stored { &self.default_classes } else { &self.default_class_errors }.inc();
        }
    }

    /// Counts an event.
    pub fn count_event(&self, reason: &str, is_stored: bool) {
        let outcome = if is_stored { "stored" } else { "failed" };
        self.events.with_label_values(&[reason, outcome]).inc();
    }

    /// Shows the mode in which the controller works.
    pub fn show_mode(&self, now: ControllerMode) {
        for mode in ControllerMode::ALL {
            self.mode.with_label_values(&[mode.label()]).set(i64::from(mode == now));
        }
    }

    /// Shows how many volumes and claims there are from the next scrape on.
    pub(super) fn show_objects(&self, counts: ObjectCounts) {
        self.objects.store(Arc::new(counts));
    }

    /// Whether this process is the one binder of the cluster.
    fn replaces_in_tree(&self) -> bool {
        let full = self.mode.with_label_values(&[ControllerMode::Full.label()]).get();
        full == 1 && self.leading.get() == 1
    }

    /// All metrics as text.
    pub fn text(&self) -> Result<String, prometheus::Error> {
        // One at a time, as the numbers of objects are reset before they are set.
        let _alone = self.scrape.lock().unwrap_or_else(PoisonError::into_inner);
        let objects = self.objects.load();
        show(&objects.volumes, &self.volumes);
        show(&objects.claims, &self.claims);
        show(&objects.plugins, std::slice::from_ref(&self.all_volumes));
        let mut out = Vec::new();
        let mut families = self.registry.gather();
        if !self.replaces_in_tree() {
            let prefixed = families.iter_mut().filter(|family| is_in_tree(family.name()));
            prefixed.for_each(|family| family.set_name(format!("bindery_{}", family.name())));
        }
        TextEncoder::new().encode(&families, &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

/// Whether Kubernetes' own binder has a metric of this name.
fn is_in_tree(name: &str) -> bool {
    ["pv_collector_", "retroactive_storageclass_", "volume_operation_total_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Shows these numbers and no older ones.
fn show(counts: &Counts, metrics: &[IntGaugeVec]) {
    metrics.iter().for_each(IntGaugeVec::reset);
    for ((metric, labels), count) in &counts.0 {
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        if let Some(metric) = metrics.get(*metric) {
            metric.with_label_values(&labels).set(*count);
        }
    }
}

fn counter(registry: &Registry, name: &str, help: &str) -> Result<IntCounter, prometheus::Error> {
    register(registry, IntCounter::new(name, help)?)
}

fn gauge(registry: &Registry, name: &str, help: &str) -> Result<IntGauge, prometheus::Error> {
    register(registry, IntGauge::new(name, help)?)
}

fn gauges(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntGaugeVec, prometheus::Error> {
    register(registry, IntGaugeVec::new(Opts::new(name, help), labels)?)
}

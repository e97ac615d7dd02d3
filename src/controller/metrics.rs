//! Metrics of the controller, in the text format of Prometheus: those of Kubernetes' own binder, and Bindery's own.
//!
//! Metrics of Kubernetes' own binder have its names only where they replace them: in mode `full`, and from the leader.
//! Elsewhere kube-controller-manager or the leader has them too, and their names get the prefix `bindery_`. Objects are
//! counted as they change (`object_counts`). No label comes from a tenant but those that Kubernetes' own metrics have:
//! namespaces, and the classes that claims and volumes name.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use prometheus::{
    GaugeVec, Histogram, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry, TextEncoder,
};

use super::certificates::metrics::CertificateMetrics;
use super::guard::metrics::GuardMetrics;
use super::mode::ControllerMode;
use super::moves::metrics::MoveMetrics;
use super::object_counts::{Counts, ObjectCounts};
use super::operation_metrics::OperationMetrics;
use super::trash::metrics::TrashMetrics;
use crate::binding::Write;
use crate::client::send::WriteOutcome;
use crate::telemetry::configuration::ConfigurationMetrics;
use crate::telemetry::connections::ConnectionMetrics;
use crate::telemetry::process::{BUILD, register_process};
use crate::telemetry::registry::{MetricRow, metric_table};

/// Bounds of the duration of a write in seconds: a healthy API server answers within milliseconds, and
/// none is waited for longer than five seconds.
const DURATION_BOUNDS: [f64; 10] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];

metric_table! {
    /// All metrics of the process.
    #[derive(Debug)]
    pub struct ControllerMetrics {
        /// Writes sent, by kind and outcome: stored, stale, rejected, throttled or unknown.
        writes: IntCounterVec = "bindery_controller_writes_total" ["write", "outcome"],
        /// Time from a write to its answer.
        pub write_duration: Histogram = "bindery_controller_write_duration_seconds" in DURATION_BOUNDS,
        /// Events, by reason and outcome: stored or failed.
        events: IntCounterVec = "bindery_controller_events_total" ["reason", "outcome"],
        /// Live reads made for decisions.
        pub live_reads: IntCounter = "bindery_controller_live_reads_total",
        /// PersistentVolumeClaims that got the default StorageClass after their creation.
        default_classes: IntCounter = "retroactive_storageclass_total",
        /// PersistentVolumeClaims that could not get the default StorageClass after their creation.
        default_class_errors: IntCounter = "retroactive_storageclass_errors_total",
        /// 1 while this process leads.
        pub leading: IntGauge = "bindery_controller_leading",
        /// 1 once every resource was listed once.
        pub synced: IntGauge = "bindery_controller_cache_synced",
        /// Objects in the work queue, delayed ones included.
        pub queue_depth: IntGauge = "bindery_controller_queue_depth",
        /// Writes in flight.
        pub writes_in_flight: IntGauge = "bindery_controller_writes_in_flight",
        /// How often another binder chose a PersistentVolume that would not have been chosen here; each is an event on it.
        pub divergences: IntCounter = "bindery_controller_divergences_total",
        /// 1 for the mode in which the controller works now. Mode full falls back to observe once another binder was seen,
        /// until the annotation on the Lease is removed.
        mode: IntGaugeVec = "bindery_controller_mode" ["mode"],
        /// Seconds since the API server last sent something on the watch of a resource.
        pub watch_age: GaugeVec = "bindery_watch_age_seconds" ["resource"],
        /// Objects that exist and cannot be read; each is named in an event.
        pub unreadable: IntGaugeVec = "bindery_controller_unreadable_objects" ["resource"],
        /// PersistentVolumes whose phase is Bound.
        bound_volumes: IntGaugeVec = "pv_collector_bound_pv_count" ["storage_class"],
        /// PersistentVolumes whose phase is not Bound.
        unbound_volumes: IntGaugeVec = "pv_collector_unbound_pv_count" ["storage_class"],
        /// PersistentVolumeClaims whose phase is Bound.
        bound_claims: IntGaugeVec =
            "pv_collector_bound_pvc_count" ["namespace", "storage_class", "volume_attributes_class"],
        /// PersistentVolumeClaims whose phase is not Bound.
        unbound_claims: IntGaugeVec =
            "pv_collector_unbound_pvc_count" ["namespace", "storage_class", "volume_attributes_class"],
        /// PersistentVolumes, by plug-in and volume mode.
        all_volumes: IntGaugeVec = "pv_collector_total_pv_count" ["plugin_name", "volume_mode"],
    }
    and(registry) {
        registry: Registry = registry.clone(),
        /// The objects of the cluster, as they were counted last.
        objects: ArcSwap<ObjectCounts> = ArcSwap::default(),
        scrape: Mutex<()> = Mutex::default(),
        /// What takes seconds.
        pub(super) operations: OperationMetrics = OperationMetrics::register(registry)?,
        /// What became of the configuration file.
        pub(super) configuration: ConfigurationMetrics = ConfigurationMetrics::register(registry)?,
        /// What happened to connections.
        pub connections: ConnectionMetrics = ConnectionMetrics::register(registry)?,
        /// What became of moves whose command was cut off.
        pub(super) moves: MoveMetrics = MoveMetrics::register(registry)?,
        /// What is in the trash.
        pub(super) trash: TrashMetrics = TrashMetrics::register(registry)?,
        /// Certificates that the leader keeps.
        pub(super) certificates: CertificateMetrics = CertificateMetrics::register(registry)?,
        /// Whether guard answers.
        pub(super) guard: GuardMetrics = GuardMetrics::register(registry)?,
    }
}

impl ControllerMetrics {
    /// All metrics, with a registry of their own.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        register_process(&registry)?;
        Self::register(&registry)
    }

    /// Every metric, for the reference page.
    pub fn rows() -> impl Iterator<Item = &'static MetricRow> {
        let own = [&BUILD].into_iter().chain(Self::METRICS).chain(OperationMetrics::METRICS);
        let shared = ConnectionMetrics::METRICS.iter().chain(ConfigurationMetrics::METRICS);
        own.chain(MoveMetrics::METRICS)
            .chain(TrashMetrics::METRICS)
            .chain(CertificateMetrics::METRICS)
            .chain(GuardMetrics::METRICS)
            .chain(shared)
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
    pub(super) fn show_objects(&self, counts: &ObjectCounts) {
        if **self.objects.load() != *counts {
            self.objects.store(Arc::new(counts.clone()));
        }
    }

    /// Returns whether this process is the one binder of the cluster.
    fn replaces_in_tree(&self) -> bool {
        let full = self.mode.with_label_values(&[ControllerMode::Full.label()]).get();
        full == 1 && self.leading.get() == 1
    }

    /// All metrics as text.
    pub fn text(&self) -> Result<String, prometheus::Error> {
        // One at a time, as the numbers of objects are reset before they are set.
        let _alone = self.scrape.lock().unwrap_or_else(PoisonError::into_inner);
        let objects = self.objects.load();
        show(&objects.volumes, &[&self.bound_volumes, &self.unbound_volumes]);
        show(&objects.claims, &[&self.bound_claims, &self.unbound_claims]);
        show(&objects.plugins, &[&self.all_volumes]);
        let mut families = self.registry.gather();
        if !self.replaces_in_tree() {
            let prefixed = families.iter_mut().filter(|family| is_in_tree(family.name()));
            prefixed.for_each(|family| family.set_name(format!("bindery_{}", family.name())));
        }
        TextEncoder::new().encode_to_string(&families)
    }
}

/// Returns whether Kubernetes' own binder has a metric of this name.
fn is_in_tree(name: &str) -> bool {
    ["pv_collector_", "retroactive_storageclass_", "volume_operation_total_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Shows these numbers and no older ones.
fn show(counts: &Counts, metrics: &[&IntGaugeVec]) {
    for metric in metrics {
        metric.reset();
    }
    for ((metric, labels), count) in &counts.0 {
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        if let Some(metric) = metrics.get(*metric) {
            metric.with_label_values(&labels).set(*count);
        }
    }
}

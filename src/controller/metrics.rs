//! Metrics of the controller, in the text format of Prometheus: those of Kubernetes' own binder under
//! their names, and ours.
//!
//! What is counted of the whole cluster is counted when somebody asks, from the view. No label comes
//! from a tenant but those that Kubernetes' own metrics have: namespaces, and the classes that claims and
//! volumes name.

use std::collections::BTreeMap;

use prometheus::{
    Encoder, GaugeVec, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, IntGaugeVec,
    Opts, Registry, TextEncoder,
};

use super::certificates::metrics::CertificateMetrics;
use super::mode::Mode;
use super::operations::Operations;
use crate::binding::{View, Write};
use crate::cluster::send::Sent;
use crate::model::{Backend, Claim, ClaimPhase, ClassName, VolumeClass, VolumePhase};
use crate::telemetry::configuration::ConfigurationMetrics;
use crate::telemetry::metrics::{counters, register};

/// Bounds of the duration of a write in seconds: a healthy API server answers within milliseconds, and
/// none is waited for longer than five seconds.
const DURATION_BOUNDS: [f64; 10] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];

/// All metrics of the process.
#[derive(Debug)]
pub struct Metrics {
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
    /// Objects that wait for their turn.
    pub queue_depth: IntGauge,
    /// Writes that are not answered yet.
    pub writes_under_way: IntGauge,
    /// How often another binder chose what would not have been chosen here.
    pub divergences: IntGauge,
    mode: IntGaugeVec,
    /// Seconds since each watch was last heard of.
    pub watch_age: GaugeVec,
    /// Objects that exist and cannot be read.
    pub unreadable: IntGaugeVec,
    volumes: [IntGaugeVec; 2],
    claims: [IntGaugeVec; 2],
    all_volumes: IntGaugeVec,
    /// What takes seconds.
    pub(super) operations: Operations,
    /// What became of the configuration file.
    pub(super) configuration: ConfigurationMetrics,
    /// Certificates that the leader keeps.
    pub(super) certificates: CertificateMetrics,
}

impl Metrics {
    /// Registers all metrics with a registry of their own.
    #[expect(clippy::too_many_lines, reason = "a list: one entry a metric")]
    pub fn register() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
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
                "Claims that were given the default class after their creation.",
            )?,
            default_class_errors: counter(
                &registry,
                "retroactive_storageclass_errors_total",
                "Claims that could not be given the default class after their creation.",
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
                "Objects that wait for their turn.",
            )?,
            writes_under_way: gauge(
                &registry,
                "bindery_controller_writes_under_way",
                "Writes that are not answered yet.",
            )?,
            divergences: gauge(
                &registry,
                "bindery_controller_divergences",
                "How often another binder chose what would not have been chosen here.",
            )?,
            mode: gauges(
                &registry,
                "bindery_controller_mode",
                "1 for the mode in which the controller works now.",
                &["mode"],
            )?,
            watch_age: register(
                &registry,
                GaugeVec::new(
                    Opts::new(
                        "bindery_watch_age_seconds",
                        "Seconds since the watch of a resource was last heard of.",
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
            volumes: [
                gauges(
                    &registry,
                    "pv_collector_bound_pv_count",
                    "Volumes whose phase is Bound.",
                    &of_class,
                )?,
                gauges(
                    &registry,
                    "pv_collector_unbound_pv_count",
                    "Volumes whose phase is not Bound.",
                    &of_class,
                )?,
            ],
            claims: [
                gauges(
                    &registry,
                    "pv_collector_bound_pvc_count",
                    "Claims whose phase is Bound.",
                    &of_claims,
                )?,
                gauges(
                    &registry,
                    "pv_collector_unbound_pvc_count",
                    "Claims whose phase is not Bound.",
                    &of_claims,
                )?,
            ],
            all_volumes: gauges(
                &registry,
                "pv_collector_total_pv_count",
                "Volumes, by plug-in and volume mode.",
                &["plugin_name", "volume_mode"],
            )?,
            operations: Operations::register(&registry)?,
            configuration: ConfigurationMetrics::register(&registry)?,
            certificates: CertificateMetrics::register(&registry)?,
            registry,
        })
    }

    /// Counts what became of a write.
    pub fn count_write(&self, write: &Write, sent: &Sent) {
        let outcome = match sent {
            Sent::Stored(_) => "stored",
            Sent::Stale => "stale",
            Sent::Refused(_) => "refused",
            Sent::Busy(_) => "busy",
            Sent::Unknown(_) => "unknown",
        };
        self.writes.with_label_values(&[write.label(), outcome]).inc();
        if let Write::SetClass { .. } = write {
            let is_stored = matches!(sent, Sent::Stored(_));
            if is_stored { &self.default_classes } else { &self.default_class_errors }.inc();
        }
    }

    /// Counts an event.
    pub fn count_event(&self, reason: &str, is_stored: bool) {
        let outcome = if is_stored { "stored" } else { "failed" };
        self.events.with_label_values(&[reason, outcome]).inc();
    }

    /// Shows the mode in which the controller works.
    pub fn show_mode(&self, now: Mode) {
        for mode in Mode::ALL {
            self.mode.with_label_values(&[mode.label()]).set(i64::from(mode == now));
        }
    }

    /// Counts the volumes and claims of a view.
    pub fn count_objects(&self, view: &View) {
        let mut volumes = Counts::default();
        let mut plugins = Counts::default();
        for volume in view.volumes() {
            let class = class_label(volume.class().as_class());
            volumes.add(usize::from(volume.phase != VolumePhase::Bound), vec![class]);
            let plugin = match &volume.backend {
                Backend::Csi(driver) => format!("kubernetes.io/csi:{driver}"),
                Backend::Nfs => "kubernetes.io/nfs".to_owned(),
                Backend::HostPath => "kubernetes.io/host-path".to_owned(),
                Backend::Local | Backend::Other => "N/A".to_owned(),
            };
            plugins.add(0, vec![plugin, volume.mode.to_string()]);
        }
        let mut claims = Counts::default();
        for claim in view.claims() {
            claims.add(usize::from(claim.phase != ClaimPhase::Bound), claim_labels(claim));
        }
        volumes.show(&self.volumes);
        claims.show(&self.claims);
        plugins.show(std::slice::from_ref(&self.all_volumes));
    }

    /// All metrics as text.
    pub fn text(&self) -> Result<String, prometheus::Error> {
        let mut out = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

/// Numbers by metric and labels.
#[derive(Default)]
struct Counts(BTreeMap<(usize, Vec<String>), i64>);

impl Counts {
    fn add(&mut self, metric: usize, labels: Vec<String>) {
        *self.0.entry((metric, labels)).or_default() += 1;
    }

    /// Shows these numbers and no older ones.
    fn show(&self, metrics: &[IntGaugeVec]) {
        metrics.iter().for_each(IntGaugeVec::reset);
        for ((metric, labels), count) in &self.0 {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            if let Some(metric) = metrics.get(*metric) {
                metric.with_label_values(&labels).set(*count);
            }
        }
    }
}

fn claim_labels(claim: &Claim) -> Vec<String> {
    let attributes = claim.attributes_class.as_ref().map(ClassName::as_str).unwrap_or_default();
    let class = class_label(claim.class().wanted());
    vec![claim.key.namespace.to_string(), class, attributes.to_owned()]
}

fn class_label(class: VolumeClass<'_>) -> String {
    match class {
        VolumeClass::Classless => String::new(),
        VolumeClass::Named(name) => name.to_string(),
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

//! Metrics of the webhook, in the text format of Prometheus.
//!
//! A value that is made once and passed on; nothing is global. Counters that every request
//! touches are looked up once, here.

use prometheus::core::Collector;
use prometheus::{
    Encoder, Gauge, GaugeVec, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts,
    Registry, TextEncoder,
};

use super::configuration::ConfigurationMetrics;
use super::connections::ConnectionMetrics;
use crate::rules::{Effect, Endpoint};

/// Bounds of the duration histogram in seconds: a verdict takes microseconds, a live read
/// milliseconds, and the API server waits three seconds at most.
const DURATION_BOUNDS: [f64; 11] =
    [0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.01, 0.05, 0.25, 1.0, 3.0];

/// All metrics of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    reviews: [[IntCounter; 2]; 5],
    /// How long a review took, from its complete body to its answer.
    pub duration: Histogram,
    rule_results: IntCounterVec,
    exemptions: IntCounterVec,
    edits: IntCounterVec,
    refused: IntCounterVec,
    /// Reviews that ended in a panic.
    pub panics: IntCounter,
    live_reads: IntCounterVec,
    /// What happened to connections.
    pub connections: ConnectionMetrics,
    /// Seconds since each watch was last heard of.
    pub watch_age: GaugeVec,
    /// Whether all resources were listed once.
    pub synced: IntGauge,
    /// When the serving certificate ends, in seconds since 1970.
    pub certificate_expiry: Gauge,
    reloads: IntCounterVec,
    /// What became of the configuration file.
    pub configuration: ConfigurationMetrics,
}

/// What became of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It passes.
    Allowed,
    /// It is refused.
    Denied,
}

impl Metrics {
    /// Registers all metrics with a registry of their own.
    #[expect(clippy::too_many_lines, reason = "a list: one entry a metric")]
    pub fn register() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let reviews = counters(
            &registry,
            "bindery_admission_requests_total",
            "Reviews answered, by path and decision.",
            &["path", "decision"],
        )?;
        let of_path = |path: &str| {
            ["allowed", "denied"].map(|decision| reviews.with_label_values(&[path, decision]))
        };
        Ok(Self {
            reviews: [
                "/validate/guard",
                "/validate/advise",
                "/validate/restricted",
                "/validate/tenancy",
                "/mutate",
            ]
            .map(of_path),
            duration: register(
                &registry,
                Histogram::with_opts(
                    HistogramOpts::new(
                        "bindery_admission_duration_seconds",
                        "Time from the complete body of a review to its answer.",
                    )
                    .buckets(DURATION_BOUNDS.to_vec()),
                )?,
            )?,
            rule_results: counters(
                &registry,
                "bindery_rule_results_total",
                "Violations found, by rule and what became of them.",
                &["rule", "result"],
            )?,
            exemptions: counters(
                &registry,
                "bindery_exemptions_total",
                "Violations that an exemption let pass.",
                &["rule"],
            )?,
            edits: counters(&registry, "bindery_edits_total", "Objects repaired.", &["edit"])?,
            refused: counters(
                &registry,
                "bindery_requests_refused_total",
                "Requests answered without a review, by reason.",
                &["reason"],
            )?,
            live_reads: counters(
                &registry,
                "bindery_live_reads_total",
                "Live reads made to confirm a verdict, by outcome.",
                &["outcome"],
            )?,
            connections: ConnectionMetrics::register(&registry)?,
            reloads: counters(
                &registry,
                "bindery_certificate_reloads_total",
                "Reloads of the serving pair, by outcome.",
                &["outcome"],
            )?,
            configuration: ConfigurationMetrics::register(&registry)?,
            panics: register(
                &registry,
                IntCounter::new(
                    "bindery_panics_total",
                    "Reviews and live reads that ended in a panic.",
                )?,
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
            synced: register(
                &registry,
                IntGauge::new("bindery_cache_synced", "1 once every resource was listed once.")?,
            )?,
            certificate_expiry: register(
                &registry,
                Gauge::new(
                    "bindery_certificate_expiry_timestamp_seconds",
                    "When the serving certificate ends.",
                )?,
            )?,
            registry,
        })
    }

    /// Counts an answered review of the endpoint.
    pub fn count_review(&self, endpoint: Endpoint, decision: Decision) {
        let [guard, advise, restricted, tenancy, mutate] = &self.reviews;
        let [allowed, denied] = match endpoint {
            Endpoint::Guard => guard,
            Endpoint::Advise => advise,
            Endpoint::Restricted => restricted,
            Endpoint::Tenancy => tenancy,
            Endpoint::Mutate | Endpoint::Restore => mutate,
        };
        match decision {
            Decision::Allowed => allowed.inc(),
            Decision::Denied => denied.inc(),
        }
    }

    /// Counts what became of a violation.
    pub fn count_ruling(&self, rule: &str, effect: &Effect) {
        self.rule_results.with_label_values(&[rule, effect.label()]).inc();
        if let Effect::Exempted(_) = effect {
            self.exemptions.with_label_values(&[rule]).inc();
        }
    }

    /// Counts an edit made.
    pub fn count_edit(&self, edit: &str) {
        self.edits.with_label_values(&[edit]).inc();
    }

    /// Counts a request that was answered without a review.
    pub fn count_refused(&self, reason: &str) {
        self.refused.with_label_values(&[reason]).inc();
    }

    /// Counts live reads.
    pub fn count_live_read(&self, outcome: &str) {
        self.live_reads.with_label_values(&[outcome]).inc();
    }

    /// Counts a reload of the serving pair.
    pub fn count_reload(&self, outcome: &str) {
        self.reloads.with_label_values(&[outcome]).inc();
    }

    /// All metrics as text.
    pub fn text(&self) -> Result<String, prometheus::Error> {
        let mut out = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

/// Registers a metric and hands it back.
pub fn register<C: Collector + Clone + 'static>(
    registry: &Registry,
    collector: C,
) -> Result<C, prometheus::Error> {
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}

/// Registers counters by these labels.
pub fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, prometheus::Error> {
    register(registry, IntCounterVec::new(Opts::new(name, help), labels)?)
}

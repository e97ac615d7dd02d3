//! Metrics of the webhook, in the text format of Prometheus.
//!
//! No metric is global: the registry is created once and passed on. Counters that every request touches are looked up
//! once, here.

use prometheus::{
    Encoder, Gauge, GaugeVec, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts,
    Registry, TextEncoder,
};

use super::configuration::ConfigurationMetrics;
use super::connections::ConnectionMetrics;
use super::process::register_process;
use super::registry::{counters, register};
use crate::rules::{Effect, Endpoint, Mode, Ruling, Weight};

/// Bounds of the duration histogram in seconds: a verdict takes microseconds, a live read
/// milliseconds, and the API server waits three seconds at most.
const DURATION_BOUNDS: [f64; 11] =
    [0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.01, 0.05, 0.25, 1.0, 3.0];

/// All metrics of the process.
#[derive(Debug)]
pub struct WebhookMetrics {
    registry: Registry,
    reviews: [[IntCounter; 2]; 5],
    /// Time from the complete body of a review to its response.
    pub duration: Histogram,
    rule_results: IntCounterVec,
    exemptions: IntCounterVec,
    edits: IntCounterVec,
    rejected: IntCounterVec,
    /// Reviews and live reads that panicked.
    pub panics: IntCounter,
    live_reads: IntCounterVec,
    /// Connections and their events.
    pub connections: ConnectionMetrics,
    /// Seconds since the last event or bookmark of each watch.
    pub watch_age: GaugeVec,
    /// 1 once every resource has been listed.
    pub synced: IntGauge,
    /// When the serving certificate expires, in seconds since 1970.
    pub certificate_expiry: Gauge,
    reloads: IntCounterVec,
    /// Reloads of the configuration file.
    pub configuration: ConfigurationMetrics,
}

/// The decision on a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewDecision {
    /// The request is allowed.
    Allowed,
    /// The request is denied.
    Denied,
}

impl WebhookMetrics {
    /// Registers all metrics with a registry of their own.
    #[expect(clippy::too_many_lines, reason = "a list: one entry a metric")]
    pub fn register() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        register_process(&registry)?;
        let reviews = counters(
            &registry,
            "bindery_admission_requests_total",
            "AdmissionReviews answered, by path and decision.",
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
                        "Time from the complete body of an AdmissionReview to its response.",
                    )
                    .buckets(DURATION_BOUNDS.to_vec()),
                )?,
            )?,
            rule_results: counters(
                &registry,
                "bindery_rule_results_total",
                "Violations found, by rule and result: denied, warned, would_deny, would_warn (mode audit), exempted or unconfirmed.",
                &["rule", "result"],
            )?,
            exemptions: counters(
                &registry,
                "bindery_exemptions_total",
                "Violations allowed by an exemption, by rule.",
                &["rule"],
            )?,
            edits: counters(
                &registry,
                "bindery_edits_total",
                "Mutations made, by edit.",
                &["edit"],
            )?,
            rejected: counters(
                &registry,
                "bindery_requests_rejected_total",
                "Requests rejected with an HTTP error instead of an AdmissionReview, by reason.",
                &["reason"],
            )?,
            live_reads: counters(
                &registry,
                "bindery_live_reads_total",
                "Live reads of the API server that confirm a verdict, by outcome.",
                &["outcome"],
            )?,
            connections: ConnectionMetrics::register(&registry)?,
            reloads: counters(
                &registry,
                "bindery_certificate_reloads_total",
                "Reloads of the serving certificate and key, by outcome.",
                &["outcome"],
            )?,
            configuration: ConfigurationMetrics::register(&registry)?,
            panics: register(
                &registry,
                IntCounter::new(
                    "bindery_panics_total",
                    "AdmissionReviews and live reads that panicked.",
                )?,
            )?,
            watch_age: register(
                &registry,
                GaugeVec::new(
                    Opts::new(
                        "bindery_watch_age_seconds",
                        "Seconds since the last event or bookmark of the watch, by resource.",
                    ),
                    &["resource"],
                )?,
            )?,
            synced: register(
                &registry,
                IntGauge::new("bindery_cache_synced", "1 once every resource has been listed.")?,
            )?,
            certificate_expiry: register(
                &registry,
                Gauge::new(
                    "bindery_certificate_expiry_timestamp_seconds",
                    "When the serving certificate expires, in seconds since 1970.",
                )?,
            )?,
            registry,
        })
    }

    /// Counts an answered review by its endpoint.
    pub fn count_review(&self, endpoint: Endpoint, decision: ReviewDecision) {
        let [guard, advise, restricted, tenancy, mutate] = &self.reviews;
        let [allowed, denied] = match endpoint {
            Endpoint::Guard => guard,
            Endpoint::Advise => advise,
            Endpoint::Restricted => restricted,
            Endpoint::Tenancy => tenancy,
            Endpoint::Mutate | Endpoint::Restore => mutate,
        };
        match decision {
            ReviewDecision::Allowed => allowed.inc(),
            ReviewDecision::Denied => denied.inc(),
        }
    }

    /// Counts a violation by its rule and its effect.
    pub fn count_ruling(&self, ruling: &Ruling) {
        let rule = ruling.rule.id;
        self.rule_results.with_label_values(&[rule, result(ruling)]).inc();
        if let Effect::Exempted(_) = ruling.effect {
            self.exemptions.with_label_values(&[rule]).inc();
        }
    }

    /// Counts a mutation.
    pub fn count_edit(&self, edit: &str) {
        self.edits.with_label_values(&[edit]).inc();
    }

    /// Counts a request that was rejected with an HTTP error.
    pub fn count_rejected(&self, reason: &str) {
        self.rejected.with_label_values(&[reason]).inc();
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

/// The value of the label `result`. Rules in mode audit count as what they would do in their own mode.
fn result(ruling: &Ruling) -> &'static str {
    match (&ruling.effect, ruling.rule.mode, ruling.violation.weight) {
        (Effect::Audited, Mode::Deny, Weight::Full) => "would_deny",
        (Effect::Audited, ..) => "would_warn",
        (effect, ..) => effect.label(),
    }
}

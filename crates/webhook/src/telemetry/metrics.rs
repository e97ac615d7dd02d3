//! Metrics of the webhook, in the text format of Prometheus.
//!
//! No metric is global: the registry is created once and passed on. Counters that every request touches are looked up
//! once, here.

use prometheus::{
    Gauge, GaugeVec, Histogram, IntCounter, IntCounterVec, IntGauge, Opts, Registry, TextEncoder,
};

use super::configuration::ConfigurationMetrics;
use super::connections::ConnectionMetrics;
use super::process::{BUILD, register_process};
use super::registry::{MetricRow, metric_table, register};
use crate::rules::{Effect, Endpoint, Mode, RULES, Ruling, Weight};

/// Bounds of the duration histogram in seconds: a verdict takes microseconds, a live read
/// milliseconds, and the API server waits three seconds at most.
const DURATION_BOUNDS: [f64; 11] =
    [0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.01, 0.05, 0.25, 1.0, 3.0];

metric_table! {
    /// All metrics of the process.
    #[derive(Debug)]
    pub struct WebhookMetrics {
        /// Time from the complete body of an AdmissionReview to its response.
        pub duration: Histogram = "bindery_admission_duration_seconds" in DURATION_BOUNDS,
        /// Violations found, by rule and result: denied, warned, would_deny, would_warn (mode audit), exempted or
        /// unconfirmed.
        rule_results: IntCounterVec = "bindery_rule_results_total" ["rule", "result"],
        /// Violations allowed by an exemption, by rule.
        exemptions: IntCounterVec = "bindery_exemptions_total" ["rule"],
        /// Mutations made, by mutation.
        pub mutations: IntCounterVec = "bindery_mutations_total" ["mutation"],
        /// Requests rejected with an HTTP error instead of an AdmissionReview, by reason.
        rejected: IntCounterVec = "bindery_requests_rejected_total" ["reason"],
        /// Live reads of the API server that confirm a verdict, by outcome.
        pub live_reads: IntCounterVec = "bindery_live_reads_total" ["outcome"],
        /// Reloads of the serving certificate and key, by outcome.
        pub reloads: IntCounterVec = "bindery_certificate_reloads_total" ["outcome"],
        /// AdmissionReviews that panicked, each answered with 500, and live reads that did, each counted as failed.
        pub panics: IntCounter = "bindery_panics_total",
        /// Seconds since the last event or bookmark of the watch, by resource.
        pub watch_age: GaugeVec = "bindery_watch_age_seconds" ["resource"],
        /// 1 once every resource has been listed.
        pub synced: IntGauge = "bindery_cache_synced",
        /// When the serving certificate expires, in seconds since 1970.
        pub certificate_expiry: Gauge = "bindery_certificate_expiry_timestamp_seconds",
    }
    and(registry) {
        registry: Registry = registry.clone(),
        reviews: [[IntCounter; 2]; 5] = reviews(registry)?,
        /// Connections and their events.
        pub connections: ConnectionMetrics = ConnectionMetrics::register(registry)?,
        /// Reloads of the configuration file.
        pub configuration: ConfigurationMetrics = ConfigurationMetrics::register(registry)?,
    }
}

/// Answered reviews: looked up once for each path and decision.
const REVIEWS: MetricRow = MetricRow {
    name: "bindery_admission_requests_total",
    kind: "IntCounterVec",
    labels: &["path", "decision"],
    help: "AdmissionReviews answered, by path and decision: allowed or denied.",
};

/// The decision on a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewDecision {
    /// The request is allowed.
    Allowed,
    /// The request is denied.
    Denied,
}

impl WebhookMetrics {
    /// All metrics, with a registry of their own.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        register_process(&registry)?;
        let metrics = Self::register(&registry)?;
        // A series that began with its first event would show no increase of it.
        for rule in RULES {
            for result in ["denied", "warned", "would_deny", "would_warn"] {
                metrics.rule_results.with_label_values(&[rule.id, result]);
            }
        }
        Ok(metrics)
    }

    /// Every metric, for the reference page.
    pub fn rows() -> impl Iterator<Item = &'static MetricRow> {
        let own = [&BUILD, &REVIEWS].into_iter().chain(Self::METRICS);
        own.chain(ConnectionMetrics::METRICS).chain(ConfigurationMetrics::METRICS)
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
        self.rule_results.with_label_values(&[rule, result_label(ruling)]).inc();
        if let Effect::Exempted(_) = ruling.effect {
            self.exemptions.with_label_values(&[rule]).inc();
        }
    }

    /// Counts a request that was rejected with an HTTP error.
    pub fn count_rejected(&self, reason: &str) {
        self.rejected.with_label_values(&[reason]).inc();
    }

    /// All metrics as text.
    pub fn text(&self) -> Result<String, prometheus::Error> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

/// The counters of answered reviews: by path, those that were allowed and denied.
fn reviews(registry: &Registry) -> Result<[[IntCounter; 2]; 5], prometheus::Error> {
    let options = Opts::new(REVIEWS.name, REVIEWS.help);
    let reviews = register(registry, IntCounterVec::new(options, REVIEWS.labels)?)?;
    let paths = [
        "/validate/guard",
        "/validate/advise",
        "/validate/restricted",
        "/validate/tenancy",
        "/mutate",
    ];
    let of_path = |path: &str| {
        ["allowed", "denied"].map(|decision| reviews.with_label_values(&[path, decision]))
    };
    Ok(paths.map(of_path))
}

/// The value of the label `result`, also in the log. Rules in mode audit count as what they would do in their own mode.
pub fn result_label(ruling: &Ruling) -> &'static str {
    match (&ruling.effect, ruling.rule.mode, ruling.violation.weight) {
        (Effect::Audited, Mode::Deny, Weight::Full) => "would_deny",
        (Effect::Audited, ..) => "would_warn",
        (effect, ..) => effect.label(),
    }
}

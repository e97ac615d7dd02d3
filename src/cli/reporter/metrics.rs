//! Metrics of scans, of their findings and of exemptions. No label names an object.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use prometheus::{Gauge, IntCounterVec, IntGauge, IntGaugeVec, Registry};

use super::policy_report::NO_RULE;
use super::writer::ReportChanges;
use crate::cli::exemptions::report::ExemptionsReport;
use crate::cli::report::Finding;
use crate::telemetry::configuration::ConfigurationMetrics;
use crate::telemetry::connections::ConnectionMetrics;
use crate::telemetry::process::{BUILD, register_process};
use crate::telemetry::registry::{MetricRow, metric_table};

metric_table! {
    /// The metrics.
    #[derive(Debug)]
    pub(in crate::cli) struct ReporterMetrics {
        /// Findings of the last scan, by rule and severity: high where the rule denies, medium where it warns, low where it audits or an exemption holds.
        findings: IntGaugeVec = "bindery_scan_findings" ["rule", "severity"],
        /// When the last complete scan ended.
        timestamp: IntGauge = "bindery_scan_timestamp_seconds",
        /// How long the last complete scan took.
        duration: Gauge = "bindery_scan_duration_seconds",
        /// Scans, by outcome: ok or failed.
        scans: IntCounterVec = "bindery_scans_total" ["outcome"],
        /// Changes of policy reports, by write and outcome: stored or failed.
        writes: IntCounterVec = "bindery_scan_report_writes_total" ["write", "outcome"],
        /// Findings of the last scan that no policy report shows, because theirs is full.
        left_out: IntGauge = "bindery_scan_findings_left_out",
        /// Exemptions in force at the last scan, by rule.
        exemptions: IntGaugeVec = "bindery_exemptions_in_force" ["rule"],
        /// When the next exemption from a rule ends.
        next_expiry: IntGaugeVec = "bindery_exemption_next_expiry_timestamp_seconds" ["rule"],
        /// Requests for exemptions that wait for an administrator, by rule.
        requests: IntGaugeVec = "bindery_exemption_requests" ["rule"],
        /// 1 once a scan was complete.
        pub(super) ready: IntGauge = "bindery_scan_ready",
    }
    and(registry) {
        /// The registry.
        pub(super) registry: Registry = registry.clone(),
        /// What happened to connections.
        pub(super) connections: ConnectionMetrics = ConnectionMetrics::register(registry)?,
        /// Reloads of the configuration file.
        pub(super) configuration: ConfigurationMetrics = ConfigurationMetrics::register(registry)?,
    }
}

impl ReporterMetrics {
    /// All metrics, with a registry of their own.
    pub(super) fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        register_process(&registry)?;
        Self::register(&registry)
    }

    /// Every metric, for the reference page.
    pub(in crate::cli) fn rows() -> impl Iterator<Item = &'static MetricRow> {
        let own = [&BUILD].into_iter().chain(Self::METRICS);
        own.chain(ConnectionMetrics::METRICS).chain(ConfigurationMetrics::METRICS)
    }

    /// Shows a complete scan that ended at `now`.
    pub(super) fn show_scan(&self, findings: &[Finding], took: Duration, now: Timestamp) {
        let mut counts: BTreeMap<(&str, &str), i64> = BTreeMap::new();
        for finding in findings {
            let severity = finding.standing.as_ref().map_or("medium", |stake| stake.severity);
            let rule = finding.rule.as_deref().unwrap_or(NO_RULE);
            *counts.entry((rule, severity)).or_default() += 1;
        }
        self.findings.reset();
        for ((rule, severity), count) in counts {
            self.findings.with_label_values(&[rule, severity]).set(count);
        }
        self.timestamp.set(now.as_second());
        self.duration.set(took.as_secs_f64());
        self.ready.set(1);
    }

    /// Shows the exemptions and the requests for them.
    pub(super) fn show_exemptions(&self, report: &ExemptionsReport) {
        for metric in [&self.exemptions, &self.next_expiry, &self.requests] {
            metric.reset();
        }
        for exemption in &report.in_force {
            self.exemptions.with_label_values(&[&exemption.rule]).inc();
            let next = self.next_expiry.with_label_values(&[&exemption.rule]);
            let until = exemption.until.as_second();
            next.set(if next.get() == 0 { until } else { next.get().min(until) });
        }
        // What cannot be granted may name any rule: its name is the tenant's.
        for request in report.requests.iter().filter(|request| request.grant.is_some()) {
            self.requests.with_label_values(&[&request.rule]).inc();
        }
    }

    /// Counts a scan by whether its reports were written too.
    pub(super) fn count_scan(&self, is_ok: bool) {
        self.scans.with_label_values(&[if is_ok { "ok" } else { "failed" }]).inc();
    }

    /// Counts the changes of reports.
    pub(super) fn count_changes(&self, changes: &ReportChanges) {
        for (labels, count) in [
            (["apply", "stored"], changes.applied),
            (["apply", "failed"], changes.not_applied),
            (["delete", "stored"], changes.deleted),
            (["delete", "failed"], changes.not_deleted),
        ] {
            self.writes.with_label_values(&labels).inc_by(count);
        }
    }

    /// Shows how many findings no report shows.
    pub(super) fn show_left_out(&self, count: usize) {
        self.left_out.set(i64::try_from(count).unwrap_or(i64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::exemptions::grant::Grant;
    use crate::cli::exemptions::report::{ExemptionEntry, RequestEntry};

    fn exemption(rule: &str, until: i64) -> ExemptionEntry {
        ExemptionEntry {
            rule: rule.to_owned(),
            persistent_volume: None,
            namespaces: Vec::new(),
            users: Vec::new(),
            until: Timestamp::from_second(until).unwrap(),
            reason: "moving".to_owned(),
        }
    }

    fn request(rule: &str, grant: Option<Grant>) -> RequestEntry {
        RequestEntry {
            rule: rule.to_owned(),
            namespace: "db".to_owned(),
            name: "data".to_owned(),
            persistent_volume: None,
            reason: "moving".to_owned(),
            grant,
            problem: None,
        }
    }

    #[test]
    fn exemptions_are_counted_by_rule_with_the_next_expiry() {
        let metrics = ReporterMetrics::new().unwrap();
        let values = |metric: &IntGaugeVec, rules: &[&str]| -> Vec<i64> {
            rules.iter().map(|rule| metric.with_label_values(&[*rule]).get()).collect()
        };
        let grant = Some(Grant::Command("kubectl annotate".to_owned()));
        let report = ExemptionsReport {
            in_force: vec![exemption("a", 20), exemption("a", 10), exemption("b", 30)],
            requests: vec![request("c", grant.clone()), request("c", grant), request("any", None)],
            ..ExemptionsReport::default()
        };
        metrics.show_exemptions(&report);
        assert_eq!(values(&metrics.exemptions, &["a", "b"]), [2, 1]);
        assert_eq!(values(&metrics.next_expiry, &["a", "b"]), [10, 30]);
        assert_eq!(values(&metrics.requests, &["c", "any"]), [2, 0]);
        metrics.show_exemptions(&ExemptionsReport::default());
        let text = prometheus::TextEncoder::new().encode_to_string(&metrics.registry.gather());
        assert!(!text.unwrap().contains("bindery_exemption"), "they have ended");
    }
}

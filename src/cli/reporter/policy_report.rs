//! The findings of a scan as policy reports: what each says, within a size that the API server stores.
//!
//! Pure. `OpenReports`: `apis/openreports.io/v1alpha1/report_types.go`; the results of wgpolicyk8s.io/v1alpha2 have the same
//! fields. Not here: which of the two a cluster has, and how reports are stored (`writer`).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cli::output::one_line;
use crate::cli::report::{Finding, FindingResult};

/// The policy of findings that no rule makes.
pub(super) const NO_RULE: &str = "bindery-scan";

/// What all results name as their source.
pub(super) const SOURCE: &str = "bindery";

/// What all results name as their category.
const CATEGORY: &str = "persistent storage";

/// The most results of a report: more than a person reads, and few enough for a table in a browser.
const RESULTS_COUNT_MAX: usize = 1_000;

/// The most bytes of the results of a report. etcd stores 1.5 MiB by default; a client that watches reports holds them all in
/// memory, and other field managers have their share: a third.
const RESULTS_BYTES_MAX: usize = 512 * 1024;

/// A report as far as it is compared: what it says, without its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PolicyReport {
    /// All findings, those that are left out as well.
    #[serde(default)]
    pub(super) summary: ResultSummary,
    /// The results, the most severe first.
    #[serde(default)]
    pub(super) results: Vec<PolicyResult>,
    /// How many findings have no result of their own.
    #[serde(skip)]
    pub(super) left_out: usize,
}

/// How many findings have which result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ResultSummary {
    pass: u64,
    fail: u64,
    warn: u64,
    error: u64,
    skip: u64,
}

/// One finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PolicyResult {
    source: String,
    policy: String,
    rule: String,
    category: String,
    severity: String,
    result: String,
    scored: bool,
    #[serde(rename = "resources")]
    subjects: Vec<ResultSubject>,
    message: String,
    properties: BTreeMap<String, String>,
    timestamp: ResultTime,
}

/// The object of a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResultSubject {
    api_version: String,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    name: String,
}

/// A time of `metav1.Timestamp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct ResultTime {
    seconds: i64,
    nanos: i32,
}

/// The reports on these findings: one for each Namespace, and without a Namespace that on the cluster's own objects.
pub(super) fn policy_reports(
    findings: &[Finding],
    now: Timestamp,
) -> BTreeMap<Option<String>, PolicyReport> {
    let mut grouped: BTreeMap<Option<String>, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        grouped.entry(finding.object.namespace.clone()).or_default().push(finding);
    }
    grouped.into_iter().map(|(namespace, found)| (namespace, policy_report(found, now))).collect()
}

fn policy_report(mut findings: Vec<&Finding>, now: Timestamp) -> PolicyReport {
    let mut summary = ResultSummary::default();
    for finding in &findings {
        summary.count(finding.result);
    }
    // The most severe stay where not all have room; in the order of the scan among themselves.
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.result));
    let (results, left_out) = bounded(&findings, now);
    PolicyReport { summary, results, left_out }
}

/// As many results as a report has room for, and how many findings have none; the last result then counts these.
fn bounded(findings: &[&Finding], now: Timestamp) -> (Vec<PolicyResult>, usize) {
    let (mut results, mut bytes) = (Vec::new(), 0);
    for finding in findings {
        let result = PolicyResult::of(finding, now);
        if results.len() == RESULTS_COUNT_MAX || bytes + result.bytes() > RESULTS_BYTES_MAX {
            break;
        }
        bytes += result.bytes();
        results.push(result);
    }
    if results.len() == findings.len() {
        return (results, 0);
    }
    loop {
        let left_out = findings.len() - results.len();
        let rest = PolicyResult::of_rest(left_out, now);
        if results.len() < RESULTS_COUNT_MAX && bytes + rest.bytes() <= RESULTS_BYTES_MAX {
            results.push(rest);
            return (results, left_out);
        }
        // It has room once the least severe give way: the list of none has.
        let Some(last) = results.pop() else { return (vec![rest], left_out) };
        bytes -= last.bytes();
    }
}

impl PolicyReport {
    /// Takes over the times of results that `stored` has too: they were found then.
    pub(super) fn keep_times(&mut self, stored: &Self) {
        let mut times: BTreeMap<String, ResultTime> = BTreeMap::new();
        for result in &stored.results {
            times.insert(result.text_without_time(), result.timestamp);
        }
        for result in &mut self.results {
            if let Some(time) = times.get(&result.text_without_time()) {
                result.timestamp = *time;
            }
        }
    }
}

impl ResultSummary {
    fn count(&mut self, result: FindingResult) {
        match result {
            FindingResult::Denied | FindingResult::Api => self.fail += 1,
            FindingResult::Warned | FindingResult::Audited => self.warn += 1,
            FindingResult::Unverified => self.error += 1,
            FindingResult::Exempted => self.skip += 1,
            FindingResult::Clean => self.pass += 1,
        }
    }
}

/// The result of a policy: `error` is one that could not be evaluated, `skip` one that does not apply.
fn result_word(result: FindingResult) -> &'static str {
    match result {
        FindingResult::Denied | FindingResult::Api => "fail",
        FindingResult::Warned | FindingResult::Audited => "warn",
        FindingResult::Unverified => "error",
        FindingResult::Exempted => "skip",
        FindingResult::Clean => "pass",
    }
}

impl PolicyResult {
    fn of(finding: &Finding, now: Timestamp) -> Self {
        let object = &finding.object;
        let api_version = if object.kind == "StatefulSet" { "apps/v1" } else { "v1" };
        let mut properties = BTreeMap::from([("finding".to_owned(), finding.result.to_string())]);
        for (key, value) in [("field", &finding.field), ("fix", &finding.fix)] {
            if let Some(value) = value {
                properties.insert(key.to_owned(), one_line(value));
            }
        }
        let rule = finding.rule.clone().unwrap_or_else(|| NO_RULE.to_owned());
        Self {
            source: SOURCE.to_owned(),
            policy: rule.clone(),
            rule,
            category: CATEGORY.to_owned(),
            severity: finding.standing.as_ref().map_or("medium", |stake| stake.severity).to_owned(),
            result: result_word(finding.result).to_owned(),
            scored: finding.result.is_denial(),
            subjects: vec![ResultSubject {
                api_version: api_version.to_owned(),
                kind: object.kind.to_owned(),
                namespace: object.namespace.clone(),
                name: object.name.clone(),
            }],
            message: one_line(&finding.message),
            properties,
            timestamp: ResultTime::of(now),
        }
    }

    /// The last result of a report that has no room for these findings.
    fn of_rest(count: usize, now: Timestamp) -> Self {
        let message = format!(
            "{count} further findings are left out: a report has at most {RESULTS_COUNT_MAX} results of {} KiB; run \
             bindery scan to see all",
            RESULTS_BYTES_MAX / 1024
        );
        Self {
            source: SOURCE.to_owned(),
            policy: NO_RULE.to_owned(),
            rule: NO_RULE.to_owned(),
            category: CATEGORY.to_owned(),
            severity: "medium".to_owned(),
            result: "skip".to_owned(),
            message,
            properties: BTreeMap::from([("leftOut".to_owned(), count.to_string())]),
            timestamp: ResultTime::of(now),
            ..Self::default()
        }
    }

    /// The bytes that it takes in a list.
    fn bytes(&self) -> usize {
        self.text().len() + ",".len()
    }

    fn text(&self) -> String {
        // Writing texts and numbers to memory cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    fn text_without_time(&self) -> String {
        Self { timestamp: ResultTime::default(), ..self.clone() }.text()
    }
}

impl ResultTime {
    fn of(now: Timestamp) -> Self {
        Self { seconds: now.as_second(), nanos: 0 }
    }
}

//! A baseline: findings that are accepted until a time, so that a pipeline fails on new ones only.
//!
//! A finding is the same as an accepted one if rule, object and field are: sentences change with every version, and
//! quote what else changes. After its time a baseline accepts nothing.

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::exit::Failure;
use super::files::{self, Readers};
use super::render::{self, API_VERSION};
use super::report::{Exempt, Finding, FindingResult, Report, ReportedObject, ResultCounts};
use crate::document;

const KIND: &str = "Baseline";

/// Accepted findings.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Baseline {
    api_version: String,
    kind: String,
    /// Until when they are accepted.
    until: Timestamp,
    /// Why.
    reason: String,
    findings: BTreeSet<Accepted>,
}

/// What identifies a finding.
#[derive(Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
struct Accepted {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    field: Option<String>,
}

impl Baseline {
    /// Reads a baseline from its file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let documents = document::read(&files::read(path)?).map_err(|error| {
            Failure::usage(format!(
                "{name}:{}: {}; write a new one with bindery scan --write-baseline",
                error.at, error.reason
            ))
        })?;
        let wrong = |why: &str| {
            Failure::usage(format!(
                "{name} is not a baseline: {why}; make one with bindery scan --write-baseline"
            ))
        };
        let [document] = documents.as_slice() else {
            return Err(wrong("it is not one document"));
        };
        let read: Self = serde_json::from_value(document.to_json())
            .map_err(|error| wrong(&error.to_string()))?;
        if (read.api_version.as_str(), read.kind.as_str()) != (API_VERSION, KIND) {
            return Err(wrong("apiVersion or kind is another"));
        }
        Ok(read)
    }

    /// Turns accepted findings into exempted ones, and updates the counts.
    pub(super) fn accept(&self, report: &mut Report, now: Timestamp) {
        if self.until <= now {
            report.notes.push(format!(
                "the baseline expired at {}; look at the findings, then write a new one",
                self.until
            ));
            return;
        }
        for finding in &mut report.findings {
            if is_acceptable(finding.result) && self.findings.contains(&accepted(finding)) {
                finding.result = FindingResult::Exempted;
                let (until, reason) = (self.until.to_string(), self.reason.clone());
                finding.exempt = Some(Exempt { until, reason });
            }
        }
        let clean = report.summary.objects.saturating_sub(report.objects.len());
        let mut summary = ResultCounts::default();
        (0..clean).for_each(|_| summary.count(FindingResult::Clean));
        for object in &report.objects {
            let findings = report.findings.get(object.findings.clone()).unwrap_or_default();
            let gravest = findings.iter().map(|finding| finding.result).max();
            summary.count(gravest.unwrap_or(FindingResult::Clean));
        }
        report.summary = summary;
    }
}

/// Writes what the report finds as a baseline.
pub(super) fn write(
    path: &Path,
    report: &Report,
    until: Option<Timestamp>,
    reason: &str,
    now: Timestamp,
) -> Result<(), Failure> {
    let Some(until) = until else {
        return Err(Failure::usage(
            "--write-baseline needs --until; give a time like 2030-01-31T18:00:00Z",
        ));
    };
    if until <= now {
        return Err(Failure::usage(format!(
            "--until {until} has passed: the baseline would accept nothing; give a time in the future"
        )));
    }
    let found = report.findings.iter().filter(|finding| is_acceptable(finding.result));
    let baseline = Baseline {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        until,
        reason: reason.to_owned(),
        findings: found.map(accepted).collect(),
    };
    files::write(path, &render::yaml(&baseline)?, Readers::Everybody)
}

fn is_acceptable(result: FindingResult) -> bool {
    match result {
        FindingResult::Denied
        | FindingResult::Warned
        | FindingResult::Audited
        | FindingResult::Unverified => true,
        FindingResult::Clean | FindingResult::Exempted | FindingResult::Api => false,
    }
}

fn accepted(finding: &Finding) -> Accepted {
    let ReportedObject { kind, namespace, name } = finding.object.clone();
    Accepted {
        kind: kind.to_owned(),
        namespace,
        name,
        rule: finding.rule.clone(),
        field: finding.field.clone(),
    }
}

//! A report as SARIF 2.1.0, as code scanning reads it: each finding a result at its place.
//!
//! Not here: the format itself, which is that of OASIS.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_sarif::sarif::{
    ArtifactLocation, Location, LogicalLocation, Message, MultiformatMessageString,
    PhysicalLocation, Region, ReportingConfiguration, ReportingDescriptor, Result as SarifResult,
    ResultLevel, Run, SCHEMA_URL, Sarif, Suppression, Tool, ToolComponent,
};

use super::{Finding, FindingResult, Report};
use crate::cli::exit::Failure;
use crate::cli::notation;
use crate::rules::{Mode, find, mutations};

/// The ids of findings without a rule: SARIF requires one.
const API: &str = "api";
const UNVERIFIED: &str = "unverified";
const EXEMPTION: &str = "exemption";

/// The report as SARIF.
pub(super) fn sarif(report: &Report) -> Result<String, Failure> {
    let ids: BTreeSet<&str> = report.findings.iter().map(id).collect();
    let rules: Vec<ReportingDescriptor> = ids.into_iter().map(descriptor).collect();
    let driver = ToolComponent::builder()
        .name("bindery")
        .version(env!("CARGO_PKG_VERSION"))
        .rules(rules)
        .build();
    let results: Vec<SarifResult> = report.findings.iter().map(result).collect();
    let run = Run::builder().tool(Tool::builder().driver(driver).build()).results(results).build();
    let log = Sarif::builder()
        .version(serde_json::json!("2.1.0"))
        .schema(SCHEMA_URL)
        .runs(vec![run])
        .build();
    notation::json(&log)
}

/// The id of the rule that speaks.
fn id(finding: &Finding) -> &str {
    match (&finding.rule, finding.result) {
        (Some(rule), _) => rule,
        (None, FindingResult::Api) => API,
        (None, FindingResult::Unverified) => UNVERIFIED,
        (
            None,
            FindingResult::Clean
            | FindingResult::Audited
            | FindingResult::Exempted
            | FindingResult::Warned
            | FindingResult::Denied,
        ) => EXEMPTION,
    }
}

fn descriptor(id: &str) -> ReportingDescriptor {
    let text = |text: &str| MultiformatMessageString::builder().text(text).build();
    let configuration =
        |level: &str| ReportingConfiguration::builder().level(serde_json::json!(level)).build();
    let Some(rule) = find(id) else {
        let short = match id {
            API => "The API server itself denies the change.",
            UNVERIFIED => "The result depends on objects of the cluster that were not given.",
            _ => mutations::find(id).map_or("An exemption has no effect.", |edit| edit.page.hazard),
        };
        return ReportingDescriptor::builder().id(id).short_description(text(short)).build();
    };
    let level = match rule.mode {
        Mode::Deny => "error",
        Mode::Warn => "warning",
        Mode::Audit | Mode::Off => "note",
    };
    ReportingDescriptor::builder()
        .id(id)
        .short_description(text(rule.page.hazard))
        .full_description(text(rule.page.consequence))
        .help(text(rule.page.instead))
        .default_configuration(configuration(level))
        .build()
}

fn result(finding: &Finding) -> SarifResult {
    let level = match finding.result {
        FindingResult::Denied | FindingResult::Api => ResultLevel::Error,
        FindingResult::Warned | FindingResult::Unverified => ResultLevel::Warning,
        FindingResult::Clean | FindingResult::Audited | FindingResult::Exempted => {
            ResultLevel::Note
        }
    };
    let suppressions: Vec<Suppression> = finding
        .exempt
        .iter()
        .map(|exempt| {
            let until = format!("until {}: {}", exempt.until, exempt.reason);
            let kind = serde_json::json!("external");
            Suppression::builder().kind(kind).justification(until).build()
        })
        .collect();
    let mut result = SarifResult::builder()
        .rule_id(id(finding))
        .level(level)
        .message(Message::builder().text(finding.message.as_str()).build())
        .locations(vec![location(finding)])
        .build();
    if !suppressions.is_empty() {
        result.suppressions = Some(suppressions);
    }
    result
}

fn location(finding: &Finding) -> Location {
    let object = LogicalLocation::builder()
        .fully_qualified_name(finding.object())
        .name(finding.name.as_str())
        .kind("resource")
        .build();
    let mut location = Location::builder().logical_locations(vec![object]).build();
    if let Some(file) = &finding.file {
        let artifact = ArtifactLocation::builder().uri(uri(file)).build();
        let mut place = PhysicalLocation::builder().artifact_location(artifact).build();
        // SARIF: a region counts lines and columns from 1.
        if let (Some(line), Some(column)) = (finding.line, finding.column) {
            let region = Region::builder().start_line(line).start_column(column).build();
            place.region = Some(region);
        }
        location.physical_location = Some(place);
    }
    location
}

/// A file's name as a relative reference (RFC 3986): what has a meaning of its own there is escaped.
fn uri(file: &str) -> String {
    let mut out = String::with_capacity(file.len());
    for byte in file.trim_start_matches("./").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            other => {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

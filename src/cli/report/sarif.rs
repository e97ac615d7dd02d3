//! A report as SARIF 2.1.0, as code scanning reads it: each finding a result at its place.
//!
//! Not here: the format itself, which is that of OASIS.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Finding, FindingResult, Report};
use crate::cli::claim_templates::{DRIFT, LEFTOVER};
use crate::rules::{Mode, find, mutations};

/// The ids of findings without a rule: SARIF requires one.
const API: &str = "api";
const UNVERIFIED: &str = "unverified";
const EXEMPTION: &str = "exemption";

/// The report as a SARIF log.
pub(super) fn sarif(report: &Report) -> Value {
    let ids: BTreeSet<&str> = report.findings.iter().map(id).collect();
    let rules: Vec<Value> = ids.into_iter().map(descriptor).collect();
    let results: Vec<Value> = report.findings.iter().map(result).collect();
    let driver = json!({"name": "bindery", "version": env!("CARGO_PKG_VERSION"), "rules": rules});
    json!({
        "$schema": "https://schemastore.azurewebsites.net/schemas/json/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    })
}

/// The id of the rule that speaks.
fn id(finding: &Finding) -> &str {
    if let Some(rule) = &finding.rule {
        rule
    } else if finding.result == FindingResult::Api {
        API
    } else if finding.result == FindingResult::Unverified {
        UNVERIFIED
    } else {
        EXEMPTION
    }
}

fn descriptor(id: &str) -> Value {
    let Some(rule) = find(id) else {
        let short = match id {
            API => "The API server itself denies the change.",
            DRIFT => "PVCs differ from the volumeClaimTemplates of their StatefulSet.",
            LEFTOVER => "PVCs are of no replica of their StatefulSet.",
            UNVERIFIED => "The result depends on objects of the cluster that were not given.",
            _ => mutations::find(id)
                .map_or("An exemption has no effect.", |mutation| mutation.page.hazard),
        };
        return json!({"id": id, "shortDescription": {"text": short}});
    };
    let level = match rule.mode {
        Mode::Deny => "error",
        Mode::Warn => "warning",
        Mode::Audit | Mode::Off => "note",
    };
    json!({
        "id": id,
        "shortDescription": {"text": rule.page.hazard},
        "fullDescription": {"text": rule.page.consequence},
        "help": {"text": rule.page.instead},
        "defaultConfiguration": {"level": level},
    })
}

fn result(finding: &Finding) -> Value {
    let mut result = json!({
        "ruleId": id(finding),
        "level": finding.result.by_level("error", "warning", "note"),
        "message": {"text": finding.message},
        "locations": [location(finding)],
    });
    if let Some(exempt) = &finding.exempt {
        let until = format!("until {}: {}", exempt.until, exempt.reason);
        result["suppressions"] = json!([{"kind": "external", "justification": until}]);
    }
    result
}

fn location(finding: &Finding) -> Value {
    let (object, name) = (finding.object.to_string(), &finding.object.name);
    let object = json!({"fullyQualifiedName": object, "name": name, "kind": "resource"});
    let mut location = json!({"logicalLocations": [object]});
    if let Some(file) = &finding.file {
        let mut place = json!({"artifactLocation": {"uri": uri(file)}});
        // SARIF: a region counts lines and columns from 1.
        if let (Some(line), Some(column)) = (finding.line, finding.column) {
            place["region"] = json!({"startLine": line, "startColumn": column});
        }
        location["physicalLocation"] = place;
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

//! A report for people who want to see everything: a table of findings, and every edit with its patch.

use std::fmt::Write as _;

use super::{EditEntry, Finding, Report, called, tally};
use crate::cli::table;

const HEAD: [&str; 8] =
    ["RESULT", "RULE", "OPERATION", "OBJECT", "FIELD", "AT STAKE", "WHERE", "WHY"];

/// An empty cell.
const NOTHING: &str = "-";

/// The report as tables.
pub(super) fn wide(report: &Report) -> String {
    let mut out = String::new();
    if !report.findings.is_empty() {
        let head = HEAD.iter().map(|name| (*name).to_owned()).collect();
        let rows = std::iter::once(head).chain(report.findings.iter().map(row));
        out.push_str(&table::aligned(&rows.collect::<Vec<_>>()));
        out.push('\n');
    }
    for EditEntry { edit, kind, namespace, name, patch, .. } in &report.edits {
        let object = called(kind, namespace.as_deref(), name);
        let _ = writeln!(out, "{object}: {edit}: {patch}");
    }
    if !report.edits.is_empty() {
        out.push('\n');
    }
    for note in &report.notes {
        let _ = writeln!(out, "note: {note}");
    }
    let _ = writeln!(out, "{}", tally(report));
    out
}

fn row(finding: &Finding) -> Vec<String> {
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
    let stake = finding.standing.as_ref().and_then(|standing| standing.bytes.clone());
    let place = finding.place();
    let object = finding.object();
    vec![
        finding.result.as_str().to_owned(),
        or_nothing(finding.rule.clone()),
        finding.operation.to_owned(),
        object.clone(),
        or_nothing(finding.field.clone()),
        or_nothing(stake),
        if place == object { NOTHING.to_owned() } else { place },
        finding.message.replace('\n', "; "),
    ]
}

//! A report as a comment on a pull request: the gravest findings first, and no more rows than a comment holds.

use std::fmt::Write as _;

use super::{EditEntry, Finding, FindingResult, Report, called, tally};
use crate::cli::notation::cell;

/// Rows of a table. A comment on GitHub holds 65,536 characters, and a long row takes 400.
const ROWS_MAX: usize = 150;

/// The report as Markdown.
pub(super) fn markdown(report: &Report) -> String {
    let mut out = format!("### Storage check\n\n{}\n", tally(report));
    let mut findings: Vec<&Finding> = report.findings.iter().collect();
    // A stable sort: of equal weight, the order of the input.
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.result));
    if !findings.is_empty() {
        out.push_str("\n| result | object | where | why |\n| --- | --- | --- | --- |\n");
    }
    for finding in findings.iter().take(ROWS_MAX) {
        out.push_str(&row(finding));
    }
    if let Some(more) = findings.len().checked_sub(ROWS_MAX).filter(|more| *more > 0) {
        let _ = writeln!(out, "\n{more} more are not shown; `-o json` gives them all.");
    }
    if !report.edits.is_empty() {
        out.push_str("\nThe webhook would edit:\n\n");
    }
    for EditEntry { kind, namespace, name, warning, .. } in report.edits.iter().take(ROWS_MAX) {
        let object = called(kind, namespace.as_deref(), name);
        let _ = writeln!(out, "* {}: {}", cell(&object), cell(warning));
    }
    for note in &report.notes {
        let _ = writeln!(out, "\n{}", cell(note));
    }
    out
}

fn row(finding: &Finding) -> String {
    let weight = match finding.result {
        FindingResult::Denied | FindingResult::Api => "**",
        FindingResult::Clean
        | FindingResult::Audited
        | FindingResult::Exempted
        | FindingResult::Warned
        | FindingResult::Unverified => "",
    };
    let (object, place) = (finding.object(), finding.place());
    let place = if place == object { String::new() } else { cell(&place) };
    format!(
        "| {weight}{}{weight} | {} | {place} | {} |\n",
        finding.result.as_str(),
        cell(&object),
        cell(&finding.message)
    )
}

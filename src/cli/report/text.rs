//! A report for people: findings as compilers print them, each with its fix on a line of its own, and a tally.

use std::fmt::Write as _;

use super::{Finding, FindingResult, Report, called, tally};
use crate::cli::output::{Colour, readable};

/// The report as text.
pub(super) fn text(report: &Report, colour: Colour) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        // Painted after the rest was made readable: the paint is what a terminal obeys.
        let result = painted(finding.result, colour);
        let (problem, remedies) = parts(finding);
        let _ = writeln!(out, "{}: {result}: {}", finding.place(), readable(problem));
        for remedy in remedies {
            let _ = writeln!(out, "    {}", readable(&remedy));
        }
    }
    for edit in &report.edits {
        let place = edit
            .place
            .clone()
            .unwrap_or_else(|| called(edit.kind, edit.namespace.as_deref(), &edit.name));
        let _ = writeln!(out, "{}", readable(&format!("{place}: edited: {}", edit.warning)));
    }
    for note in &report.notes {
        let _ = writeln!(out, "note: {}", readable(note));
    }
    let _ = writeln!(out, "{}", tally(report));
    out
}

/// The problem of a finding with its consequence; then the fix and how to override a denial, a line each.
fn parts(finding: &Finding) -> (&str, Vec<String>) {
    let fix = finding.fix.as_deref().unwrap_or_default();
    match finding.message.split_once(&format!("; {fix}")) {
        Some((problem, rest)) if !fix.is_empty() => {
            let others = rest.trim_start_matches("; ").lines().filter(|line| !line.is_empty());
            let fix = std::iter::once(format!("fix: {fix}"));
            (problem, fix.chain(others.map(str::to_owned)).collect())
        }
        Some(_) | None => (&finding.message, Vec::new()),
    }
}

fn painted(outcome: FindingResult, colour: Colour) -> String {
    let word = outcome.as_str();
    let code = match outcome {
        FindingResult::Denied | FindingResult::Api => "31",
        FindingResult::Warned | FindingResult::Unverified => "33",
        FindingResult::Clean | FindingResult::Audited | FindingResult::Exempted => "36",
    };
    match colour {
        Colour::On => format!("\u{1b}[1;{code}m{word}\u{1b}[0m"),
        Colour::Off => word.to_owned(),
    }
}

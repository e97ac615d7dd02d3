//! A report for people: a line per finding, as compilers print them, and a tally.

use std::fmt::Write as _;

use super::{Outcome, Report, called, tally};
use crate::cli::output::{Colour, readable};

/// The report as text.
pub(super) fn text(report: &Report, colour: Colour) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let result = painted(finding.result, colour);
        // A message may have several lines; each is a finding's of its own, so none does.
        // Painted after the rest was made readable: the paint is what a terminal obeys.
        let message = readable(&finding.message);
        let _ = writeln!(out, "{}: {result}: {message}", finding.place());
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

fn painted(outcome: Outcome, colour: Colour) -> String {
    let word = outcome.as_str();
    let code = match outcome {
        Outcome::Denied | Outcome::Api => "31",
        Outcome::Warned | Outcome::Unverified => "33",
        Outcome::Clean | Outcome::Audited | Outcome::Exempted => "36",
    };
    match colour {
        Colour::On => format!("\u{1b}[1;{code}m{word}\u{1b}[0m"),
        Colour::Off => word.to_owned(),
    }
}

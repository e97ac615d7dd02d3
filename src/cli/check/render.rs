//! A report for people: a line per finding, as compilers print them, and a tally.

use std::fmt::Write as _;

use super::report::{Finding, Outcome, Report};

/// Whether the output may be coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    /// It is a terminal that wants it.
    On,
    /// It is not.
    Off,
}

/// The report as text.
pub(super) fn text(report: &Report, colour: Colour) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let result = painted(finding.result, colour);
        // A message may have several lines; each is a finding's of its own, so none does.
        let _ = writeln!(out, "{}: {result}: {}", place(finding), finding.message);
    }
    for edit in &report.edits {
        let place = edit
            .place
            .clone()
            .unwrap_or_else(|| name(edit.kind, edit.namespace.as_deref(), &edit.name));
        let _ = writeln!(out, "{place}: edited: {}", edit.warning);
    }
    out.push_str(&tally(report));
    out
}

fn place(finding: &Finding) -> String {
    match (&finding.file, finding.line, finding.column) {
        (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        _ => name(finding.kind, finding.namespace.as_deref(), &finding.name),
    }
}

fn name(kind: &str, namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

fn tally(report: &Report) -> String {
    let summary = &report.summary;
    if summary.objects == 0 {
        let others = report.others;
        return format!("no volumes or claims to judge; {} skipped\n", objects(others, "other "));
    }
    let counts = [
        (summary.denied, "denied"),
        (summary.api, "refused by the API server"),
        (summary.unverified, "unverified"),
        (summary.warned, "warned"),
        (summary.exempted, "exempted"),
        (summary.audited, "audited"),
        (summary.clean(), "clean"),
    ];
    let told = counts.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, word)| format!("{count} {word}")).collect();
    let skipped = match report.others {
        0 => String::new(),
        others => format!("; {} skipped", objects(others, "other ")),
    };
    format!("{}: {}{skipped}\n", objects(summary.objects, ""), told.join(", "))
}

fn objects(count: usize, other: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {other}object{plural}")
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

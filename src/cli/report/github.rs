//! A report as workflow commands of GitHub Actions, which become notes on the lines of a pull request.
//!
//! GitHub: "Workflow commands"; `%`, line ends and, in properties, `:` and `,` are escaped.

use std::fmt::Write as _;

use super::{Finding, Report, tally};

/// The report as workflow commands, a line each; the last line is for the log.
pub(super) fn github(report: &Report) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let level = finding.result.by_level("error", "warning", "notice");
        let message = data(&finding.message);
        let _ = writeln!(out, "::{level} {}::{message}", properties(finding));
    }
    for mutation in &report.mutations {
        let title = property(&mutation.object.to_string());
        let _ = writeln!(out, "::notice title={title}::{}", data(&mutation.warning));
    }
    let _ = writeln!(out, "{}", tally(report));
    out
}

fn properties(finding: &Finding) -> String {
    let title = match &finding.rule {
        Some(rule) => format!("{rule}: {}", finding.object),
        None => finding.object.to_string(),
    };
    let mut properties = Vec::new();
    if let Some(file) = &finding.file {
        properties.push(format!("file={}", property(file)));
    }
    if let (Some(line), Some(column)) = (finding.line, finding.column) {
        properties.push(format!("line={line},col={column}"));
    }
    properties.push(format!("title={}", property(&title)));
    properties.join(",")
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

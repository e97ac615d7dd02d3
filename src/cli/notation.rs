//! Reports as JSON, as YAML, and in the cells of a Markdown table.

use serde::Serialize;

use super::exit::Failure;

/// The version of every report that programs read.
pub(super) const API_VERSION: &str = "bindery.dev/v1";

/// The report as indented JSON with an end of line.
pub(super) fn json(report: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(report);
    text.map(|text| text + "\n").map_err(|error| unprintable(&error))
}

/// The report as YAML.
pub(super) fn yaml(report: &impl Serialize) -> Result<String, Failure> {
    serde_saphyr::to_string(report)
        .map(|text| text.trim_end().to_owned() + "\n")
        .map_err(|error| unprintable(&error))
}

/// Text that cannot end a cell of a Markdown table, nor be taken for HTML or for emphasis.
pub(super) fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' => out.push(' '),
            '|' | '*' | '_' | '`' | '<' | '>' | '\\' | '[' | ']' => {
                out.push('\\');
                out.push(character);
            }
            _ => out.push(character),
        }
    }
    out
}

/// The failure to print a report.
pub(super) fn unprintable(error: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("the report cannot be printed: {error}; report this"))
}

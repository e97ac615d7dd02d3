//! Reports in each format, and their way to every output.

use jiff::Timestamp;
use serde::Serialize;

use super::args::{Format, Output};
use super::exit::Failure;
use super::files::Readers;
use super::output::{Colour, deliver, is_standard, readable};

/// The version of every report that programs read.
pub(super) const API_VERSION: &str = "bindery.dev/v1";

/// A report of a command. Its fields are what programs read.
pub(super) trait Render: Serialize {
    /// The report for people, safe for a terminal.
    fn text(&self, colour: Colour) -> String;

    /// The report for people who want to see everything.
    fn wide(&self) -> String;

    /// The report for a comment on a pull request.
    fn markdown(&self) -> String;

    /// The report as one file for a browser, written at `now`.
    fn html(&self, now: Timestamp) -> String;

    /// The report in a format that only some reports have. The arguments of a command admit no other.
    fn special(&self, format: Format) -> Result<String, Failure> {
        Err(unprintable(&format_args!("it has no format {format:?}")))
    }
}

/// Writes the report to every output.
pub(super) fn write(
    report: &impl Render,
    outputs: &[Output],
    colour: Colour,
) -> Result<(), Failure> {
    for Output { format, path } in outputs {
        let colour = if is_standard(path.as_deref()) { colour } else { Colour::Off };
        let text = match format {
            Format::Text => report.text(colour),
            Format::Wide => readable(&report.wide()),
            Format::Json => json(report)?,
            Format::Yaml => yaml(report)?,
            Format::Markdown => readable(&report.markdown()),
            Format::Html => report.html(Timestamp::now()),
            Format::Junit | Format::Sarif | Format::Github => report.special(*format)?,
        };
        deliver(path.as_deref(), &text, Readers::Everybody)?;
    }
    Ok(())
}

/// The value as indented JSON with an end of line.
pub(super) fn json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n").map_err(|error| unprintable(&error))
}

/// The value as YAML.
pub(super) fn yaml(value: &impl Serialize) -> Result<String, Failure> {
    serde_saphyr::to_string(value)
        .map(|text| text.trim_end().to_owned() + "\n")
        .map_err(|error| unprintable(&error))
}

/// The failure to print a report.
pub(super) fn unprintable(error: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("the report cannot be printed: {error}; report this"))
}

//! The format and the destination of an output.

use std::path::PathBuf;

use clap::ValueEnum;

/// One output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its format.
    pub format: Format,
    /// Where it goes; standard output if absent.
    pub path: Option<PathBuf>,
}

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For people who want to see everything.
    Wide,
    /// For programs.
    Json,
    /// The same as YAML.
    Yaml,
    /// For build servers; of findings only.
    Junit,
    /// For code scanning, SARIF 2.1.0; of findings only.
    Sarif,
    /// Workflow commands of GitHub Actions; of findings only.
    Github,
    /// For a comment on a pull request.
    Markdown,
    /// One file for a browser.
    Html,
}

impl Output {
    /// Reads `FORMAT` or `FORMAT=PATH`, in any format.
    pub(super) fn of_findings(text: &str) -> Result<Self, String> {
        Self::read(text, Format::value_variants())
    }

    /// Reads `FORMAT` or `FORMAT=PATH`, in a format that every report has.
    pub(super) fn of_any_report(text: &str) -> Result<Self, String> {
        use Format::{Html, Json, Markdown, Text, Wide, Yaml};
        Self::read(text, &[Text, Wide, Json, Yaml, Markdown, Html])
    }

    /// Reads `FORMAT` or `FORMAT=PATH`, in a format that every list has.
    pub(super) fn of_list(text: &str) -> Result<Self, String> {
        Self::read(text, &[Format::Text, Format::Json, Format::Yaml, Format::Html])
    }

    fn read(text: &str, known: &[Format]) -> Result<Self, String> {
        let (format, path) = match text.split_once('=') {
            Some((_, "")) => return Err("a path must follow '='".to_owned()),
            Some((format, path)) => (format, Some(PathBuf::from(path))),
            None => (text, None),
        };
        let found = Format::from_str(format, false).ok().filter(|format| known.contains(format));
        let format = found.ok_or_else(|| {
            let values = known.iter().filter_map(ValueEnum::to_possible_value);
            let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
            let names = names.join(", ");
            let (others, last) = names.rsplit_once(", ").unwrap_or_default();
            format!("known formats are {others} and {last}")
        })?;
        Ok(Self { format, path })
    }
}

//! The format and the destination of an output.

use std::path::PathBuf;

use clap::ValueEnum;

/// One output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output<F> {
    /// Its format.
    pub format: F,
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
    /// For build servers.
    Junit,
    /// For code scanning, SARIF 2.1.0.
    Sarif,
    /// Workflow commands of GitHub Actions.
    Github,
    /// For a comment on a pull request.
    Markdown,
}

/// The format of a plan or an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// For people.
    Text,
    /// For people who want to see everything.
    Wide,
    /// For programs.
    Json,
    /// The same as YAML.
    Yaml,
    /// For a comment on a pull request.
    Markdown,
}

impl<F: ValueEnum> std::str::FromStr for Output<F> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, path) = match text.split_once('=') {
            Some((_, "")) => return Err("a path must follow '='".to_owned()),
            Some((format, path)) => (format, Some(PathBuf::from(path))),
            None => (text, None),
        };
        let format = F::from_str(format, false).map_err(|_| known::<F>())?;
        Ok(Self { format, path })
    }
}

/// The sentence that lists the formats.
fn known<F: ValueEnum>() -> String {
    let forms = F::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let names: Vec<String> = forms.map(|form| form.get_name().to_owned()).collect();
    match names.split_last() {
        Some((last, others)) => format!("known formats are {} and {last}", others.join(", ")),
        None => "no format is known".to_owned(),
    }
}

//! The report of a check or a scan: a public, versioned contract, and its forms.
//!
//! Every form is a rendering of this value, a file each. Fields are only ever added.

mod enforcement;
mod github;
mod html;
mod junit;
mod phrases;
mod sarif;
mod text;

use std::fmt;
use std::ops::Range;

use serde::Serialize;
use serde_json::Value;

pub(in crate::cli) use self::enforcement::Enforcement;
use super::args::{FailOn, Format, InstalledPolicies, Output};
use super::exit::{Exit, Failure};
use super::input::object_id::ObjectId;
use super::output::{Colour, eprint_line, is_standard, one_line};
use super::render;

/// Rejects two outputs to standard output.
pub(in crate::cli) fn reject_collisions(outputs: &[Output]) -> Result<(), Failure> {
    if outputs.iter().filter(|output| is_standard(output.path.as_deref())).count() > 1 {
        return Err(Failure::usage(
            "two outputs go to standard output; send one to a file, as in -o json=report.json",
        ));
    }
    Ok(())
}

/// Writes the report to every output.
pub(in crate::cli) fn write(
    report: &Report,
    outputs: &[Output],
    colour: Colour,
) -> Result<(), Failure> {
    render::write(report, outputs, colour)?;
    let silent = outputs.iter().all(|output| output.format != Format::Text);
    if silent && report.summary.objects == 0 {
        // The formats for programs have no place for this sentence.
        eprint_line(&tally(report));
    }
    Ok(())
}

/// The result of a finding, by increasing severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum FindingResult {
    /// Nothing to say.
    Clean,
    /// Counted and logged.
    Audited,
    /// It passes because of an exemption.
    Exempted,
    /// It passes with a warning.
    Warned,
    /// It depends on what is not known.
    Unverified,
    /// The API server itself will deny it.
    Api,
    /// The webhook will deny it.
    Denied,
}

impl FindingResult {
    /// Returns whether the change will be denied.
    pub(in crate::cli) fn is_denial(self) -> bool {
        self >= Self::Api
    }

    /// The value for an error, for a warning or for a note, as the result is one.
    fn by_level<T>(self, error: T, warning: T, note: T) -> T {
        match self {
            Self::Denied | Self::Api => error,
            Self::Warned | Self::Unverified => warning,
            Self::Clean | Self::Audited | Self::Exempted => note,
        }
    }
}

impl fmt::Display for FindingResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The whole report.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Report {
    /// `bindery.dev/v1`.
    pub api_version: &'static str,
    /// `Report`.
    pub kind: &'static str,
    /// Where live objects came from, if any were given.
    pub live: Option<LiveSource>,
    /// The findings, in the order of the input.
    pub findings: Vec<Finding>,
    /// What the webhook would mutate, in the order of the input.
    pub mutations: Vec<MutationEntry>,
    /// Objects by their gravest result; an object is clean if it is in none.
    pub summary: ResultCounts,
    /// Objects that could not be read, with what to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The objects that were judged, in the order of the input, of a scan those with findings; no part of
    /// the contract.
    #[serde(skip)]
    pub objects: Vec<JudgedObject>,
    /// How many objects of other kinds the input had; no part of the contract.
    #[serde(skip)]
    pub others: usize,
}

impl Report {
    /// Has its findings name who enforces them where these policies are installed.
    pub(in crate::cli) fn with_policies(mut self, policies: Option<InstalledPolicies>) -> Self {
        for finding in &mut self.findings {
            finding.enforced_by = Enforcement::installed(&finding.enforced_by, policies);
        }
        self
    }
}

/// Where live objects came from.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct LiveSource {
    /// The files, or `cluster`.
    pub source: String,
    /// How old they are, in seconds.
    pub age: u64,
}

/// An object as reports name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(in crate::cli) struct ReportedObject {
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace, if its kind has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl From<&ObjectId> for ReportedObject {
    fn from(id: &ObjectId) -> Self {
        let namespace = id.kind.is_namespaced().then(|| id.namespace.clone());
        Self { kind: id.kind.name(), namespace, name: id.name.clone() }
    }
}

impl fmt::Display for ReportedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name } = self;
        // A manifest may be called anything.
        f.write_str(&one_line(&match namespace {
            Some(namespace) => format!("{kind} {namespace}/{name}"),
            None => format!("{kind} {name}"),
        }))
    }
}

/// A finding on one object.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct Finding {
    /// Its result.
    pub result: FindingResult,
    /// The rule, where one speaks.
    pub rule: Option<String>,
    /// The object.
    #[serde(flatten)]
    pub object: ReportedObject,
    /// CREATE, UPDATE or DELETE.
    pub operation: &'static str,
    /// The message of the webhook.
    pub message: String,
    /// The offending field, as a path from the root.
    pub field: Option<String>,
    /// The file, where the object came from one.
    pub file: Option<String>,
    /// The line of the field in it.
    pub line: Option<u32>,
    /// The column of the field in it.
    pub column: Option<u32>,
    /// Where the object stands in rendered text, if `file` is the template that it was rendered from; no
    /// line of that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendered: Option<Rendered>,
    /// What to do.
    pub fix: Option<String>,
    /// The exemption that let it pass.
    pub exempt: Option<Exempt>,
    /// Who denies the change, or warns of it; nothing of an object that exists.
    #[serde(rename = "enforcedBy", skip_serializing_if = "Vec::is_empty")]
    pub enforced_by: Vec<Enforcement>,
    /// What is at stake with an existing object.
    #[serde(flatten)]
    pub standing: Option<AtStake>,
}

/// A place in rendered text.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct Rendered {
    /// The file, or `stdin`.
    pub file: String,
    /// The line of the field in it.
    pub line: u32,
    /// The column of the field in it.
    pub column: u32,
}

/// What is at stake with an existing object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct AtStake {
    /// `high` if the rule denies, `medium` if it warns, `low` if it audits.
    pub severity: &'static str,
    /// How old the object is, in seconds; nothing if it does not say.
    pub age: Option<u64>,
    /// The size of the volume that it is, or that it has.
    pub bytes: Option<String>,
    /// Its StorageClass; of a claim with a volume that of the volume.
    pub class: Option<String>,
    /// Of a claim its volume; of a volume the claim that it is reserved for, as `NAMESPACE/NAME`.
    pub partner: Option<String>,
    /// Its phase.
    pub phase: Option<String>,
}

/// One object that was judged.
#[derive(Clone, Debug)]
pub(in crate::cli) struct JudgedObject {
    /// The object.
    pub object: ReportedObject,
    /// CREATE, UPDATE or DELETE.
    pub operation: &'static str,
    /// The file, where the object came from one.
    pub file: Option<String>,
    /// Which of the findings are about it.
    pub findings: Range<usize>,
}

/// An exemption.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct Exempt {
    /// When it ends, RFC 3339.
    pub until: String,
    /// Why it was given.
    pub reason: String,
}

/// One mutation.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct MutationEntry {
    /// The mutation's id.
    pub mutation: &'static str,
    /// The object.
    #[serde(flatten)]
    pub object: ReportedObject,
    /// The JSON Patch.
    pub patch: Value,
    /// The warning to the requester; no part of the contract.
    #[serde(skip)]
    pub warning: String,
    /// Where the object came from; no part of the contract.
    #[serde(skip)]
    pub place: Option<String>,
}

/// How many objects were judged, by their gravest result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(in crate::cli) struct ResultCounts {
    /// All that were judged.
    pub objects: usize,
    /// Denied by the webhook.
    pub denied: usize,
    /// Passing with a warning.
    pub warned: usize,
    /// Counted and logged.
    pub audited: usize,
    /// Passing under an exemption.
    pub exempted: usize,
    /// Denied by the API server.
    pub api: usize,
    /// Depending on what is not known.
    pub unverified: usize,
}

impl ResultCounts {
    /// Counts one object by its gravest result.
    pub(in crate::cli) fn count(&mut self, outcome: FindingResult) {
        self.objects += 1;
        match outcome {
            FindingResult::Clean => {}
            FindingResult::Audited => self.audited += 1,
            FindingResult::Exempted => self.exempted += 1,
            FindingResult::Warned => self.warned += 1,
            FindingResult::Unverified => self.unverified += 1,
            FindingResult::Api => self.api += 1,
            FindingResult::Denied => self.denied += 1,
        }
    }

    /// The exit code for these counts; `fail_on` are the results that fail a run by themselves.
    pub(in crate::cli) fn exit(&self, fail_on: &[FailOn]) -> Exit {
        let fails = |count: usize, on| count > 0 && fail_on.contains(&on);
        if self.denied + self.api > 0 {
            Exit::Denied
        } else if fails(self.warned, FailOn::Warn) || fails(self.unverified, FailOn::Unverified) {
            Exit::FailOn
        } else {
            Exit::Clean
        }
    }

    /// Returns how many have no findings.
    pub(in crate::cli) fn clean(&self) -> usize {
        let said = self.denied + self.warned + self.audited + self.exempted + self.api;
        self.objects.saturating_sub(said + self.unverified)
    }
}

impl Finding {
    /// Returns where to look: `FILE:LINE:COLUMN`, the file that it was rendered from, or the object itself.
    fn place(&self) -> String {
        let place = match (&self.file, self.line, self.column, &self.rendered) {
            (Some(file), _, _, Some(rendered)) => {
                let Rendered { file: text, line, column } = rendered;
                format!("{file} ({text}:{line}:{column})")
            }
            (Some(file), Some(line), Some(column), None) => format!("{file}:{line}:{column}"),
            _ => self.object.to_string(),
        };
        one_line(&place)
    }
}

/// The counts: one sentence without full stop.
fn tally(report: &Report) -> String {
    let summary = &report.summary;
    let skipped = match report.others {
        0 => String::new(),
        others => format!("; {} skipped", objects(others, "other ")),
    };
    if summary.objects == 0 {
        return format!("no PersistentVolumes or PersistentVolumeClaims to judge{skipped}");
    }
    let counts = [
        (summary.denied, "denied"),
        (summary.api, "denied by the API server"),
        (summary.unverified, "unverified"),
        (summary.warned, "warned"),
        (summary.exempted, "exempted"),
        (summary.audited, "audited"),
        (summary.clean(), "clean"),
    ];
    let words = counts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = words.map(|(count, word)| format!("{count} {word}")).collect();
    format!("{}: {}{skipped}", objects(summary.objects, ""), words.join(", "))
}

fn objects(count: usize, other: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {other}object{plural}")
}

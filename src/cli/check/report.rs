//! The report of a check: a public, versioned contract.
//!
//! Every output is a rendering of this value. Fields are only ever added.

use serde::Serialize;
use serde_json::Value;

/// What a change comes to, from the harmless to the grave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    /// Nothing to say.
    Clean,
    /// Counted and logged.
    Audited,
    /// It passes because somebody said so beforehand.
    Exempted,
    /// It passes with a warning.
    Warned,
    /// It depends on what is not known.
    Unverified,
    /// The API server itself will refuse it.
    Api,
    /// The webhook will refuse it.
    Denied,
}

impl Outcome {
    /// The spelling in reports.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Audited => "audited",
            Self::Exempted => "exempted",
            Self::Warned => "warned",
            Self::Unverified => "unverified",
            Self::Api => "api",
            Self::Denied => "denied",
        }
    }
}

/// The whole report.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    /// `bindery.dev/v1`.
    pub api_version: &'static str,
    /// `Report`.
    pub kind: &'static str,
    /// Where live objects came from, if any were given.
    pub live: Option<LiveSource>,
    /// What is to be said, in the order of the input.
    pub findings: Vec<Finding>,
    /// What the webhook would edit, in the order of the input.
    pub edits: Vec<EditEntry>,
    /// Objects by their gravest result; an object is clean if it is in none.
    pub summary: Summary,
    /// How many objects of other kinds the input had; no part of the contract.
    #[serde(skip)]
    pub others: usize,
}

/// Where live objects came from.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LiveSource {
    /// The files, or `cluster`.
    pub source: String,
    /// How old they are, in seconds.
    pub age: u64,
}

/// One thing to say about one object.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Finding {
    /// What it comes to.
    pub result: Outcome,
    /// The rule, where one speaks.
    pub rule: Option<String>,
    /// The object's kind.
    pub kind: &'static str,
    /// The object's namespace, if its kind has one.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
    /// CREATE, UPDATE or DELETE.
    pub operation: &'static str,
    /// The sentence that the webhook would say.
    pub message: String,
    /// The offending field, as a path from the root.
    pub field: Option<String>,
    /// The file, where the object came from one.
    pub file: Option<String>,
    /// The line of the field in it.
    pub line: Option<u32>,
    /// The column of the field in it.
    pub column: Option<u32>,
    /// What to do.
    pub fix: Option<String>,
    /// The exemption that let it pass.
    pub exempt: Option<Exempt>,
}

/// An exemption.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Exempt {
    /// When it ends, RFC 3339.
    pub until: String,
    /// Why it was given.
    pub reason: String,
}

/// One edit.
#[derive(Clone, Debug, Serialize)]
pub(super) struct EditEntry {
    /// The repair's id.
    pub edit: &'static str,
    /// The object's kind.
    pub kind: &'static str,
    /// The object's namespace, if its kind has one.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
    /// The JSON Patch.
    pub patch: Value,
    /// What the asker is told; no part of the contract.
    #[serde(skip)]
    pub warning: String,
    /// Where the object came from; no part of the contract.
    #[serde(skip)]
    pub place: Option<String>,
}

/// How many objects were judged, and what they came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Summary {
    /// All that were judged.
    pub objects: usize,
    /// Refused by the webhook.
    pub denied: usize,
    /// Passing with a warning.
    pub warned: usize,
    /// Counted and logged.
    pub audited: usize,
    /// Passing under an exemption.
    pub exempted: usize,
    /// Refused by the API server.
    pub api: usize,
    /// Depending on what is not known.
    pub unverified: usize,
}

impl Summary {
    /// Counts one object by its gravest result.
    pub(super) fn count(&mut self, outcome: Outcome) {
        self.objects += 1;
        match outcome {
            Outcome::Clean => {}
            Outcome::Audited => self.audited += 1,
            Outcome::Exempted => self.exempted += 1,
            Outcome::Warned => self.warned += 1,
            Outcome::Unverified => self.unverified += 1,
            Outcome::Api => self.api += 1,
            Outcome::Denied => self.denied += 1,
        }
    }

    /// How many had nothing said about them.
    pub(super) fn clean(&self) -> usize {
        let said = self.denied + self.warned + self.audited + self.exempted + self.api;
        self.objects.saturating_sub(said + self.unverified)
    }
}

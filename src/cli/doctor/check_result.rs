//! The result of one check of an installation.

use serde::Serialize;

use crate::cli::output::one_line;

/// The result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CheckOutcome {
    /// It is as it should be.
    Good,
    /// It needs a fix.
    Bad,
    /// It could not be checked.
    Unknown,
}

/// One check.
#[derive(Debug, Serialize)]
pub(super) struct CheckResult {
    pub(super) check: &'static str,
    pub(super) outcome: CheckOutcome,
    pub(super) text: String,
}

impl CheckResult {
    pub(super) fn good(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, outcome: CheckOutcome::Good, text: text.into() }
    }

    pub(super) fn bad(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, outcome: CheckOutcome::Bad, text: text.into() }
    }

    pub(super) fn unknown(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, outcome: CheckOutcome::Unknown, text: text.into() }
    }

    pub(super) fn line(&self) -> String {
        let mark = match self.outcome {
            CheckOutcome::Good => "ok     ",
            CheckOutcome::Bad => "BAD    ",
            CheckOutcome::Unknown => "unknown",
        };
        one_line(&format!("{mark} {}: {}", self.check, self.text)) + "\n"
    }
}

//! One write of a manifest, as `check` judges it: for commands that show what comes after it.

use serde_json::Value;

use super::change::{JudgeContext, ProposedChange, judge_proposal};
use super::failure::unreviewable;
use super::findings::{FindingSubject, of_api, of_verdict};
use crate::cli::exit::Failure;
use crate::cli::input::object_id::ObjectId;
use crate::cli::report::{Finding, FindingResult};
use crate::rules::{Part, Ruling, User};

/// The result of writing an object.
#[derive(Debug)]
pub(in crate::cli) enum WriteResult {
    /// It is stored.
    Stored {
        /// With every mutation.
        object: Value,
        /// Whether there was one.
        is_mutated: bool,
    },
    /// It is denied, for this reason.
    Denied(String),
}

/// Judges the write of `object`, which has the defaults of the API server, in the place of `old` if that is stored.
/// A finding that depends on an object that was not read denies nothing.
pub(in crate::cli) fn write(
    key: &ObjectId,
    old: Option<Value>,
    object: Value,
    terms: JudgeContext<'_>,
) -> Result<WriteResult, Failure> {
    let user = User { name: String::new(), groups: Vec::new() };
    let (key, new) = (key.clone(), Some(object.clone()));
    let proposal = ProposedChange { key, old, new, part: Part::Main, user };
    let about =
        FindingSubject { key: &proposal.key, operation: proposal.operation(), origin: None };
    if let Some(denial) = of_api(&proposal, terms.known, about).into_iter().next() {
        return Ok(WriteResult::Denied(denial.message));
    }
    let judged = judge_proposal(&proposal, terms)
        .map_err(|error| unreviewable(&error, &proposal.key.to_string()))?;
    let is_denial = |finding: &Finding| finding.result == FindingResult::Denied;
    let found = of_verdict(&judged, terms.known, about, Ruling::message);
    Ok(match found.into_iter().find(is_denial) {
        Some(denial) => WriteResult::Denied(denial.message),
        None => WriteResult::Stored {
            object: judged.result.unwrap_or(object),
            is_mutated: !judged.mutations.is_empty(),
        },
    })
}

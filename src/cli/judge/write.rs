//! One write of a manifest, as `check` judges it: for commands that show what comes after it.

use serde_json::Value;

use super::change::{Proposal, Terms, judge_proposal};
use super::failure::unreviewable;
use super::findings::{About, of_api, of_verdict};
use crate::cli::exit::Failure;
use crate::cli::input::object_id::ObjectKey;
use crate::cli::report::{Finding, Outcome};
use crate::rules::{Part, User};

/// What the write of an object comes to.
#[derive(Debug)]
pub(in crate::cli) enum Write {
    /// It is stored.
    Stored {
        /// With every edit.
        object: Value,
        /// Whether there was one.
        is_edited: bool,
    },
    /// It is denied, for this reason.
    Denied(String),
}

/// Judges the write of `object`, which has the defaults of the API server, in the place of `old` if that is stored.
/// What rests on something that nobody has read denies nothing.
pub(in crate::cli) fn write(
    key: &ObjectKey,
    old: Option<Value>,
    object: Value,
    terms: Terms<'_>,
) -> Result<Write, Failure> {
    let user = User { name: String::new(), groups: Vec::new() };
    let (key, new) = (key.clone(), Some(object.clone()));
    let proposal = Proposal { key, old, new, part: Part::Main, user };
    let about = About { key: &proposal.key, operation: proposal.operation(), origin: None };
    if let Some(refusal) = of_api(&proposal, terms.known, about).into_iter().next() {
        return Ok(Write::Denied(refusal.message));
    }
    let judged = judge_proposal(&proposal, terms)
        .map_err(|error| unreviewable(&error, &proposal.key.to_string()))?;
    let is_denial = |finding: &Finding| finding.result == Outcome::Denied;
    let found = of_verdict(&judged, terms.known, about);
    Ok(match found.into_iter().find(is_denial) {
        Some(denial) => Write::Denied(denial.message),
        None => Write::Stored {
            object: judged.result.unwrap_or(object),
            is_edited: !judged.edits.is_empty(),
        },
    })
}

//! Exemptions: an annotation on a volume that lets one rule pass for a time, with a reason.
//!
//! Claims carry none, because tenants write claims. Break-glass, which skips all rules, is a
//! matter of the registration: see `filter`.

use jiff::{SignedDuration, Timestamp};

use super::change::{Change, Subject, Transition};
use super::rule::{Exemptable, Rule};
use crate::binding::{Evidence, Read};
use crate::model::Volume;
use crate::model::annotations::ALLOW_PREFIX;

/// A valid exemption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exemption {
    /// When it ends.
    pub until: Timestamp,
    /// Why it was given.
    pub reason: String,
}

/// Why the text of an exemption counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExemptionError {
    /// There is no time, or it is not RFC 3339.
    #[error("it must begin with a time like 2030-01-31T18:00:00Z")]
    Time,
    /// There is no reason.
    #[error("a reason must follow the time")]
    Reason,
    /// The time has passed.
    #[error("its time has passed")]
    Expired,
    /// The time is too far ahead.
    #[error("its time is more than {0} hours ahead")]
    TooFar(i64),
}

impl Exemption {
    /// Reads `<RFC 3339 time> <reason>`.
    pub fn parse(
        text: &str,
        now: Timestamp,
        longest: SignedDuration,
    ) -> Result<Self, ExemptionError> {
        let (time, reason) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let until: Timestamp = time.parse().map_err(|_| ExemptionError::Time)?;
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(ExemptionError::Reason);
        }
        if until <= now {
            return Err(ExemptionError::Expired);
        }
        if until.duration_since(now) > longest {
            return Err(ExemptionError::TooFar(longest.as_hours()));
        }
        Ok(Self { until, reason: reason.to_owned() })
    }
}

/// The exemption from `rule` that the change's volume carries.
///
/// An update or deletion reads it from the stored volume only, so that an earlier request must have
/// put it there; a claim's request reads it from the volume that the claim names.
pub fn find(
    rule: &Rule,
    change: &Change,
    evidence: &Evidence<'_>,
    (now, longest): (Timestamp, SignedDuration),
) -> Option<Exemption> {
    let volume = carrier(change, evidence)?;
    let text = volume.annotations.get(&format!("{ALLOW_PREFIX}{}", rule.id))?;
    Exemption::parse(text, now, longest).ok()
}

/// Warnings about exemptions that this change writes and that would count for nothing.
pub fn warnings(
    rules: &[&'static Rule],
    change: &Change,
    (now, longest): (Timestamp, SignedDuration),
) -> Vec<String> {
    let Some(volume) = change.volume().and_then(Transition::proposed) else { return Vec::new() };
    let stored = change.volume().and_then(Transition::stored);
    let written = volume.annotations.with_prefix(ALLOW_PREFIX).filter(|(key, value)| {
        stored.is_none_or(|stored| stored.annotations.get(key) != Some(value))
    });
    let explain = |(key, value): (&str, &str)| {
        let id = key.strip_prefix(ALLOW_PREFIX).unwrap_or_default();
        let why = match rules.iter().find(|rule| rule.id == id) {
            None => "there is no such rule".to_owned(),
            Some(rule) if rule.exemption == Exemptable::No => {
                "this rule knows no exemption".to_owned()
            }
            Some(_) => Exemption::parse(value, now, longest).err()?.to_string(),
        };
        Some(format!("annotation {key} exempts from nothing: {why}"))
    };
    written.filter_map(explain).collect()
}

/// The read that shows whether a claim's request is exempt: the volume that the claim names.
pub fn read(change: &Change) -> Option<Read> {
    let Subject::Claim(transition) = &change.subject else { return None };
    transition.latest().volume.clone().map(Read::Volume)
}

fn carrier<'a>(change: &'a Change, evidence: &Evidence<'a>) -> Option<&'a Volume> {
    match &change.subject {
        Subject::Volume(Transition::Create(volume)) => Some(volume),
        Subject::Volume(transition) => transition.stored(),
        Subject::Claim(transition) => {
            let name = transition.latest().volume.as_ref()?;
            evidence.volume(name).present()
        }
    }
}

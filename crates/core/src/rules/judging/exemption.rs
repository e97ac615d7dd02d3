//! Exemptions: an annotation on a volume that lets one rule pass for a time, with a reason.
//!
//! Claims carry none, because tenants write claims. Break-glass, which skips all rules, is a
//! matter of the registration: see `filter`.

use jiff::{SignedDuration, Timestamp};

use super::change::{Change, ChangedObject, Transition};
use super::policy::ConfiguredExemption;
use super::question::Question;
use super::rule::{Exemptable, ExemptedBy, Rule};
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

/// The most warnings about exemptions without effect. 16: the API server cuts all warnings of an answer once they
/// have 4,096 characters, which are 16 of the longest.
const WARNINGS_MAX: usize = 16;

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

/// The exemption from `rule`: the one that the change's volume carries, or else one of the configuration.
///
/// An update or deletion reads it from the stored volume only, so that an earlier request must have
/// put it there; a claim's request reads it from the volume that the claim names.
pub fn find(rule: &Rule, question: Question<'_>, evidence: &Evidence<'_>) -> Option<Exemption> {
    let Question { change, policy, now, .. } = question;
    let carried = carrier(change, evidence)
        .and_then(|volume| of_volume(rule, volume, (now, policy.longest_exemption)));
    carried.or_else(|| configured(rule, question))
}

/// The exemption from `rule` that the configuration gives.
pub(super) fn configured(rule: &Rule, question: Question<'_>) -> Option<Exemption> {
    let Question { change, policy, now, .. } = question;
    let mut given = policy.exemptions.iter().filter(|_| rule.options.exemption == Exemptable::Yes);
    let found = given.find(|one| one.until > now && covers(one, rule, change));
    found.map(|one| Exemption { until: one.until, reason: one.reason.clone() })
}

/// The exemptions that a volume carries and that count now, in the order of the rules.
pub fn carried(
    rules: &[&'static Rule],
    volume: &Volume,
    (now, longest): (Timestamp, SignedDuration),
) -> Vec<(&'static Rule, Exemption)> {
    if volume.annotations.with_prefix(ALLOW_PREFIX).next().is_none() {
        return Vec::new();
    }
    let carries = |rule: &&'static Rule| Some((*rule, of_volume(rule, volume, (now, longest))?));
    rules.iter().filter_map(carries).collect()
}

/// The exemption from `rule` that a volume carries and that counts now.
fn of_volume(
    rule: &Rule,
    volume: &Volume,
    (now, longest): (Timestamp, SignedDuration),
) -> Option<Exemption> {
    let text = volume.annotations.get(&format!("{ALLOW_PREFIX}{}", rule.id));
    let text = text.filter(|_| rule.exempted_by() == ExemptedBy::Volume)?;
    Exemption::parse(text, now, longest).ok()
}

fn covers(exemption: &ConfiguredExemption, rule: &Rule, change: &Change) -> bool {
    let has = |names: &[String], name: &str| names.iter().any(|other| other == name);
    let in_namespace = || change.namespace().is_some_and(|name| has(&exemption.namespaces, name));
    has(&exemption.rules, rule.id)
        && (exemption.namespaces.is_empty() || in_namespace())
        && (exemption.users.is_empty() || has(&exemption.users, &change.user.name))
}

/// Warnings about exemptions that this change writes and that would count for nothing.
pub fn warnings(
    rules: &[&'static Rule],
    change: &Change,
    (now, longest): (Timestamp, SignedDuration),
) -> Vec<String> {
    let changed = change.volume().and_then(Transition::written);
    let Some((stored, volume)) = changed else { return Vec::new() };
    let written = volume.annotations.with_prefix(ALLOW_PREFIX).filter(|(key, value)| {
        stored.is_none_or(|stored| stored.annotations.get(key) != Some(value))
    });
    let explain = |(key, value): (&str, &str)| {
        let why = why_without_effect(rules, (key, value), (now, longest))?;
        Some(format!("annotation {key} has no effect: {why}"))
    };
    written.filter_map(explain).take(WARNINGS_MAX).collect()
}

/// Why the annotation of a volume under this key, with this value, exempts from nothing now; nothing if it does.
pub fn why_without_effect(
    rules: &[&'static Rule],
    (key, value): (&str, &str),
    (now, longest): (Timestamp, SignedDuration),
) -> Option<String> {
    let id = key.strip_prefix(ALLOW_PREFIX).unwrap_or_default();
    let Some(rule) = rules.iter().find(|rule| rule.id == id) else {
        return Some("no such rule exists".to_owned());
    };
    match rule.exempted_by() {
        ExemptedBy::Nothing => Some("this rule has no exemption".to_owned()),
        ExemptedBy::Namespace | ExemptedBy::Cluster => {
            Some("only the configuration exempts from this rule".to_owned())
        }
        ExemptedBy::Volume => {
            Exemption::parse(value, now, longest).err().map(|error| error.to_string())
        }
    }
}

/// The read that shows whether a claim's request is exempt: the volume that the claim names.
pub fn read(change: &Change) -> Option<Read> {
    let ChangedObject::Claim(transition) = &change.subject else { return None };
    transition.latest().volume.clone().map(Read::Volume)
}

fn carrier<'a>(change: &'a Change, evidence: &Evidence<'a>) -> Option<&'a Volume> {
    match &change.subject {
        ChangedObject::Volume(Transition::Create(volume)) => Some(volume),
        ChangedObject::Volume(transition) => transition.stored(),
        ChangedObject::Claim(transition) => {
            let name = transition.latest().volume.as_ref()?;
            evidence.volume(name).present()
        }
        ChangedObject::Namespace(_)
        | ChangedObject::Class(_)
        | ChangedObject::Attachment(_)
        | ChangedObject::Node(_)
        | ChangedObject::Driver(_)
        | ChangedObject::SnapshotContent(_) => None,
    }
}

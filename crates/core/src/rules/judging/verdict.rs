//! A verdict: what became of each violation in a change.
//!
//! The wire form and every report are renderings of it.

use std::collections::BTreeSet;
use std::fmt;

use super::exemption::Exemption;
use super::policy::Policy;
use super::rule::{Exemptable, Mode, Rule};
use super::violation::{Violation, Weight};
use crate::binding::Read;

/// The result for a change. It is denied if one of its rulings denies.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// One ruling per violation, in the order of the rules.
    pub rulings: Vec<Ruling>,
    /// Warnings about the annotations of exemptions in the object itself.
    pub exemption_warnings: Vec<String>,
}

/// One violation and what became of it.
#[derive(Clone, Debug)]
pub struct Ruling {
    /// The rule.
    pub rule: &'static Rule,
    /// The violation.
    pub violation: Violation,
    /// What became of it.
    pub effect: Effect,
    /// How a denial can be overridden, if the user may know.
    pub exemption_hint: ExemptionHint,
}

impl Ruling {
    /// The violation, followed by the line that overrides its denial.
    pub fn message(&self) -> String {
        match self.override_line() {
            Some(line) => format!("{self}\n{line}"),
            None => self.to_string(),
        }
    }

    /// Returns how to override a denial, as a line of its own.
    fn override_line(&self) -> Option<String> {
        let id = self.rule.reported_id();
        let line = match &self.exemption_hint {
            _ if self.effect != Effect::Denied => return None,
            ExemptionHint::Trust { account, driver } => format!(
                "If \"{account}\" is the provisioner of \"{driver}\", add it to trusted.provisioners in \
                 Bindery's configuration"
            ),
            ExemptionHint::None => return None,
            _ if self.rule.options.exemption == Exemptable::No => return None,
            ExemptionHint::AnnotateStored(name) => format!(
                "To override: kubectl annotate pv {name} allow.bindery.dev/{id}=\"<until> <reason>\", then retry"
            ),
            ExemptionHint::AnnotateNew => format!(
                "To override: add the annotation allow.bindery.dev/{id}: \"<until> <reason>\" to the PV"
            ),
        };
        // It quotes names of objects and accounts.
        Some(line.replace(char::is_control, " "))
    }
}

/// What becomes of a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The change is denied.
    Denied,
    /// The change passes with a warning.
    Warned,
    /// The change passes; counted and logged.
    Audited,
    /// The change passes because of an exemption.
    Exempted(Exemption),
    /// The change passes because what it rests on could not be read in time.
    Unconfirmed,
}

impl Effect {
    /// The spelling in logs, metrics and reports.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Warned => "warned",
            Self::Audited => "audited",
            Self::Exempted(_) => "exempted",
            Self::Unconfirmed => "unconfirmed",
        }
    }
}

/// How a denial can be overridden. Only administrators learn it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExemptionHint {
    /// Nothing is said: the request is a tenant's, or the rule knows no exemption.
    None,
    /// Annotate the stored volume of this name first.
    AnnotateStored(String),
    /// Put the annotation into the new volume.
    AnnotateNew,
    /// Configure the account as a provisioner, if it is one.
    Trust {
        /// The user name of the account.
        account: String,
        /// The driver whose provisioner it says it is.
        driver: String,
    },
}

/// A verdict, and what would have to be read live before it may be given.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// Reads to make; empty when the verdict stands.
    pub reads: Vec<Read>,
    /// The verdict on what is known.
    pub verdict: Verdict,
}

impl Verdict {
    /// Returns whether the change passes.
    pub fn is_allowed(&self) -> bool {
        self.rulings.iter().all(|ruling| ruling.effect != Effect::Denied)
    }

    /// The same, but a violation that would deny and could not be confirmed denies: for an endpoint that fails closed.
    pub fn closed(mut self, policy: &Policy) -> Self {
        for ruling in &mut self.rulings {
            let is_unread = ruling.effect == Effect::Unconfirmed;
            let is_full = ruling.violation.weight == Weight::Full;
            if is_unread && is_full && policy.mode(ruling.rule) == Mode::Deny {
                ruling.effect = Effect::Denied;
            }
        }
        self
    }

    /// The text of a denial: every violation on a line, each followed by the line that overrides it; empty if the
    /// change passes.
    pub fn denial(&self) -> String {
        let denied = self.rulings.iter().filter(|ruling| ruling.effect == Effect::Denied);
        denied.map(Ruling::message).collect::<Vec<String>>().join("\n")
    }

    /// The warnings that go with a change, denied or not.
    pub fn warnings(&self) -> Vec<String> {
        let text_of = |ruling: &Ruling| match &ruling.effect {
            Effect::Warned => Some(ruling.to_string()),
            Effect::Exempted(exemption) => {
                let text = format!("exempt from {} until {}", ruling.rule.id, exemption.until);
                // An administrator wrote the reason on a volume; it is not for tenants.
                Some(match ruling.exemption_hint {
                    ExemptionHint::None => text,
                    ExemptionHint::AnnotateStored(_)
                    | ExemptionHint::AnnotateNew
                    | ExemptionHint::Trust { .. } => {
                        format!("{text}: {}", exemption.reason)
                    }
                })
            }
            Effect::Denied | Effect::Audited | Effect::Unconfirmed => None,
        };
        let rulings = self.rulings.iter().filter_map(text_of);
        let exemptions = self.exemption_warnings.iter().cloned();
        let texts = rulings.chain(self.unconfirmed()).chain(exemptions);
        texts.map(|text| warning(&text)).collect()
    }
}

impl Verdict {
    /// Returns what is said of the rules that could not be checked: once for all of them.
    fn unconfirmed(&self) -> Option<String> {
        let is_unconfirmed = |ruling: &&Ruling| ruling.effect == Effect::Unconfirmed;
        let unconfirmed = self.rulings.iter().filter(is_unconfirmed);
        let ids: BTreeSet<&str> = unconfirmed.map(|ruling| ruling.rule.reported_id()).collect();
        let mut ids = ids.into_iter();
        let first = ids.next()?;
        let others: Vec<&str> = ids.collect();
        // The others come last: what is too long is cut at its end.
        let others = if others.is_empty() {
            String::new()
        } else {
            format!("; the same holds for {}", others.join(", "))
        };
        Some(format!(
            "[{first}] could not be checked, because the cluster could not be read; check it \
             yourself{others}"
        ))
    }
}

/// Kubernetes: a warning travels in a header. The API server drops one with control characters, and
/// cuts all of them at this length once they are many.
const WARNING_CHARS_MAX: usize = 256;

/// The text as a warning: one line of at most 256 characters.
pub(super) fn warning(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    if text.chars().nth(WARNING_CHARS_MAX).is_none() {
        return text.chars().map(plain).collect();
    }
    text.chars().take(WARNING_CHARS_MAX - 1).map(plain).chain(['…']).collect()
}

impl fmt::Display for Ruling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.rule.reported_id(), self.violation.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_one_line_of_at_most_256_characters() {
        let whole = "é".repeat(256);
        assert_eq!(warning(&whole), whole);
        assert_eq!(warning(&format!("{whole}a")), format!("{}…", "é".repeat(255)));
        assert_eq!(warning("a\r\nb\u{85}c\td"), "a  b c d");
    }
}

//! Judging a change: every rule that looks at it, all violations at once.
//!
//! Pure. What a denial rests on is handed back as reads to make; the caller makes them and asks
//! again, until nothing is left to read.

use jiff::Timestamp;

use super::change::{Change, ChangedObject, Transition};
use super::creator::{Creator, creator};
use super::exemption;
use super::filter;
use super::policy::Policy;
use super::read_access;
use super::rule::{Endpoint, Exemptable, Mode, Rule};
use super::verdict::{Effect, ExemptionHint, Judgement, Ruling, Verdict};
use super::violation::{Certainty, Dependency, Violation, Weight};
use crate::binding::{Confirmation, Evidence, Lookup, Read};

/// A change that came through an endpoint, and under which policy and at what time it is judged.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The endpoint through which it came.
    pub endpoint: Endpoint,
    /// The change.
    pub change: &'a Change,
    /// The operator's decisions.
    pub policy: &'a Policy,
    /// The time, for exemptions.
    pub now: Timestamp,
}

/// Judges a change by every rule of `rules` that looks at it.
///
/// # Expected flow
///
/// 1. All rules look at the change, through the one endpoint to which it is sent: `guard` if it can
///    harm bound data, `advise` otherwise. So each change meets each rule once, in one call. Those of `tenancy`
///    are evaluated apart: it fails closed for every user.
/// 2. A violation that would deny and depends on unconfirmed facts becomes a read; so does any that
///    depends on an object that was not seen.
/// 3. The caller makes the reads and asks again. A failed read leaves a violation standing only on
///    positive evidence: an object that was seen. Otherwise the change passes with a warning.
///
/// # Guarantees
///
/// The answer depends on the arguments only, and not on the order of anything in them.
pub fn judge(
    rules: &[&'static Rule],
    question: Question<'_>,
    evidence: &Evidence<'_>,
) -> Judgement {
    ruled(found(rules, question, evidence), rules, question, evidence)
}

/// What the violations come to, and what is to be read before that is said.
pub(super) fn ruled(
    found: Vec<Found>,
    rules: &[&'static Rule],
    question: Question<'_>,
    evidence: &Evidence<'_>,
) -> Judgement {
    let mut judgement = Judgement { reads: Vec::new(), verdict: Verdict::default() };
    let creator = creator(question.change, evidence);
    for Found { rule, violation, effect } in found {
        let reads = unread(&violation.depends_on, evidence);
        match effect {
            Effect::Denied => judgement.reads.extend(reads),
            // What was seen is good enough for a warning; what was only assumed is not.
            Effect::Warned | Effect::Audited | Effect::Unconfirmed if violation.is_assumed() => {
                judgement.reads.extend(reads);
            }
            Effect::Warned | Effect::Audited | Effect::Exempted(_) | Effect::Unconfirmed => {}
        }
        if effect == Effect::Denied {
            // An exemption that the view does not show yet counts as well.
            let exemption = exemption::read(question.change).filter(|read| {
                rule.exemption == Exemptable::Yes
                    && evidence.confirmation(read) == Confirmation::NotTried
            });
            judgement.reads.extend(exemption);
            if let Creator::Unproven(unproven) = &creator {
                judgement.reads.extend(unproven.reads.iter().cloned());
            }
        }
        let Some(effect) = confirmed(effect, &violation, evidence) else { continue };
        let exemption_hint = exemption_hint(rule, question.change, &creator);
        judgement.verdict.rulings.push(Ruling { rule, violation, effect, exemption_hint });
    }
    judgement.reads.extend(whose(question, evidence));
    if let Some(restricted) = read_access::of_question(question) {
        judgement.reads.extend(restricted.reads(evidence));
    }
    judgement.reads.sort();
    judgement.reads.dedup();
    // Said once, by the endpoint that all changes of the object meet.
    if question.endpoint != Endpoint::Tenancy {
        judgement.verdict.exemption_warnings = exemption::warnings(
            rules,
            question.change,
            (question.now, question.policy.longest_exemption),
        );
    }
    judgement
}

/// A violation and what the rule makes of it.
pub(super) struct Found {
    pub(super) rule: &'static Rule,
    pub(super) violation: Violation,
    pub(super) effect: Effect,
}

/// Every violation in a change. Where a rule must not reveal more, no violation that depends on other claims or
/// volumes is reported or read: both would reveal it.
fn found(rules: &[&'static Rule], question: Question<'_>, evidence: &Evidence<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    let endpoints = endpoints(question);
    for rule in rules {
        let takes = |endpoint: &Option<Endpoint>| {
            endpoint.is_some_and(|e| rule.looks_at(question.change, e))
        };
        if !endpoints.iter().any(takes) || mode(rule, question, evidence) == Mode::Off {
            continue;
        }
        found.extend(merged((rule.check)(question.change, evidence)).into_iter().map(
            |violation| {
                let effect = effect_of(rule, &violation, question, evidence);
                Found { rule, violation, effect }
            },
        ));
    }
    if let Some(restricted) = read_access::of_question(question) {
        let withheld = restricted.withhold(&mut found, evidence);
        let rule = restricted.rule(rules);
        found.extend(rule.zip(withheld).and_then(|(rule, violation)| {
            let effect = effect_of_withheld(rule, &violation, question, evidence)?;
            Some(Found { rule, violation, effect })
        }));
    }
    let is_veil =
        |found: &Found| found.rule.reported_as.is_some() && found.effect == Effect::Denied;
    if found.iter().any(is_veil) {
        let reveals =
            |dependency: &Dependency| matches!(dependency.read, Read::Volume(_) | Read::Claim(_));
        found.retain(|found| {
            found.rule.reported_as.is_some() || !found.violation.depends_on.iter().any(reveals)
        });
    }
    found
}

/// Each reason once: what is said of several objects without their names rests on all of them.
fn merged(violations: Vec<Violation>) -> Vec<Violation> {
    let mut merged: Vec<Violation> = Vec::new();
    for violation in violations {
        let same = merged
            .iter_mut()
            .find(|earlier| earlier.text == violation.text && earlier.weight == violation.weight);
        match same {
            Some(earlier) => earlier.depends_on.extend(violation.depends_on),
            None => merged.push(violation),
        }
    }
    merged
}

/// The reads behind `dependencies` that were not made yet.
pub(super) fn unread(dependencies: &[Dependency], evidence: &Evidence<'_>) -> Vec<Read> {
    let unread = |dependency: &&Dependency| {
        evidence.confirmation(&dependency.read) == Confirmation::NotTried
    };
    dependencies.iter().filter(unread).map(|dependency| dependency.read.clone()).collect()
}

/// The mode of a rule for this change.
pub(super) fn mode(rule: &Rule, question: Question<'_>, evidence: &Evidence<'_>) -> Mode {
    let namespace = question.change.namespace().filter(|_| !question.policy.overrides.is_empty());
    match namespace.and_then(|name| evidence.namespace(name).present()) {
        None => question.policy.mode(rule),
        Some(namespace) => question.policy.mode_in(namespace, rule),
    }
}

/// The read that shows which modes hold, if the view does not show the namespace yet.
fn whose(question: Question<'_>, evidence: &Evidence<'_>) -> Option<Read> {
    let name = question.change.namespace().filter(|_| !question.policy.overrides.is_empty())?;
    let read = Read::Namespace(name.clone());
    let is_open = evidence.namespace(name) == Lookup::Unknown
        && evidence.confirmation(&read) == Confirmation::NotTried;
    is_open.then_some(read)
}

/// The endpoints whose rules judge what came through one: each change is sent to one of the two.
fn endpoints(question: Question<'_>) -> [Option<Endpoint>; 2] {
    let change = question.change;
    match question.endpoint {
        Endpoint::Guard => {
            [Some(Endpoint::Guard), filter::is_advised(change).then_some(Endpoint::Advise)]
        }
        Endpoint::Advise | Endpoint::Restricted => {
            [Some(Endpoint::Advise), (!filter::is_dangerous(change)).then_some(Endpoint::Guard)]
        }
        Endpoint::Tenancy => [Some(Endpoint::Tenancy), None],
        Endpoint::Mutate | Endpoint::Restore => [None, None],
    }
}

pub(super) fn effect_of(
    rule: &Rule,
    violation: &Violation,
    question: Question<'_>,
    evidence: &Evidence<'_>,
) -> Effect {
    if violation.weight == Weight::Open {
        return match mode(rule, question, evidence) {
            Mode::Deny | Mode::Warn => Effect::Unconfirmed,
            Mode::Audit | Mode::Off => Effect::Audited,
        };
    }
    if rule.exemption == Exemptable::Yes
        && let Some(exemption) = exemption::find(rule, question, evidence)
    {
        return Effect::Exempted(exemption);
    }
    by_mode(rule, violation, question, evidence)
}

/// The effect of what is said in place of everything that the asker may not learn, if the rule is on. An exemption on
/// a volume that it may not read does not count: it would reveal that the volume exists.
fn effect_of_withheld(
    rule: &Rule,
    violation: &Violation,
    question: Question<'_>,
    evidence: &Evidence<'_>,
) -> Option<Effect> {
    if mode(rule, question, evidence) == Mode::Off {
        return None;
    }
    let exemption = if rule.exemption == Exemptable::Yes {
        exemption::configured(rule, question)
    } else {
        None
    };
    Some(match exemption {
        Some(exemption) => Effect::Exempted(exemption),
        None => by_mode(rule, violation, question, evidence),
    })
}

fn by_mode(
    rule: &Rule,
    violation: &Violation,
    question: Question<'_>,
    evidence: &Evidence<'_>,
) -> Effect {
    match mode(rule, question, evidence) {
        Mode::Deny if violation.weight == Weight::Warning => Effect::Warned,
        Mode::Deny => match creator(question.change, evidence) {
            // The storage exists already: denying its volume would destroy it or leave it behind.
            Creator::Provisioner => Effect::Warned,
            Creator::Unproven(_) | Creator::Other => Effect::Denied,
        },
        Mode::Warn => Effect::Warned,
        Mode::Audit | Mode::Off => Effect::Audited,
    }
}

/// The effect of a violation whose reads were tried. An audited one that cannot be known is not counted.
fn confirmed(effect: Effect, violation: &Violation, evidence: &Evidence<'_>) -> Option<Effect> {
    let guessed = |dependency: &Dependency| {
        dependency.certainty == Certainty::Assumed
            && evidence.confirmation(&dependency.read) == Confirmation::Failed
    };
    if !violation.depends_on.iter().any(guessed) {
        return Some(effect);
    }
    match effect {
        Effect::Denied | Effect::Warned => Some(Effect::Unconfirmed),
        Effect::Audited => None,
        Effect::Exempted(_) | Effect::Unconfirmed => Some(effect),
    }
}

fn exemption_hint(rule: &Rule, change: &Change, creator: &Creator) -> ExemptionHint {
    if let Creator::Unproven(unproven) = creator {
        let (account, driver) = (change.user.name.clone(), unproven.driver.clone());
        return ExemptionHint::Trust { account, driver };
    }
    match &change.subject {
        ChangedObject::Claim(_) | ChangedObject::Namespace(_) => ExemptionHint::None,
        ChangedObject::Volume(_) if rule.exemption == Exemptable::No => ExemptionHint::None,
        ChangedObject::Volume(Transition::Create(_)) => ExemptionHint::AnnotateNew,
        ChangedObject::Volume(transition) => {
            ExemptionHint::AnnotateStored(transition.latest().name.to_string())
        }
    }
}

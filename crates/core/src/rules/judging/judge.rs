//! Judging a change: every rule that looks at it, all violations at once.
//!
//! Pure. What a denial rests on is handed back as reads to make; the caller makes them and asks
//! again, until nothing is left to read.

use super::change::{Change, ChangedObject, Transition};
use super::creator::{Creator, creator};
use super::exemption;
use super::filter;
use super::question::Question;
use super::read_access;
use super::rule::{Endpoint, Exemptable, Mode, RequestType, Rule, Terminating, address};
use super::verdict::{Effect, ExemptionHint, Judgement, Ruling, Verdict};
use super::violation::{Certainty, Dependency, Violation, Weight, unread};
use crate::binding::{Confirmation, Evidence};

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
    judgement(rulings(rules, question, evidence), rules, question, evidence)
}

/// The judgement that these rulings come to, and what is to be read before it is given.
pub(super) fn judgement(
    rulings: Vec<Ruling>,
    rules: &[&'static Rule],
    question: Question<'_>,
    evidence: &Evidence<'_>,
) -> Judgement {
    let mut judgement = Judgement { reads: Vec::new(), verdict: Verdict::default() };
    let creator = creator(question.change, evidence);
    for mut ruling in rulings {
        let reads = unread(&ruling.violation.depends_on, evidence);
        match ruling.effect {
            Effect::Denied => judgement.reads.extend(reads),
            // What was seen is good enough for a warning; what was only assumed is not.
            Effect::Warned | Effect::Audited | Effect::Unconfirmed
                if ruling.violation.is_assumed() =>
            {
                judgement.reads.extend(reads);
            }
            Effect::Warned | Effect::Audited | Effect::Exempted(_) | Effect::Unconfirmed => {}
        }
        if ruling.effect == Effect::Denied {
            // An exemption that the view does not show yet counts as well.
            let exemption = exemption::read(question.change).filter(|read| {
                ruling.rule.options.exemption == Exemptable::Yes
                    && evidence.confirmation(read) == Confirmation::NotTried
            });
            judgement.reads.extend(exemption);
            if let Creator::Unproven(unproven) = &creator {
                judgement.reads.extend(unproven.reads.iter().cloned());
            }
        }
        let Some(effect) = confirmed(ruling.effect, &ruling.violation, evidence) else { continue };
        ruling.effect = effect;
        judgement.verdict.rulings.push(ruling);
    }
    judgement.reads.extend(question.read_for_modes(evidence));
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

/// Returns what becomes of every violation in a change. Where a rule must not reveal more, no violation that depends on
/// other claims or volumes is reported or read: both would reveal it.
fn rulings(
    rules: &[&'static Rule],
    question: Question<'_>,
    evidence: &Evidence<'_>,
) -> Vec<Ruling> {
    let creator = creator(question.change, evidence);
    let ruling = |rule: &'static Rule, violation: Violation, effect: Effect| {
        let exemption_hint = exemption_hint(rule, question.change, &creator);
        Ruling { rule, violation, effect, exemption_hint }
    };
    let mut rulings = Vec::new();
    let ((resource, operation), endpoints) = (address(question.change), endpoints(question));
    let is_asked = |one: &RequestType| {
        one.operation == operation
            && one.resource == resource
            && endpoints.contains(&Some(one.endpoint))
    };
    let is_terminating = question.change.is_terminating();
    let concerned = rules.iter().filter(|rule| {
        rule.request_types.have(resource, operation)
            && rule.request_types.iter().any(is_asked)
            && (rule.options.terminating == Terminating::Judged || !is_terminating)
    });
    for rule in concerned {
        // A rule that is off is not run: that is how an operator gets rid of one that fails.
        if question.mode(rule, evidence) == Mode::Off {
            continue;
        }
        let violations = (rule.check)(question.change, evidence);
        if violations.is_empty() {
            continue;
        }
        rulings.extend(merged(violations).into_iter().map(|violation| {
            let effect = effect_of(rule, &violation, question, evidence);
            ruling(rule, violation, effect)
        }));
    }
    if let Some(restricted) = read_access::of_question(question) {
        let withheld = restricted.withhold(&mut rulings, evidence);
        let rule = restricted.rule(rules);
        rulings.extend(rule.zip(withheld).and_then(|(rule, violation)| {
            let effect = effect_of_withheld(rule, &violation, question, evidence)?;
            Some(ruling(rule, violation, effect))
        }));
    }
    let is_veil = |ruling: &Ruling| {
        ruling.rule.options.reported_as.is_some() && ruling.effect == Effect::Denied
    };
    if rulings.iter().any(is_veil) {
        rulings.retain(|ruling| {
            ruling.rule.options.reported_as.is_some() || !ruling.violation.reveals_storage()
        });
    }
    rulings
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
        return match question.mode(rule, evidence) {
            Mode::Deny | Mode::Warn => Effect::Unconfirmed,
            Mode::Audit | Mode::Off => Effect::Audited,
        };
    }
    let exemption = exemption::find(rule, question, evidence);
    exemption.map_or_else(|| by_mode(rule, violation, question, evidence), Effect::Exempted)
}

/// The effect of what is said in place of everything that the asker may not learn, if the rule is on. An exemption on
/// a volume that it may not read does not count: it would reveal that the volume exists.
fn effect_of_withheld(
    rule: &Rule,
    violation: &Violation,
    question: Question<'_>,
    evidence: &Evidence<'_>,
) -> Option<Effect> {
    if question.mode(rule, evidence) == Mode::Off {
        return None;
    }
    let exemption = exemption::configured(rule, question);
    Some(exemption.map_or_else(|| by_mode(rule, violation, question, evidence), Effect::Exempted))
}

fn by_mode(
    rule: &Rule,
    violation: &Violation,
    question: Question<'_>,
    evidence: &Evidence<'_>,
) -> Effect {
    match question.mode(rule, evidence) {
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
        ChangedObject::Claim(_)
        | ChangedObject::Namespace(_)
        | ChangedObject::Class(_)
        | ChangedObject::Attachment(_)
        | ChangedObject::Node(_)
        | ChangedObject::Driver(_)
        | ChangedObject::SnapshotContent(_) => ExemptionHint::None,
        ChangedObject::Volume(_) if rule.options.exemption == Exemptable::No => ExemptionHint::None,
        ChangedObject::Volume(Transition::Create(_)) => ExemptionHint::AnnotateNew,
        ChangedObject::Volume(transition) => {
            ExemptionHint::AnnotateStored(transition.latest().name.to_string())
        }
    }
}

//! The hazards in an existing object, by every rule.
//!
//! Pure, as judging a change is: what a finding rests on is handed back as reads to make. What the hazard
//! of a rule looks like afterwards is in the rule's file.

use super::change::{Change, ChangedObject, Transition};
use super::judge::{effect_of, judgement};
use super::question::Question;
use super::rule::{Mode, Rule, ScanCheck, Terminating};
use super::verdict::{ExemptionHint, Judgement, Ruling};
use super::violation::Violation;
use crate::binding::Evidence;
use crate::model::{ClaimPhase, Deletion, VolumePhase};

/// Inspects an object as it stands by every rule of `rules`. The question's change is the object's
/// creation by an unknown user; its endpoint does not matter.
///
/// # Guarantees
///
/// The answer depends on the arguments only, and not on the order of anything in them.
pub fn inspect(
    rules: &[&'static Rule],
    question: Question<'_>,
    evidence: &Evidence<'_>,
) -> Judgement {
    let mut rulings = Vec::new();
    for rule in rules {
        // Before anything else: most rules see nothing in most objects.
        if matches!(rule.options.scan, ScanCheck::Unseen)
            || question.mode(rule, evidence) == Mode::Off
        {
            continue;
        }
        let violations = found_by(rule, question.change, evidence).into_iter();
        rulings.extend(violations.map(|violation| {
            let effect = effect_of(rule, &violation, question, evidence);
            // Nothing is to be got past: the object is there.
            Ruling { rule, violation, effect, exemption_hint: ExemptionHint::None }
        }));
    }
    judgement(rulings, rules, question, evidence)
}

fn found_by(rule: &Rule, change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let ends = rule.options.terminating == Terminating::Passes && is_ending(change);
    match (rule.options.scan, &change.subject) {
        (ScanCheck::AsCreated, _) if !ends => (rule.check)(change, evidence),
        (ScanCheck::WhileUnbound, _) if !ends && !is_bound(change) => {
            (rule.check)(change, evidence)
        }
        (ScanCheck::OfVolume(check), ChangedObject::Volume(Transition::Create(volume))) => {
            check(volume, evidence).into_iter().collect()
        }
        (ScanCheck::OfClaim(check), ChangedObject::Claim(Transition::Create(claim))) => {
            check(claim, evidence).into_iter().collect()
        }
        (
            ScanCheck::Unseen
            | ScanCheck::AsCreated
            | ScanCheck::WhileUnbound
            | ScanCheck::OfVolume(_)
            | ScanCheck::OfClaim(_),
            _,
        ) => Vec::new(),
    }
}

/// Returns whether the object goes: what was wrong with it goes too. It is there, and judged as if it were created.
fn is_ending(change: &Change) -> bool {
    let deletion = match &change.subject {
        ChangedObject::Volume(transition) => transition.latest().deletion,
        ChangedObject::Claim(transition) => transition.latest().deletion,
        ChangedObject::Namespace(transition) => transition.latest().deletion,
        ChangedObject::Class(_)
        | ChangedObject::Attachment(_)
        | ChangedObject::Node(_)
        | ChangedObject::Driver(_)
        | ChangedObject::SnapshotContent(_) => Deletion::NotAsked,
    };
    deletion == Deletion::Terminating
}

/// Returns whether the object has its other half, or has lost it.
fn is_bound(change: &Change) -> bool {
    match &change.subject {
        ChangedObject::Volume(transition) => match transition.latest().phase {
            VolumePhase::Bound | VolumePhase::Released | VolumePhase::Failed => true,
            VolumePhase::Pending | VolumePhase::Available | VolumePhase::Unknown(_) => false,
        },
        ChangedObject::Claim(transition) => match transition.latest().phase {
            ClaimPhase::Bound | ClaimPhase::Lost => true,
            ClaimPhase::Pending | ClaimPhase::Unknown(_) => false,
        },
        ChangedObject::Namespace(_)
        | ChangedObject::Class(_)
        | ChangedObject::Attachment(_)
        | ChangedObject::Node(_)
        | ChangedObject::Driver(_)
        | ChangedObject::SnapshotContent(_) => false,
    }
}

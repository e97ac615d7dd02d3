//! The loop between deciding and reading: judge, read what the judgement rests on, judge again.
//!
//! The same for every shell; only where the answers come from differs.

use crate::binding::{Evidence, LiveReads, Read, View};
use crate::rules::edits::REPAIRS;
use crate::rules::{Amendment, Question, Rule, Verdict, amend, judge};

/// How often a question is asked again. Each round reads at least one new object, and no rule
/// rests on more than a volume, its holder and a class.
pub const ROUNDS_COUNT_MAX: usize = 4;

/// One step of a question: decided, or in need of reads.
#[derive(Debug)]
pub enum Step<T> {
    /// The answer stands on what is known.
    Decided(T),
    /// These reads would settle it; make them and step again.
    Needs(Vec<Read>),
}

/// Judges once on what is known.
pub fn judge_step(
    rules: &[&'static Rule],
    question: Question<'_>,
    view: &View,
    live: &LiveReads,
) -> Step<Verdict> {
    let judgement = judge(rules, question, &Evidence::new(view, live));
    if judgement.reads.is_empty() {
        Step::Decided(judgement.verdict)
    } else {
        Step::Needs(judgement.reads)
    }
}

/// Plans edits once on what is known.
pub fn amend_step(question: Question<'_>, view: &View, live: &LiveReads) -> Step<Amendment> {
    let amendment = amend(REPAIRS, question, &Evidence::new(view, live));
    if amendment.reads.is_empty() { Step::Decided(amendment) } else { Step::Needs(amendment.reads) }
}

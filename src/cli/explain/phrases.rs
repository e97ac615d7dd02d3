//! Phrases that an explanation as text and as a page have in common.

use std::iter;

use super::report::{CandidateMismatches, Explanation, Fix, ReportedEvent};

/// The commands that fix it, each after a word; none for a pod, whose claims show their own.
pub(super) fn fixes<'a>(
    explanation: &'a Explanation,
    [first, other]: [&'a str; 2],
) -> impl Iterator<Item = (&'a str, &'a Fix)> {
    let fix = explanation.fix.iter().filter(|_| explanation.claims.is_empty());
    let all = fix.flat_map(|fix| iter::once(fix).chain(&explanation.alternatives));
    iter::once(first).chain(iter::repeat(other)).zip(all)
}

pub(super) fn reasons(candidate: &CandidateMismatches) -> String {
    let texts: Vec<&str> = candidate.mismatches.iter().map(|reason| &*reason.message).collect();
    texts.join("; ")
}

pub(super) fn said(event: &ReportedEvent) -> String {
    let when = if event.time.is_empty() { String::new() } else { format!(" at {}", event.time) };
    format!("{}{when}: {}", event.reason, event.message)
}

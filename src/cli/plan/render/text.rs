//! A plan for people: a line per claim and per volume without a claim, or per claim that changed.

use std::fmt::Write as _;

use super::{ReservedClaims, advice, count, lines, notes, said_of, said_of_claim, tally};
use crate::cli::plan::difference::Difference;
use crate::cli::plan::report::PlanReport;
use crate::cli::preview::planned::PlannedClaim;
use crate::cli::table;

/// The plan, or what changed where it was compared with another.
pub(super) fn text(plan: &PlanReport) -> String {
    let mut out = match &plan.difference {
        Some(difference) => changes(difference),
        None => whole(plan),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{}{}{}", notes(plan), advice(plan), tally(plan));
    out
}

/// What changed, a line per claim, and how many did not.
pub(super) fn changes(difference: &Difference) -> String {
    let rows = lines(difference).map(|(what, name, before, after)| {
        let end = match (before, after) {
            (Some(before), Some(after)) => format!("{before} -> {after}"),
            (Some(end), None) | (None, Some(end)) => end,
            (None, None) => String::new(),
        };
        vec![what.to_owned(), name, end]
    });
    table::aligned(&rows.collect::<Vec<_>>()) + &count(difference) + "\n"
}

fn whole(plan: &PlanReport) -> String {
    let mut out = String::new();
    let names = plan.claims.iter().map(|claim| claim.namespace.len() + 1 + claim.name.len());
    let width = names.max().unwrap_or_default();
    for claim in &plan.claims {
        line(&mut out, claim, width);
    }
    let reserved = ReservedClaims::of(plan);
    for volume in &plan.volumes {
        if let Some(said) = said_of(volume, &reserved) {
            let _ = writeln!(out, "PV {}: {}, {said}", volume.name, volume.outcome.as_str());
        }
    }
    out
}

fn line(out: &mut String, claim: &PlannedClaim, width: usize) {
    let name = format!("{}/{}", claim.namespace, claim.name);
    let fate = claim.outcome.as_str();
    let _ = write!(out, "{name:<width$}  {fate:<10}");
    if let Some(volume) = &claim.volume {
        let _ = write!(out, "  {volume}");
    }
    if let Some(said) = said_of_claim(claim) {
        let _ = write!(out, "  {said}");
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
}

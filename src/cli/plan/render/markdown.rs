//! A plan as a comment on a pull request: claims that need a fix first, and no more rows than a comment holds.

use std::fmt::Write as _;

use super::{count, lines, said_of_claim, tally};
use crate::cli::notation::cell;
use crate::cli::plan::difference::Difference;
use crate::cli::plan::report::PlanReport;
use crate::cli::preview::planned::{ClaimFate, PlannedClaim};

/// Rows of a table. A comment on GitHub holds 65,536 characters, and a long row takes 300.
const ROWS_MAX: usize = 150;

/// The plan, or what changed where it was compared with another.
pub(super) fn markdown(plan: &PlanReport) -> String {
    let body = match &plan.difference {
        Some(difference) => changes(difference),
        None => claims(plan),
    };
    let mut out = format!("### Storage plan\n\n{}\n{body}", tally(plan));
    for note in &plan.notes {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n{}", cell(note));
    }
    out
}

/// The claims for which something happens or should; those that are bound already only count.
fn claims(plan: &PlanReport) -> String {
    let mut shown: Vec<&PlannedClaim> =
        plan.claims.iter().filter(|claim| claim.outcome != ClaimFate::Bound).collect();
    // Stuck ones first; otherwise they keep the order in which they are served.
    shown.sort_by_key(|claim| !claim.outcome.is_stuck());
    let rows = shown.iter().map(|claim| {
        let outcome = claim.outcome.as_str();
        let outcome =
            if claim.outcome.is_stuck() { format!("**{outcome}**") } else { outcome.to_owned() };
        let volume = claim.volume.as_deref().map(|volume| format!("`{volume}`"));
        [
            format!("`{}/{}`", claim.namespace, claim.name),
            outcome,
            volume.unwrap_or_default(),
            cell(&said_of_claim(claim).unwrap_or_default()),
        ]
    });
    table(&["claim", "outcome", "volume", "why"], rows)
}

fn changes(difference: &Difference) -> String {
    let rows = lines(difference).map(|(what, name, before, after)| {
        let end = |end: Option<String>| end.map(|end| cell(&end)).unwrap_or_default();
        [format!("`{name}`"), what.to_owned(), end(before), end(after)]
    });
    format!("\n{}\n{}", count(difference), table(&["claim", "what", "before", "after"], rows))
}

fn table(head: &[&str; 4], rows: impl Iterator<Item = [String; 4]>) -> String {
    let rows: Vec<[String; 4]> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut out = format!("\n| {} |\n|---|---|---|---|\n", head.join(" | "));
    for row in rows.iter().take(ROWS_MAX) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    if let Some(more) = rows.len().checked_sub(ROWS_MAX).filter(|more| *more > 0) {
        let _ = writeln!(out, "\nand {more} more");
    }
    out
}

//! A plan for people: a line per claim and per volume without a claim, or per claim that changed.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::difference::Difference;
use super::html;
use super::phrases::{bytes, modes, reason, tally, unclaimed};
use super::report::PlanReport;
use crate::cli::output::{Colour, readable};
use crate::cli::preview::planned::{ClaimForecast, PlannedClaim, PlannedVolume};
use crate::cli::render::Render;
use crate::cli::table::{self, cell};

/// Rows of a Markdown table. A comment on GitHub holds 65,536 characters, and a long row takes 300.
const ROWS_MAX: usize = 150;

impl Render for PlanReport {
    fn text(&self, _: Colour) -> String {
        let body = self.difference.as_ref().map_or_else(|| lines(self), changed_lines);
        readable(&(body + &end(self)))
    }

    /// A table of claims and a table of volumes.
    fn wide(&self) -> String {
        let body = self.difference.as_ref().map_or_else(|| tables(self), changed_lines);
        body + &end(self)
    }

    fn markdown(&self) -> String {
        let body = match &self.difference {
            Some(difference) => changed_rows(difference),
            None => rows(&self.claims),
        };
        let notes = table::markdown_notes(&self.notes);
        format!("### Storage plan\n\n{}\n{body}{notes}", tally(self))
    }

    fn html(&self, now: Timestamp) -> String {
        html::page(self, now)
    }
}

/// Limits of the plan, where to find the fix if a claim needs one, and the tally.
fn end(plan: &PlanReport) -> String {
    let advice = if plan.is_stuck() {
        "to get the fix for a PVC: bindery explain pvc/NAMESPACE/NAME, with the same -f or cluster\n"
    } else {
        ""
    };
    format!("{}{advice}{}\n", table::notes(&plan.notes), tally(plan))
}

fn lines(plan: &PlanReport) -> String {
    let mut out = String::new();
    let names = plan.claims.iter().map(|claim| claim.namespace.len() + 1 + claim.name.len());
    let width = names.max().unwrap_or_default();
    for claim in &plan.claims {
        let name = format!("{}/{}", claim.namespace, claim.name);
        // Writing to a string cannot fail.
        let _ = write!(out, "{name:<width$}  {:<10}", claim.outcome);
        for text in claim.volume.iter().chain(&reason(claim)) {
            out.extend(["  ", text]);
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    for (volume, reason) in unclaimed(plan) {
        let _ = writeln!(out, "PV {}: {}, {reason}", volume.name, volume.outcome);
    }
    out
}

/// Returns what changed, a line per claim, and how many did not.
fn changed_lines(difference: &Difference) -> String {
    let rows = difference.rows().map(|(what, claim, before, after)| {
        let end = match (before, after) {
            (Some(before), Some(after)) => format!("{before} -> {after}"),
            (one, other) => one.or(other).map(ToString::to_string).unwrap_or_default(),
        };
        vec![what.to_owned(), claim.to_string(), end]
    });
    table::aligned(&rows.collect::<Vec<_>>()) + &difference.tally() + "\n"
}

fn tables(plan: &PlanReport) -> String {
    let claims: Vec<_> = plan.claims.iter().map(claim_row).collect();
    let volumes: Vec<_> = unclaimed(plan).into_iter().map(volume_row).collect();
    table::headed(
        ["PVC", "OUTCOME", "PV", "CLASS", "REQUEST", "SIZE", "WASTED", "MODES", "EQUALS", "WHY"],
        &claims,
    ) + &table::headed(["PV", "OUTCOME", "CLASS", "SIZE", "MODES", "WHY"], &volumes)
}

fn claim_row(claim: &PlannedClaim) -> [Option<String>; 10] {
    let given = claim.given.as_ref();
    [
        Some(format!("{}/{}", claim.namespace, claim.name)),
        Some(claim.outcome.to_string()),
        claim.volume.clone(),
        claim.class.clone(),
        Some(claim.request.clone()),
        given.map(|given| given.size.clone()),
        given.and_then(|given| given.wasted_bytes).map(bytes),
        Some(modes(&claim.access_modes)),
        claim.equal_alternatives.map(|count| count.to_string()),
        Some(reason(claim).unwrap_or_default()),
    ]
}

fn volume_row((volume, reason): (&PlannedVolume, String)) -> [Option<String>; 6] {
    [
        Some(volume.name.clone()),
        Some(volume.outcome.to_string()),
        volume.class.clone(),
        Some(volume.capacity.clone()),
        Some(modes(&volume.access_modes)),
        Some(reason),
    ]
}

/// The claims for which something happens or should; those that are bound already only count.
fn rows(claims: &[PlannedClaim]) -> String {
    let mut shown: Vec<&PlannedClaim> =
        claims.iter().filter(|claim| claim.outcome != ClaimForecast::Bound).collect();
    // Stuck ones first; otherwise they keep the order in which they are served.
    shown.sort_by_key(|claim| !claim.outcome.is_stuck());
    let rows = shown.iter().map(|claim| {
        let weight = if claim.outcome.is_stuck() { "**" } else { "" };
        let volume = claim.volume.as_deref().map(|volume| format!("`{volume}`"));
        [
            format!("`{}/{}`", claim.namespace, claim.name),
            format!("{weight}{}{weight}", claim.outcome),
            volume.unwrap_or_default(),
            cell(&reason(claim).unwrap_or_default()),
        ]
    });
    let head = "| PVC | outcome | PV | why |\n|---|---|---|---|";
    table::markdown(head, &rows.collect::<Vec<_>>(), ROWS_MAX)
}

fn changed_rows(difference: &Difference) -> String {
    let rows = difference.rows().map(|(what, claim, before, after)| {
        let [before, after] =
            [before, after].map(|end| end.map(|end| cell(&end.to_string())).unwrap_or_default());
        [format!("`{claim}`"), what.to_owned(), before, after]
    });
    let head = "| PVC | what | before | after |\n|---|---|---|---|";
    let table = table::markdown(head, &rows.collect::<Vec<_>>(), ROWS_MAX);
    format!("\n{}\n{table}", difference.tally())
}

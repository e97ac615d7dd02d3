//! A plan for people who want to see everything: a table of claims and a table of volumes.

use super::{ReservedClaims, advice, bytes, notes, said_of, said_of_claim, tally, text};
use crate::cli::plan::report::PlanReport;
use crate::cli::preview::planned::{PlannedClaim, PlannedVolume};
use crate::cli::table;
use crate::model::AccessModes;

const CLAIM_HEAD: [&str; 10] =
    ["PVC", "OUTCOME", "PV", "CLASS", "REQUEST", "SIZE", "WASTED", "MODES", "EQUALS", "WHY"];
const VOLUME_HEAD: [&str; 6] = ["PV", "OUTCOME", "CLASS", "SIZE", "MODES", "WHY"];

/// An empty cell.
const NOTHING: &str = "-";

/// The plan, or what changed where it was compared with another.
pub(super) fn wide(plan: &PlanReport) -> String {
    let body = match &plan.difference {
        Some(difference) => text::changes(difference),
        None => tables(plan),
    };
    format!("{body}{}{}{}\n", notes(plan), advice(plan), tally(plan))
}

fn tables(plan: &PlanReport) -> String {
    let head = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut out = String::new();
    if !plan.claims.is_empty() {
        let rows = std::iter::once(head(&CLAIM_HEAD)).chain(plan.claims.iter().map(claim));
        out.push_str(&table::aligned(&rows.collect::<Vec<_>>()));
        out.push('\n');
    }
    let reserved = ReservedClaims::of(plan);
    let volumes: Vec<_> = plan.volumes.iter().filter_map(|one| volume(one, &reserved)).collect();
    if !volumes.is_empty() {
        let rows = std::iter::once(head(&VOLUME_HEAD)).chain(volumes);
        out.push_str(&table::aligned(&rows.collect::<Vec<_>>()));
        out.push('\n');
    }
    out
}

fn claim(claim: &PlannedClaim) -> Vec<String> {
    let given = claim.given.as_ref();
    vec![
        format!("{}/{}", claim.namespace, claim.name),
        claim.outcome.as_str().to_owned(),
        or_nothing(claim.volume.clone()),
        or_nothing(claim.class.clone()),
        claim.request.clone(),
        or_nothing(given.map(|given| given.size.clone())),
        or_nothing(given.and_then(|given| given.wasted_bytes).map(bytes)),
        modes(&claim.access_modes),
        or_nothing(claim.equal_alternatives.map(|count| count.to_string())),
        said_of_claim(claim).unwrap_or_default(),
    ]
}

/// A volume without a claim.
fn volume(volume: &PlannedVolume, reserved: &ReservedClaims<'_>) -> Option<Vec<String>> {
    let said = said_of(volume, reserved)?;
    Some(vec![
        volume.name.clone(),
        volume.outcome.as_str().to_owned(),
        or_nothing(volume.class.clone()),
        volume.capacity.clone(),
        modes(&volume.access_modes),
        said,
    ])
}

fn modes(names: &[String]) -> String {
    AccessModes::from_names(names.iter().map(String::as_str)).to_string()
}

fn or_nothing(text: Option<String>) -> String {
    text.unwrap_or_else(|| NOTHING.to_owned())
}

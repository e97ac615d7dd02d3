//! A plan for people who want to see everything: a table of claims and a table of volumes.

use super::{Absentees, advice, bytes, notes, said_of, said_of_claim, tally, text};
use crate::cli::plan::report::Plan;
use crate::cli::preview::planned::{PlannedClaim, PlannedVolume};
use crate::cli::table;
use crate::model::AccessModes;

const CLAIM_HEAD: [&str; 10] =
    ["CLAIM", "OUTCOME", "VOLUME", "CLASS", "REQUEST", "SIZE", "WASTED", "MODES", "EQUALS", "WHY"];
const VOLUME_HEAD: [&str; 6] = ["VOLUME", "OUTCOME", "CLASS", "SIZE", "MODES", "WHY"];

/// What stands where there is nothing to say.
const NOTHING: &str = "-";

/// The plan, or what changed where it was compared with another.
pub(super) fn wide(plan: &Plan) -> String {
    let body = match &plan.difference {
        Some(difference) => text::changes(difference),
        None => tables(plan),
    };
    format!("{body}{}{}{}\n", notes(plan), advice(plan), tally(plan))
}

fn tables(plan: &Plan) -> String {
    let head = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut out = String::new();
    if !plan.claims.is_empty() {
        let rows = std::iter::once(head(&CLAIM_HEAD)).chain(plan.claims.iter().map(claim));
        out.push_str(&table::aligned(&rows.collect::<Vec<_>>()));
        out.push('\n');
    }
    let absentees = Absentees::of(plan);
    let volumes: Vec<_> = plan.volumes.iter().filter_map(|one| volume(one, &absentees)).collect();
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

/// A volume that stands beside no claim.
fn volume(volume: &PlannedVolume, absentees: &Absentees<'_>) -> Option<Vec<String>> {
    let said = said_of(volume, absentees)?;
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

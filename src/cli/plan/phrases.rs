//! Phrases that a plan as text and as a page have in common.

use std::collections::BTreeMap;

use super::report::PlanReport;
use crate::cli::preview::planned::{PlannedClaim, PlannedVolume, VolumeForecast};
use crate::model::{AccessModes, Quantity};

/// The number of bytes, for people.
pub(super) fn bytes(count: i128) -> String {
    // The digits of a number are always an amount.
    let amount = Quantity::parse(&count.to_string()).unwrap_or(Quantity::ZERO);
    amount.bytes_display().to_string()
}

pub(super) fn modes(names: &[String]) -> String {
    AccessModes::from_names(names.iter().map(String::as_str)).to_string()
}

/// The reason of a claim's outcome, or a note on its volume.
pub(super) fn reason(claim: &PlannedClaim) -> Option<String> {
    let equals = claim.equal_alternatives.filter(|count| *count > 0);
    let equals = equals.map(|count| format!("chosen by name among {} equal volumes", count + 1));
    claim.reason.clone().or(equals)
}

/// Returns how many end up how, and what is wasted: one sentence.
pub(super) fn tally(plan: &PlanReport) -> String {
    let words = |counts: &BTreeMap<String, usize>| {
        let words: Vec<String> =
            counts.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    };
    let wasted: i128 = plan.volumes.iter().filter_map(|volume| volume.wasted_bytes).sum();
    let summary = &plan.summary;
    format!(
        "PVCs: {}; PVs: {}; {}",
        words(&summary.claims),
        words(&summary.volumes),
        match wasted {
            0 => "nothing wasted".to_owned(),
            wasted => format!("{} wasted on PVCs that request less", bytes(wasted)),
        }
    )
}

/// The volumes without a claim, and why each has none.
pub(super) fn unclaimed(plan: &PlanReport) -> Vec<(&PlannedVolume, String)> {
    let reserved = plan.volumes.iter().filter(|volume| volume.outcome == VolumeForecast::Reserved);
    let names = reserved.filter_map(|volume| Some((volume.claim.as_deref()?, None)));
    // The claims that volumes are reserved for, by name; none for one that does not exist.
    let mut holders: BTreeMap<&str, Option<&PlannedClaim>> = names.collect();
    if !holders.is_empty() {
        for claim in &plan.claims {
            let name = format!("{}/{}", claim.namespace, claim.name);
            if let Some(holder) = holders.get_mut(name.as_str()) {
                *holder = Some(claim);
            }
        }
    }
    let reason = |volume: &PlannedVolume| {
        let claim = volume.claim.as_deref();
        Some(match volume.outcome {
            VolumeForecast::Bound | VolumeForecast::Binds => return None,
            VolumeForecast::Free => "no PVC binds to it".to_owned(),
            VolumeForecast::Released => "its PVC is deleted".to_owned(),
            VolumeForecast::Reserved => {
                reserved_for(claim, claim.and_then(|name| *holders.get(name)?))
            }
            VolumeForecast::Failed => "its PVC is deleted and nothing reclaims it".to_owned(),
            VolumeForecast::Unknown => match claim {
                Some(claim) => format!("whether PVC \"{claim}\" exists is not known"),
                None => "whether a PVC binds to it is not known".to_owned(),
            },
        })
    };
    plan.volumes.iter().filter_map(|volume| Some((volume, reason(volume)?))).collect()
}

/// The claim that a volume is reserved for, and why it is not bound to it.
fn reserved_for(name: Option<&str>, holder: Option<&PlannedClaim>) -> String {
    let whole = name.filter(|name| !name.starts_with('/') && !name.ends_with('/'));
    let Some(name) = whole else {
        return "its claimRef lacks a namespace or a name, so no PVC can bind to it".to_owned();
    };
    let why = match holder.map(|claim| claim.volume.as_deref()) {
        None => "which does not exist".to_owned(),
        Some(None) => "which does not bind to it".to_owned(),
        Some(Some(volume)) => format!("which has PV \"{volume}\""),
    };
    format!("for PVC \"{name}\", {why}")
}

//! A plan in each of its forms.
//!
//! For people: a line per claim and per volume without a claim, a table, or Markdown for a comment on
//! a pull request. For programs: JSON and YAML.

mod markdown;
mod text;
mod wide;

use std::collections::BTreeMap;

use super::difference::{Difference, End};
use super::report::PlanReport;
use crate::cli::args::Form;
use crate::cli::exit::Failure;
use crate::cli::notation;
use crate::cli::output::readable;
use crate::cli::preview::planned::{PlannedClaim, PlannedVolume, VolumeFate};
use crate::model::Quantity;

/// The plan in this form.
pub(super) fn render(plan: &PlanReport, form: Form) -> Result<String, Failure> {
    match form {
        Form::Text => Ok(readable(&text::text(plan))),
        Form::Wide => Ok(readable(&wide::wide(plan))),
        Form::Markdown => Ok(readable(&markdown::markdown(plan))),
        Form::Json => notation::json(plan),
        Form::Yaml => notation::yaml(plan),
    }
}

/// How many end up how, and what is wasted: one sentence.
fn tally(plan: &PlanReport) -> String {
    let words = |counts: &BTreeMap<&str, usize>| {
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

/// Where to find the fix, if a claim needs one.
fn advice(plan: &PlanReport) -> &'static str {
    if plan.is_stuck() {
        "to get the fix for a PVC: bindery explain pvc/NAMESPACE/NAME, with the same -f or cluster\n"
    } else {
        ""
    }
}

/// The reason of a claim's outcome, or a note on its volume.
fn said_of_claim(claim: &PlannedClaim) -> Option<String> {
    let equals = claim.equal_alternatives.filter(|count| *count > 0);
    let equals = equals.map(|count| format!("chosen by name among {} equal volumes", count + 1));
    claim.reason.clone().or(equals)
}

/// Limits of the plan, a line each.
fn notes(plan: &PlanReport) -> String {
    let mut out = String::new();
    for note in &plan.notes {
        out.extend(["note: ", note.as_str(), "\n"]);
    }
    out
}

/// The number of bytes, for people.
fn bytes(count: i128) -> String {
    // The digits of a number are always an amount.
    let amount = Quantity::parse(&count.to_string()).unwrap_or(Quantity::ZERO);
    amount.bytes_display().to_string()
}

/// The claims for which volumes are reserved that are not bound to them, by `NAMESPACE/NAME`.
struct ReservedClaims<'a>(BTreeMap<&'a str, Option<&'a PlannedClaim>>);

impl<'a> ReservedClaims<'a> {
    /// Those of a plan.
    fn of(plan: &'a PlanReport) -> Self {
        let reserved = plan.volumes.iter().filter(|volume| volume.outcome == VolumeFate::Reserved);
        let names = reserved.filter_map(|volume| Some((volume.claim.as_deref()?, None)));
        let mut reserved: BTreeMap<&str, Option<&PlannedClaim>> = names.collect();
        if !reserved.is_empty() {
            for claim in &plan.claims {
                let name = format!("{}/{}", claim.namespace, claim.name);
                if let Some(found) = reserved.get_mut(name.as_str()) {
                    *found = Some(claim);
                }
            }
        }
        Self(reserved)
    }

    /// The claim that a volume is reserved for, and why it is not bound to it.
    fn reserved_for(&self, name: &str) -> String {
        let claim = self.0.get(name).copied().flatten();
        let why = match claim.map(|claim| claim.volume.as_deref()) {
            None => "which does not exist".to_owned(),
            Some(None) => "which does not bind to it".to_owned(),
            Some(Some(volume)) => format!("which has PV \"{volume}\""),
        };
        format!("for PVC \"{name}\", {why}")
    }
}

/// Why a volume has no claim; none if it has one.
fn said_of(volume: &PlannedVolume, reserved: &ReservedClaims<'_>) -> Option<String> {
    Some(match volume.outcome {
        VolumeFate::Bound | VolumeFate::Binds => return None,
        VolumeFate::Free => "no PVC binds to it".to_owned(),
        VolumeFate::Released => "its PVC is deleted".to_owned(),
        VolumeFate::Reserved => match volume.claim.as_deref() {
            Some(claim) if !claim.starts_with('/') && !claim.ends_with('/') => {
                reserved.reserved_for(claim)
            }
            Some(_) | None => {
                "its claimRef lacks a namespace or a name, so no PVC can bind to it".to_owned()
            }
        },
        VolumeFate::Failed => "its PVC is deleted and nothing reclaims it".to_owned(),
        VolumeFate::Unknown => match volume.claim.as_deref() {
            Some(claim) => format!("whether PVC \"{claim}\" exists is not known"),
            None => "whether a PVC binds to it is not known".to_owned(),
        },
    })
}

/// One line of a difference: the change, the claim, its outcome before and after.
type Line = (&'static str, String, Option<String>, Option<String>);

/// The difference as lines: changed claims, new ones, those that are gone.
fn lines(difference: &Difference) -> impl Iterator<Item = Line> {
    let key = |namespace: &str, name: &str| format!("{namespace}/{name}");
    let changed = difference.changed.iter().map(move |claim| {
        let name = key(&claim.namespace, &claim.name);
        let after = words(&claim.after, claim.why.as_deref());
        ("changed", name, Some(words(&claim.before, None)), Some(after))
    });
    let new = difference.new.iter().map(move |claim| {
        let name = key(&claim.namespace, &claim.name);
        ("new", name, None, Some(words(&claim.end, claim.why.as_deref())))
    });
    let gone = difference.gone.iter().map(move |claim| {
        ("gone", key(&claim.namespace, &claim.name), Some(words(&claim.end, None)), None)
    });
    changed.chain(new).chain(gone)
}

fn words(end: &End, why: Option<&str>) -> String {
    let mut words = end.outcome.clone();
    if let Some(volume) = &end.volume {
        words.extend([" ", volume.as_str()]);
    }
    if let Some(why) = why {
        words.extend([": ", why]);
    }
    words
}

/// How many claims changed, came and went: one sentence.
fn count(difference: &Difference) -> String {
    let Difference { changed, new, gone, unchanged } = difference;
    format!(
        "since the earlier plan: {} changed, {} new, {} gone, {unchanged} as before",
        changed.len(),
        new.len(),
        gone.len()
    )
}

//! A plan in each of its forms.
//!
//! For people: a line per claim and per volume that nobody gets, a table, or Markdown for a comment on
//! a pull request. For programs: JSON and YAML. What is said is in the plan; here it is only laid out.

mod markdown;
mod text;
mod wide;

use std::collections::BTreeMap;

use super::difference::{Difference, End};
use super::report::Plan;
use crate::cli::args::Form;
use crate::cli::exit::Failure;
use crate::cli::notation;
use crate::cli::output::readable;
use crate::cli::preview::planned::{PlannedClaim, PlannedVolume, VolumeFate};
use crate::model::Quantity;

/// The plan in this form.
pub(super) fn render(plan: &Plan, form: Form) -> Result<String, Failure> {
    match form {
        Form::Text => Ok(readable(&text::text(plan))),
        Form::Wide => Ok(readable(&wide::wide(plan))),
        Form::Markdown => Ok(readable(&markdown::markdown(plan))),
        Form::Json => notation::json(plan),
        Form::Yaml => notation::yaml(plan),
    }
}

/// How many end up how, and what is wasted: one sentence.
fn tally(plan: &Plan) -> String {
    let told = |counts: &BTreeMap<&str, usize>| {
        let told: Vec<String> =
            counts.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
        if told.is_empty() { "none".to_owned() } else { told.join(", ") }
    };
    let wasted: i128 = plan.volumes.iter().filter_map(|volume| volume.wasted_bytes).sum();
    let summary = &plan.summary;
    format!(
        "claims: {}; volumes: {}; {}",
        told(&summary.claims),
        told(&summary.volumes),
        match wasted {
            0 => "nothing wasted".to_owned(),
            wasted => format!("{} wasted on claims that ask for less", bytes(wasted)),
        }
    )
}

/// Where to learn what to do, if somebody has to do something.
fn advice(plan: &Plan) -> &'static str {
    if plan.is_stuck() {
        "to learn what to do about a claim: bindery explain pvc/NAMESPACE/NAME, with the same -f or cluster\n"
    } else {
        ""
    }
}

/// What is to be said of a claim beside its outcome and its volume.
fn said_of_claim(claim: &PlannedClaim) -> Option<String> {
    let equals = claim.equal_alternatives.filter(|count| *count > 0);
    let equals = equals.map(|count| format!("chosen by name among {} equal volumes", count + 1));
    claim.reason.clone().or(equals)
}

/// What restricts the plan, a line each, below what it restricts.
fn notes(plan: &Plan) -> String {
    let mut out = String::new();
    for note in &plan.notes {
        out.extend(["note: ", note.as_str(), "\n"]);
    }
    out
}

/// So many bytes, as a person says them.
fn bytes(count: i128) -> String {
    // The digits of a number are always an amount.
    let amount = Quantity::parse(&count.to_string()).unwrap_or(Quantity::ZERO);
    amount.bytes_display().to_string()
}

/// The claims for which volumes are kept that they do not have, by `NAMESPACE/NAME`.
struct Absentees<'a>(BTreeMap<&'a str, Option<&'a PlannedClaim>>);

impl<'a> Absentees<'a> {
    /// Those of a plan.
    fn of(plan: &'a Plan) -> Self {
        let reserved = plan.volumes.iter().filter(|volume| volume.outcome == VolumeFate::Reserved);
        let names = reserved.filter_map(|volume| Some((volume.claim.as_deref()?, None)));
        let mut absentees: BTreeMap<&str, Option<&PlannedClaim>> = names.collect();
        if !absentees.is_empty() {
            for claim in &plan.claims {
                let name = format!("{}/{}", claim.namespace, claim.name);
                if let Some(found) = absentees.get_mut(name.as_str()) {
                    *found = Some(claim);
                }
            }
        }
        Self(absentees)
    }

    /// For whom a volume is kept, and why that claim does not have it.
    fn told(&self, name: &str) -> String {
        let claim = self.0.get(name).copied().flatten();
        let why = match claim.map(|claim| claim.volume.as_deref()) {
            None => "which does not exist".to_owned(),
            Some(None) => "which does not take it".to_owned(),
            Some(Some(volume)) => format!("which has volume \"{volume}\""),
        };
        format!("kept for claim \"{name}\", {why}")
    }
}

/// What is to be said of a volume that no claim has or gets; the others stand beside their claims.
fn said_of(volume: &PlannedVolume, absentees: &Absentees<'_>) -> Option<String> {
    Some(match volume.outcome {
        VolumeFate::Bound | VolumeFate::Binds => return None,
        VolumeFate::Free => "no claim takes it".to_owned(),
        VolumeFate::Released => "its claim is gone".to_owned(),
        VolumeFate::Reserved => match volume.claim.as_deref() {
            Some(claim) if !claim.starts_with('/') && !claim.ends_with('/') => {
                absentees.told(claim)
            }
            Some(_) | None => {
                "its claimRef lacks a namespace or a name, so that no claim can have it".to_owned()
            }
        },
        VolumeFate::Failed => "its claim is gone and nobody here reclaims it".to_owned(),
        VolumeFate::Unknown => match volume.claim.as_deref() {
            Some(claim) => format!("whether claim \"{claim}\" exists is not known"),
            None => "whether a claim takes it is not known".to_owned(),
        },
    })
}

/// One line of a difference: what happened to the claim, its name, how it ended and how it ends.
type Line = (&'static str, String, Option<String>, Option<String>);

/// The difference as lines: changed claims, new ones, those that are gone.
fn lines(difference: &Difference) -> impl Iterator<Item = Line> {
    let key = |namespace: &str, name: &str| format!("{namespace}/{name}");
    let changed = difference.changed.iter().map(move |claim| {
        let name = key(&claim.namespace, &claim.name);
        let after = told(&claim.after, claim.why.as_deref());
        ("changed", name, Some(told(&claim.before, None)), Some(after))
    });
    let new = difference.new.iter().map(move |claim| {
        let name = key(&claim.namespace, &claim.name);
        ("new", name, None, Some(told(&claim.end, claim.why.as_deref())))
    });
    let gone = difference.gone.iter().map(move |claim| {
        ("gone", key(&claim.namespace, &claim.name), Some(told(&claim.end, None)), None)
    });
    changed.chain(new).chain(gone)
}

fn told(end: &End, why: Option<&str>) -> String {
    let mut told = end.outcome.clone();
    if let Some(volume) = &end.volume {
        told.extend([" ", volume.as_str()]);
    }
    if let Some(why) = why {
        told.extend([": ", why]);
    }
    told
}

/// How many claims changed, came and went: one sentence.
fn count(difference: &Difference) -> String {
    let Difference { changed, new, gone, unchanged } = difference;
    format!(
        "against the earlier plan: {} changed, {} new, {} gone, {unchanged} as before",
        changed.len(),
        new.len(),
        gone.len()
    )
}

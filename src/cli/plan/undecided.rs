//! Claims whose end the state alone does not decide: a volume whose reservation a binder gives up becomes free before or after
//! they are decided about, whichever reply of the API server comes first.
//!
//! The plan shows one order; its two extremes are settled beside it (`binding::Postponed`). Orders between them are not.

use std::collections::BTreeSet;
use std::iter;

use serde::Serialize;

use super::difference::{ClaimName, End, planned_end};
use crate::binding::{ClaimOutcome, Settlement, Write};
use crate::cli::preview::outcome::Planner;
use crate::cli::preview::planned::ClaimForecast;
use crate::cli::preview::settled::SettledCluster;
use crate::model::{ClaimKey, VolumeName};

/// A claim that may end otherwise than the plan shows.
#[derive(Clone, Debug, Serialize)]
pub(super) struct UndecidedClaim {
    /// The claim.
    #[serde(flatten)]
    pub claim: ClaimName,
    /// The end that the plan shows.
    #[serde(skip)]
    pub shown: End,
    /// The other ends that were found.
    pub ends: Vec<End>,
}

impl UndecidedClaim {
    /// Returns whether it needs a fix in one of its ends.
    pub(super) fn may_be_stuck(&self) -> bool {
        self.all_ends().any(|end| end.why.is_some())
    }

    fn all_ends(&self) -> impl Iterator<Item = &End> {
        iter::once(&self.shown).chain(&self.ends)
    }
}

/// The claims that may end otherwise: first those that may need a fix, then in the order in which claims are served.
pub(super) fn undecided(cluster: &SettledCluster) -> Vec<UndecidedClaim> {
    let SettledCluster { state, settlement, other_ends, .. } = cluster;
    if other_ends.is_empty() {
        return Vec::new();
    }
    let all = iter::once((&state.view, settlement))
        .chain(other_ends.iter().map(|(view, settlement)| (view, settlement)));
    let mut all: Vec<_> = all
        .map(|(view, settlement)| (Planner::new(view, settlement, &state.pods), view, settlement))
        .collect();
    let asked = asked_provisioner(cluster);
    let mut undecided = Vec::new();
    for (place, (key, shown)) in settlement.claims.iter().enumerate() {
        // What is unknown is so for what the input lacks, and the plan says that.
        if *shown == ClaimOutcome::Unknown {
            continue;
        }
        let known = all.iter_mut().filter_map(|(planner, view, settlement)| {
            let (_, outcome) = settlement.claims.get(place)?;
            (*outcome != ClaimOutcome::Unknown).then_some((planner, *view, outcome))
        });
        let known: Vec<_> = known.collect();
        let may_be_provisioned = matches!(shown, ClaimOutcome::Bound(_)) && asked.contains(key);
        if !may_be_provisioned && known.iter().all(|(_, _, outcome)| *outcome == shown) {
            continue;
        }
        let ends = known.into_iter().filter_map(|(planner, view, outcome)| {
            Some(planned_end(&planner.claim(view.claim(key)?, outcome)))
        });
        undecided.extend(undecided_claim(ends, may_be_provisioned));
    }
    undecided.sort_by_key(|claim| !claim.may_be_stuck());
    undecided
}

/// A claim with these ends, of which the first is shown, if there is another.
fn undecided_claim(
    mut ends: impl Iterator<Item = (ClaimName, End)>,
    may_be_provisioned: bool,
) -> Option<UndecidedClaim> {
    let (claim, shown) = ends.next()?;
    // The provisioner that was asked may make a volume before the free one is taken.
    let provisioned = may_be_provisioned.then(|| End {
        outcome: ClaimForecast::Provisions.to_string(),
        volume: None,
        why: None,
    });
    let mut others: Vec<End> = Vec::new();
    for end in ends.map(|(_, end)| end).chain(provisioned) {
        if iter::once(&shown).chain(&others).all(|other| !other.is_as(&end)) {
            others.push(end);
        }
    }
    (!others.is_empty()).then_some(UndecidedClaim { claim, shown, ends: others })
}

fn settlements(cluster: &SettledCluster) -> impl Iterator<Item = &Settlement> {
    iter::once(&cluster.settlement).chain(cluster.other_ends.iter().map(|(_, one)| one))
}

/// The claims for which a provisioner is asked in any order.
fn asked_provisioner(cluster: &SettledCluster) -> BTreeSet<&ClaimKey> {
    let writes = settlements(cluster).flat_map(|settlement| &settlement.writes);
    let asked = writes.filter_map(|write| match write {
        Write::SetProvisioner { claim, .. } => Some(&claim.name),
        Write::Reserve { .. }
        | Write::Unreserve { .. }
        | Write::Phase { .. }
        | Write::SetVolumeName { .. }
        | Write::Status { .. }
        | Write::SetClass { .. }
        | Write::MigrateClaim { .. }
        | Write::MigrateVolume { .. } => None,
    });
    asked.collect()
}

/// The note about them, if there are some.
pub(super) fn note(cluster: &SettledCluster, undecided: &[UndecidedClaim]) -> Option<String> {
    let (first, others) = undecided.split_first()?;
    let ends = first.all_ends().map(phrase).collect::<Vec<_>>().join(" or ");
    let others = match others.len() {
        0 => String::new(),
        count => format!("; {count} more in the field undecided of -o json"),
    };
    let given_up: BTreeSet<&str> =
        settlements(cluster).flat_map(Settlement::given_up).map(VolumeName::as_str).collect();
    // One that no claim would take, as it is being deleted, decides nothing.
    let taken = undecided.iter().flat_map(UndecidedClaim::all_ends);
    let taken = taken.filter_map(|end| end.volume.as_deref());
    let taken: BTreeSet<&str> = taken.filter(|volume| given_up.contains(volume)).collect();
    let (name, more) = (taken.first()?, taken.len() - 1);
    let reserved = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    let mut volumes = first.all_ends().filter_map(|end| end.volume.as_deref());
    let advice = match volumes.find(|volume| !given_up.contains(volume)) {
        Some(volume) => format!(
            "to make sure of PV {volume:?}, set its spec.claimRef to namespace {:?} and name {:?}",
            first.claim.namespace, first.claim.name
        ),
        None => format!("to make sure of it, plan again once PV {name:?} has no spec.claimRef"),
    };
    Some(format!(
        "PVC \"{}\" {ends}: PV {name:?}{reserved} is reserved for another PVC that does not use it, and may be free too late; \
         {advice}{others}",
        first.claim
    ))
}

fn phrase(end: &End) -> String {
    match (end.outcome.as_str(), &end.volume) {
        ("bound" | "binds", Some(volume)) => format!("gets PV {volume:?}"),
        ("provisions", _) => "gets a new PV".to_owned(),
        ("waits", _) => "waits".to_owned(),
        ("conflict", _) => "is in conflict".to_owned(),
        (outcome, _) => format!("is {outcome}"),
    }
}

//! From what the core decided to what a plan says of each claim and volume.
//!
//! Not here: what is said of one claim (`claim`), in which words (`reason`), and of one volume (`volume`).

mod claim;
mod reason;
mod volume;

use std::collections::BTreeMap;
use std::thread;

use super::alternatives::alternatives;
use super::report::{Plan, PlannedClaim, PlannedVolume};
use super::state::Pods;
use crate::binding::{Settlement, Tally, View, Write};
use crate::model::{Claim, ClaimKey, Volume, VolumeClass, VolumeName};

/// The plan of a cluster that settled to `after`. Claims are told in `order`.
pub(super) fn plan(after: &View, settlement: &Settlement, order: &[ClaimKey], pods: &Pods) -> Plan {
    thread::scope(|scope| {
        // Neither needs the other, and of many there are enough for two cores.
        let volumes = scope.spawn(|| volumes(after, settlement, pods));
        let claims = claims(after, settlement, order, pods);
        let volumes = volumes.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let waits = settlement.claims.values().any(Pods::matter_for);
        let notes = pods.note().filter(|_| waits).map(str::to_owned);
        Plan { notes: notes.into_iter().collect(), ..Plan::new(claims, volumes) }
    })
}

fn claims(
    after: &View,
    settlement: &Settlement,
    order: &[ClaimKey],
    pods: &Pods,
) -> Vec<PlannedClaim> {
    let alternatives = alternatives(after, &settlement.writes);
    let mut planner = Planner::new(after, settlement, pods);
    // Taken by name and told by age: neighbours in a tree are found in a fraction of the time.
    let mut by_name: Vec<(&ClaimKey, usize)> = order.iter().zip(0..).collect();
    by_name.sort_unstable();
    let mut claims = Vec::with_capacity(order.len());
    for (key, place) in by_name {
        if let (Some(claim), Some(outcome)) = (after.claim(key), settlement.claims.get(key)) {
            let equal_alternatives = alternatives.get(key).copied();
            let planned = planner.claim(claim, outcome);
            claims.push((place, PlannedClaim { equal_alternatives, ..planned }));
        }
    }
    claims.sort_unstable_by_key(|(place, _)| *place);
    claims.into_iter().map(|(_, claim)| claim).collect()
}

fn volumes(after: &View, settlement: &Settlement, pods: &Pods) -> Vec<PlannedVolume> {
    let planner = Planner::new(after, settlement, pods);
    let volumes = settlement.volumes.iter().filter_map(|(name, outcome)| {
        after.volume(name).map(|volume| planner.volume(volume, outcome))
    });
    volumes.collect()
}

/// Tells of the claims and volumes of a settled cluster.
pub(in crate::cli) struct Planner<'a> {
    after: &'a View,
    settlement: &'a Settlement,
    pods: &'a Pods,
    /// The volumes that claims come to name by what was written.
    new: BTreeMap<&'a VolumeName, &'a ClaimKey>,
    /// The volumes that were given, as if they were still free: made when the first claim starves.
    given: Option<View>,
    /// Reasons by what claims ask for: those that ask for the same, and for which nothing is kept, fail
    /// for the same.
    counted: BTreeMap<String, Tally>,
}

impl<'a> Planner<'a> {
    /// For a cluster that settled to `after`, of whose pods `pods` were seen.
    pub(in crate::cli) fn new(after: &'a View, settlement: &'a Settlement, pods: &'a Pods) -> Self {
        let new = named(&settlement.writes).collect();
        Self { after, settlement, pods, new, given: None, counted: BTreeMap::new() }
    }
}

/// The volumes that claims came to name, and those claims.
fn named(writes: &[Write]) -> impl Iterator<Item = (&VolumeName, &ClaimKey)> {
    writes.iter().filter_map(|write| match write {
        Write::Name { claim, volume, .. } => Some((volume, &claim.name)),
        Write::Reserve { .. }
        | Write::Unreserve { .. }
        | Write::Phase { .. }
        | Write::Status { .. }
        | Write::SetClass { .. }
        | Write::Ask { .. }
        | Write::MigrateClaim { .. }
        | Write::MigrateVolume { .. } => None,
    })
}

/// By how many bytes the volume is larger than what the claim asks for; none if it is not.
fn wasted(volume: &Volume, claim: &Claim) -> Option<i128> {
    let bytes = volume.capacity.rounded_up_units() - claim.request.rounded_up_units();
    Some(bytes).filter(|bytes| *bytes > 0)
}

fn class(class: VolumeClass<'_>) -> Option<String> {
    match class {
        VolumeClass::Classless => None,
        VolumeClass::Named(name) => Some(name.to_string()),
    }
}

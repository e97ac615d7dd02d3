//! From what the core decided to what a plan says of each claim and volume.
//!
//! Not here: what is said of one claim (`claim`), in which words (`reason`), and of one volume (`volume`).

mod claim;
mod reason;
mod volume;

use std::collections::BTreeMap;
use std::thread::{self, ScopedJoinHandle};

use super::ByHash;
use super::alternatives::alternatives;
use super::report::{Plan, PlannedClaim, PlannedVolume};
use super::state::{Denied, Pods};
use crate::binding::{Settlement, Tally, View, Write};
use crate::model::{Claim, ClaimKey, Volume, VolumeClass, VolumeName};

/// The plan of a cluster that settled to `after`, without what was denied.
pub(super) fn plan(after: &View, settlement: &Settlement, pods: &Pods, denied: &Denied) -> Plan {
    let planner = Planner::new(after, settlement, pods);
    thread::scope(|scope| {
        // None needs another, and of many there are enough for all cores.
        let of_volumes = planner.clone();
        let volumes = scope.spawn(move || volumes(&of_volumes));
        let alternatives = scope.spawn(|| alternatives(after, &settlement.writes));
        let (keys, mut claims): (Vec<&ClaimKey>, Vec<PlannedClaim>) = claims(planner);
        let (volumes, alternatives) = (joined(volumes), joined(alternatives));
        for (key, claim) in keys.into_iter().zip(&mut claims) {
            claim.equal_alternatives = alternatives.get(key).copied();
        }
        claims.extend(denied.claims.values().map(|(claim, reason)| claim::denied(claim, reason)));
        let waits = settlement.claims.iter().any(|(_, outcome)| Pods::matter_for(outcome));
        let notes = pods.note().filter(|_| waits).map(str::to_owned);
        Plan {
            notes: notes.into_iter().chain(denied.notes()).collect(),
            ..Plan::new(claims, volumes)
        }
    })
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn claims(mut planner: Planner<'_>) -> (Vec<&ClaimKey>, Vec<PlannedClaim>) {
    let claims = planner.settlement.claims.iter().filter_map(|(key, outcome)| {
        planner.after.claim(key).map(|claim| (key, planner.claim(claim, outcome)))
    });
    claims.unzip()
}

fn volumes(planner: &Planner<'_>) -> Vec<PlannedVolume> {
    let volumes = planner.settlement.volumes.iter().filter_map(|(name, outcome)| {
        planner.after.volume(name).map(|volume| planner.volume(volume, outcome))
    });
    volumes.collect()
}

/// Tells of the claims and volumes of a settled cluster.
#[derive(Clone)]
pub(in crate::cli) struct Planner<'a> {
    after: &'a View,
    settlement: &'a Settlement,
    pods: &'a Pods,
    /// The volumes that claims come to name by what was written.
    new: ByHash<&'a VolumeName, &'a ClaimKey>,
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

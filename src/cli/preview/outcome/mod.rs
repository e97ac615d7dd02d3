//! The outcome of each claim and volume, from the decisions of the core.
//!
//! Not here: one claim (`claim`), its reason in words (`reason`), one volume (`volume`).

mod claim;
mod reason;
mod volume;

use std::collections::BTreeMap;

use super::planned::{PlannedClaim, PlannedVolume};
use crate::binding::{FitCounts, NameHasher, Settlement, View, Write};
use crate::cli::input::dump::PodCoverage;
use crate::model::{Claim, ClaimKey, Volume, VolumeClass, VolumeName};

/// A map for lookups: no output depends on its order. A tree of 100,000 names compares dozens of them for each search.
pub(in crate::cli) type ByHash<K, V> = hashbrown::HashMap<K, V, NameHasher>;

/// Plans the claims and volumes of a settled cluster.
#[derive(Clone)]
pub(in crate::cli) struct Planner<'a> {
    after: &'a View,
    settlement: &'a Settlement,
    pods: &'a PodCoverage,
    /// The volumes that claims come to name by what was written.
    new: ByHash<&'a VolumeName, &'a ClaimKey>,
    /// The volumes that were given, as if they were still free: made for the first unmatched claim.
    given: Option<View>,
    /// Reasons by what claims ask for: those that ask for the same, and for which no volume is reserved,
    /// fail for the same.
    counted: BTreeMap<String, FitCounts>,
}

impl<'a> Planner<'a> {
    /// For a cluster that settled to `after`, of whose pods `pods` were seen.
    pub(in crate::cli) fn new(
        after: &'a View,
        settlement: &'a Settlement,
        pods: &'a PodCoverage,
    ) -> Self {
        let new = named(&settlement.writes).collect();
        Self { after, settlement, pods, new, given: None, counted: BTreeMap::new() }
    }

    /// Returns what becomes of all claims, in the order in which they are served.
    pub(in crate::cli) fn claims(&mut self) -> (Vec<&'a ClaimKey>, Vec<PlannedClaim>) {
        let (after, settlement) = (self.after, self.settlement);
        let count = settlement.claims.len();
        let (mut keys, mut claims) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (key, outcome) in &settlement.claims {
            let Some(claim) = after.claim(key) else { continue };
            keys.push(key);
            claims.push(self.claim(claim, outcome));
        }
        (keys, claims)
    }

    /// Returns what becomes of all volumes, by name.
    pub(in crate::cli) fn volumes(&self) -> Vec<PlannedVolume> {
        let mut volumes = Vec::with_capacity(self.settlement.volumes.len());
        volumes.extend(self.settlement.volumes.iter().filter_map(|(name, outcome)| {
            self.after.volume(name).map(|volume| self.volume(volume, outcome))
        }));
        volumes
    }
}

/// The volumes that claims came to name, and those claims.
fn named(writes: &[Write]) -> impl Iterator<Item = (&VolumeName, &ClaimKey)> {
    writes.iter().filter_map(|write| match write {
        Write::SetVolumeName { claim, volume, .. } => Some((volume, &claim.name)),
        Write::Reserve { .. }
        | Write::Unreserve { .. }
        | Write::Phase { .. }
        | Write::Status { .. }
        | Write::SetClass { .. }
        | Write::SetProvisioner { .. }
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

//! The plan: a public, versioned contract.
//!
//! Every output is a rendering of this value. Fields are only ever added; `docs/schemas/plan.json`
//! describes them.

use std::collections::BTreeMap;
use std::thread::{self, ScopedJoinHandle};

use serde::Serialize;

use super::alternatives::alternatives;
use super::difference::{Difference, KIND};
use super::undecided::UndecidedClaim;
use crate::cli::input::dump::{PodCoverage, StorageState};
use crate::cli::preview::outcome::Planner;
use crate::cli::preview::planned::{PlannedClaim, PlannedVolume};
use crate::cli::preview::settled::SettledCluster;
use crate::cli::render::API_VERSION;

/// The whole plan.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlanReport {
    /// `bindery.dev/v1`.
    pub api_version: &'static str,
    /// `PlanReport`.
    pub kind: &'static str,
    /// Every claim, in the order in which claims are served.
    pub claims: Vec<PlannedClaim>,
    /// Every volume, by name.
    pub volumes: Vec<PlannedVolume>,
    /// How many end up how.
    pub summary: OutcomeCounts,
    /// Claims that may end otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<UndecidedClaim>,
    /// Limits of the plan.
    pub notes: Vec<String>,
    /// What changed against the plan that was compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
}

/// How many end up how; what is zero is left out.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct OutcomeCounts {
    /// Claims by outcome.
    pub claims: BTreeMap<String, usize>,
    /// Volumes by outcome.
    pub volumes: BTreeMap<String, usize>,
}

impl PlanReport {
    /// The plan of a cluster, without what was denied.
    pub(super) fn of(cluster: &SettledCluster) -> Self {
        let SettledCluster { state, settlement, denied: denials, .. } = cluster;
        let StorageState { view: after, pods, .. } = state;
        let mut planner = Planner::new(after, settlement, pods);
        thread::scope(|scope| {
            // They are independent, so each has a thread.
            let of_volumes = planner.clone();
            let volumes = scope.spawn(move || of_volumes.volumes());
            let alternatives = scope.spawn(|| alternatives(after, &settlement.writes));
            let (keys, mut claims) = planner.claims();
            let (volumes, alternatives) = (joined(volumes), joined(alternatives));
            for (key, claim) in keys.into_iter().zip(&mut claims) {
                claim.equal_alternatives = alternatives.get(key).copied();
            }
            claims.extend(
                denials.claims.values().map(|(claim, reason)| Planner::denied(claim, reason)),
            );
            let waits =
                settlement.claims.iter().any(|(_, outcome)| PodCoverage::matters_for(outcome));
            let note = pods.note().filter(|_| waits).map(str::to_owned);
            let notes = note.into_iter().chain(denials.notes()).collect();
            let summary = OutcomeCounts {
                claims: counts(claims.iter().map(|claim| claim.outcome)),
                volumes: counts(volumes.iter().map(|volume| volume.outcome)),
            };
            let (api_version, kind) = (API_VERSION, KIND);
            let undecided = Vec::new();
            Self { api_version, kind, claims, volumes, summary, undecided, notes, difference: None }
        })
    }

    /// Returns whether a claim needs a fix, or may need one.
    pub(super) fn is_stuck(&self) -> bool {
        self.claims.iter().any(|claim| claim.outcome.is_stuck())
            || self.undecided.iter().any(UndecidedClaim::may_be_stuck)
    }
}

/// Returns how many end up how.
pub(super) fn counts<T: Ord + ToString>(
    outcomes: impl Iterator<Item = T>,
) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::<T, usize>::new();
    for outcome in outcomes {
        *counts.entry(outcome).or_default() += 1;
    }
    counts.into_iter().map(|(outcome, count)| (outcome.to_string(), count)).collect()
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

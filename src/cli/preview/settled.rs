//! A cluster once the binder has done all that it can.

use std::path::PathBuf;

use super::admission::{Denied, judge_manifests};
use crate::binding::{Postponed, Settlement, View, may_give_up, settle, settle_with};
use crate::cli::args::ClusterArgs;
use crate::cli::exit::Failure;
use crate::cli::input::cluster::ClusterClient;
use crate::cli::input::dump::StorageState;
use crate::cli::input::dump::batch::ReadPurpose;
use crate::model::{Claim, ClaimKey};

/// A cluster once the binder has done all that it can.
#[derive(Debug)]
pub(in crate::cli) struct SettledCluster {
    /// Its objects after that.
    pub(in crate::cli) state: StorageState,
    /// The outcome of each claim and volume.
    pub(in crate::cli) settlement: Settlement,
    /// For a plan, objects and outcomes if all volumes that are given up are free before a claim chooses, and if all claims
    /// choose before. Empty where none is given up.
    pub(in crate::cli) other_ends: Vec<(View, Settlement)>,
    /// Manifests that `check` denies.
    pub(in crate::cli) denied: Denied,
}

impl SettledCluster {
    /// Reads and settles the dumps that are named, else the cluster.
    pub(in crate::cli) fn read(
        paths: &[PathBuf],
        cluster: &ClusterArgs,
        purpose: ReadPurpose<'_>,
    ) -> Result<Self, Failure> {
        if !paths.is_empty() {
            return Self::of_files(paths, purpose);
        }
        let cluster = ClusterClient::connect(cluster)?;
        let lists = cluster.lists()?;
        Self::of_cluster(cluster, &lists, purpose)
    }

    /// Reads and settles dumps, as what they show once their manifests were applied.
    pub(in crate::cli) fn of_files(
        paths: &[PathBuf],
        purpose: ReadPurpose<'_>,
    ) -> Result<Self, Failure> {
        let (mut state, texts) = StorageState::of_files(paths, purpose)?;
        let denied = judge_manifests(&mut state, &texts)?;
        Ok(Self { denied, ..Self::of_state(state, purpose) })
    }

    /// Reads and settles what a cluster lists of volumes, claims and classes, and the pods that wait.
    pub(in crate::cli) fn of_cluster(
        cluster: ClusterClient,
        lists: &[String],
        purpose: ReadPurpose<'_>,
    ) -> Result<Self, Failure> {
        Ok(Self::of_state(StorageState::of_cluster(cluster, lists, purpose)?, purpose))
    }

    /// Settles what was read.
    pub(in crate::cli) fn of_state(mut state: StorageState, purpose: ReadPurpose<'_>) -> Self {
        let order = order(&state.view);
        // A copy of a million objects is expensive, and few clusters need it.
        let before =
            (purpose == ReadPurpose::Plan && may_give_up(&state.view)).then(|| state.view.clone());
        let settlement = settle(&mut state.view, &order, &state.listed);
        let end = |mut view: View, postponed| {
            let settlement = settle_with(&mut view, &order, &state.listed, postponed);
            (view, settlement)
        };
        let before = before.filter(|_| settlement.given_up().next().is_some());
        let other_ends = before.map_or_else(Vec::new, |before| {
            vec![end(before.clone(), Postponed::Choices), end(before, Postponed::GivingUp)]
        });
        Self { state, settlement, other_ends, denied: Denied::default() }
    }
}

/// The claims in the order in which those that wait are served.
fn order(view: &View) -> Vec<ClaimKey> {
    let mut claims: Vec<&Claim> = view.claims().map(AsRef::as_ref).collect();
    claims.sort_by(|a, b| a.creation_order().cmp(&b.creation_order()));
    claims.into_iter().map(|claim| claim.key.clone()).collect()
}

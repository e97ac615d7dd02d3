//! A cluster once the binder has done all that it can.

use std::path::PathBuf;

use super::admission::{Denied, judge_manifests};
use crate::binding::{ListedCollections, Settlement, View, settle};
use crate::cli::exit::Failure;
use crate::cli::input::cluster::ClusterClient;
use crate::cli::input::dump::batch::{RawObject, ReadPurpose};
use crate::cli::input::dump::{PodCoverage, StorageState};
use crate::model::{Claim, ClaimKey};

/// A cluster once the binder has done all that it can.
#[derive(Debug)]
pub(in crate::cli) struct SettledCluster {
    /// Its objects.
    pub(in crate::cli) after: View,
    /// The outcome of each claim and volume.
    pub(in crate::cli) settlement: Settlement,
    /// Manifests that `check` denies.
    pub(in crate::cli) denied: Denied,
    /// Whether the pods are known that claims wait for.
    pub(in crate::cli) pods: PodCoverage,
    /// Which kinds of objects were all seen.
    pub(in crate::cli) listed: ListedCollections,
    /// The files, or `cluster`.
    pub(in crate::cli) source: String,
    /// Objects of other kinds, as JSON.
    pub(in crate::cli) others: Vec<RawObject>,
}

impl SettledCluster {
    /// Reads and settles dumps, as what they show once their manifests were applied.
    pub(in crate::cli) fn of_files(
        paths: &[PathBuf],
        purpose: ReadPurpose,
    ) -> Result<Self, Failure> {
        let (mut state, texts) = StorageState::of_files(paths, purpose)?;
        let denied = judge_manifests(&mut state, &texts)?;
        Ok(Self::settle(state, denied))
    }

    /// Reads and settles what a cluster lists of volumes, claims and classes, and the pods that wait.
    pub(in crate::cli) fn of_cluster(
        cluster: &ClusterClient,
        lists: &[String],
    ) -> Result<Self, Failure> {
        Ok(Self::settle(StorageState::of_cluster(cluster, lists)?, Denied::default()))
    }

    /// Reads and settles what a cluster, by this name, has listed of volumes, claims and classes.
    pub(in crate::cli) fn of_lists(lists: &[String], name: &str) -> Result<Self, Failure> {
        let state = StorageState::of_lists(lists, name, ReadPurpose::Explanation)?;
        Ok(Self::settle(state, Denied::default()))
    }

    fn settle(state: StorageState, denied: Denied) -> Self {
        let StorageState { view: mut after, pods, listed, source, others, .. } = state;
        let order = order(&after);
        let settlement = settle(&mut after, &order, &listed);
        Self { after, settlement, denied, pods, listed, source, others }
    }
}

/// The claims in the order in which those that wait are served.
fn order(view: &View) -> Vec<ClaimKey> {
    let mut claims: Vec<&Claim> = view.claims().map(AsRef::as_ref).collect();
    claims.sort_by(|a, b| a.creation_order().cmp(&b.creation_order()));
    claims.into_iter().map(|claim| claim.key.clone()).collect()
}

//! Reads what an import depends on, and makes its next step.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::cluster_requests::name_of;
use super::error::MoveError;
use super::requests::{MoveRequests, Permission, StoredClaim, StoredVolume, Written};
use crate::api::moves::{import_finish_patch, made_volume};
use crate::model::{ClaimKey, ClassName, NodeAffinity, ReclaimPolicy, Volume, VolumeName};
use crate::moves::{
    ClaimRead, ImportEvidence, ImportProblem, ImportStep, ImportTarget, ImportWrite, ImportedPair,
    ImportedVolume, decide_import,
};

/// A pair that is to be created.
#[derive(Clone, Debug)]
pub struct ImportOrder {
    /// The manifest of the volume.
    pub volume_manifest: Value,
    /// The manifest of the claim.
    pub claim_manifest: Value,
    /// The same volume, as decisions read it.
    pub volume: Volume,
    /// The name of the claim.
    pub key: ClaimKey,
    /// What the volume is recognized by: the uid of the volume in its cluster.
    pub source: Box<str>,
    /// The reclaim policy in the end.
    pub policy: ReclaimPolicy,
    /// The StorageClasses that have to exist.
    pub classes: BTreeSet<ClassName>,
    /// Whether the driver has to have a CSIDriver.
    pub needs_driver: bool,
    /// Whether the other cluster cannot delete the data any more.
    pub is_handed_over: bool,
    /// How long ago the other cluster was read.
    pub age: Duration,
}

/// How far an import has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportAdvance {
    /// This write was made.
    Made(ImportWrite),
    /// An object has changed between the read and the write: the step is decided again.
    Changed,
    /// It waits for the binder.
    Waiting,
    /// A person has to solve this.
    Stopped(ImportProblem),
    /// The import has ended.
    Ended,
}

/// Makes the next step of an import.
///
/// # Errors
///
/// A request failed. Whether its write was made shows in the next call.
pub async fn advance_import(
    requests: &MoveRequests,
    order: &ImportOrder,
) -> Result<ImportAdvance, MoveError> {
    let name = &order.volume.name;
    let (stored, volume, claim) = read_names(requests, order).await?;
    let seen = ImportEvidence { name, key: &order.key, volume: &volume, claim: &claim };
    let write = match decide_import(&seen) {
        ImportStep::Wait => return Ok(ImportAdvance::Waiting),
        ImportStep::Stop(problem) => return Ok(ImportAdvance::Stopped(problem)),
        ImportStep::End => return Ok(ImportAdvance::Ended),
        ImportStep::Write(write) => write,
    };
    let written = match (write, stored) {
        (ImportWrite::CreateVolume, _) => {
            requests.create_volume(name, &order.volume_manifest).await?
        }
        (ImportWrite::CreateClaim, _) => {
            requests.create_claim(&order.key, &order.claim_manifest).await?
        }
        (ImportWrite::Finish, Some(stored)) => {
            let patch = import_finish_patch(&stored.moved, &order.policy);
            requests.patch_volume(name, &patch).await?
        }
        // The volume was read a moment ago.
        (ImportWrite::Finish, None) => Written::Stale,
    };
    Ok(match written {
        Written::Made => ImportAdvance::Made(write),
        Written::Stale => ImportAdvance::Changed,
    })
}

/// Reads the volume and the claim of an import.
async fn read_names(
    requests: &MoveRequests,
    order: &ImportOrder,
) -> Result<(Option<StoredVolume>, ImportedVolume, ClaimRead), MoveError> {
    let stored = requests.volume(&order.volume.name).await?;
    let volume = stored.as_ref().map_or(ImportedVolume::Absent, |stored| {
        made_volume(&stored.object, &stored.moved, &order.source)
    });
    let claim = StoredClaim::state(requests.claim(&order.key).await?.as_ref());
    Ok((stored, volume, claim))
}

/// Returns what the check of an import reads of its pair.
///
/// # Errors
///
/// A request failed.
pub async fn read_pair(
    requests: &MoveRequests,
    order: &ImportOrder,
) -> Result<ImportedPair, MoveError> {
    let (_, stored, claim) = read_names(requests, order).await?;
    Ok(ImportedPair {
        volume: order.volume.clone(),
        key: order.key.clone(),
        classes: order.classes.clone(),
        needs_driver: order.needs_driver,
        policy: order.policy.clone(),
        is_handed_over: order.is_handed_over,
        age: order.age,
        stored,
        claim,
    })
}

/// Returns what exists in the cluster, as far as imports depend on it.
///
/// # Errors
///
/// A request failed: what exists is then not known.
pub async fn import_target(
    requests: &MoveRequests,
    orders: &[ImportOrder],
    age_max: Duration,
) -> Result<ImportTarget, MoveError> {
    let volumes = requests.volumes().await?;
    let classes = requests.storage_objects("storageclasses").await?;
    let drivers = requests.storage_objects("csidrivers").await?;
    let mut target = ImportTarget {
        volumes: volumes.into_iter().map(|stored| stored.volume).collect(),
        classes: classes.iter().map(|class| ClassName::new(name_of(class))).collect(),
        drivers: drivers.iter().map(|driver| name_of(driver).into()).collect(),
        age_max,
        ..ImportTarget::default()
    };
    for order in orders {
        let namespace = &*order.key.namespace;
        if !target.namespaces.contains_key(namespace) {
            let read = requests.namespace(namespace).await?;
            let deletion = read.map(|namespace| namespace.deletion);
            let _ = target.namespaces.insert(namespace.into(), deletion);
        }
    }
    let is_tied = |order: &ImportOrder| order.volume.node_affinity != NodeAffinity::Unrestricted;
    if orders.iter().any(is_tied) {
        target.nodes = requests.nodes().await?;
    }
    Ok(target)
}

impl MoveRequests {
    /// Returns what the API server would deny of an import that has not begun: its volume or claim, or a request that this
    /// account may not make.
    ///
    /// # Errors
    ///
    /// There was no answer.
    pub async fn import_denials(
        &self,
        order: &ImportOrder,
    ) -> Result<Vec<ImportProblem>, MoveError> {
        let (name, key): (&VolumeName, _) = (&order.volume.name, &order.key);
        let mut problems = Vec::new();
        let denial = self.volume_denial(name, &order.volume_manifest).await?;
        problems.extend(denial.map(|it| ImportProblem::VolumeDenied(name.clone(), it.into())));
        let denial =
            self.creation_denial(key, &order.claim_manifest, Some("missing-volume")).await?;
        problems.extend(denial.map(|it| ImportProblem::ClaimDenied(key.clone(), it.into())));
        let permission = Permission {
            verb: "patch",
            group: "",
            resource: "persistentvolumes",
            namespace: "".into(),
        };
        if !self.may(&permission).await? {
            problems.push(ImportProblem::Forbidden(permission.to_string().into()));
        }
        Ok(problems)
    }
}

//! What is in the trash, as programs read it. Fields are only ever added.

use jiff::Timestamp;
use serde::Serialize;

use super::found::TrashedVolume;
use crate::cli::render::API_VERSION;

/// The whole list.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TrashReport {
    /// `bindery.dev/v1`.
    pub api_version: &'static str,
    /// The volumes, by namespace and name of their claims.
    pub volumes: Vec<TrashEntry>,
}

/// One volume.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TrashEntry {
    /// Its size.
    pub capacity: String,
    /// When its claim was seen to be gone; nothing if the controller has not seen it yet.
    pub deleted_at: Option<Timestamp>,
    /// Its name.
    pub persistent_volume: String,
    /// The claim that had it.
    pub persistent_volume_claim: TrashedClaim,
    /// The reclaim policy that it gets again.
    pub reclaim_policy: String,
    /// Its StorageClass; empty if it has none.
    pub storage_class: String,
    /// When that policy is set again; nothing if it is not.
    pub until: Option<Timestamp>,
    /// Whether a person has reserved it, so that it does not go; no part of the contract.
    #[serde(skip)]
    pub is_reserved_by_hand: bool,
}

/// A claim that was deleted.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TrashedClaim {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

impl TrashReport {
    /// The list of these volumes.
    pub(super) fn of(volumes: &[TrashedVolume]) -> Self {
        Self { api_version: API_VERSION, volumes: volumes.iter().map(TrashEntry::of).collect() }
    }
}

impl TrashEntry {
    fn of(volume: &TrashedVolume) -> Self {
        Self {
            capacity: volume.capacity.clone(),
            deleted_at: volume.released_at(),
            persistent_volume: volume.moved.name.to_string(),
            persistent_volume_claim: TrashedClaim {
                name: volume.claim.name.to_string(),
                namespace: volume.claim.namespace.to_string(),
            },
            reclaim_policy: volume.record.policy.to_string(),
            storage_class: volume.class.clone(),
            until: volume.until(),
            is_reserved_by_hand: volume.is_reserved_by_hand,
        }
    }
}

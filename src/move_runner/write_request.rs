//! The request of each write of a move: the same for the one that is sent and the one that is only shown.

use serde_json::Value;

use super::error::MoveError;
use super::requests::{MoveRequests, StoredVolume, Written};
use crate::api::moves::{
    claim_from, fence_patch, finish_patch, record_patch, recorded_copy_of, replaced,
    replacement_manifest, reserve_patch,
};
use crate::model::{ClaimKey, ResourceVersion, Uid, VolumeName};
use crate::moves::{Journal, MoveWrite, ReplacementWrite};

/// A request that changes one object.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteRequest {
    /// A merge patch of a volume.
    PatchVolume(VolumeName, Value),
    /// The creation of a volume, with its manifest.
    CreateVolume(VolumeName, Value),
    /// A merge patch of a claim.
    PatchClaim(ClaimKey, Value),
    /// The creation of a claim, with its manifest.
    CreateClaim(ClaimKey, Value),
    /// The deletion of a claim, if it still has this uid and version.
    DeleteClaim(ClaimKey, Uid, ResourceVersion),
}

impl WriteRequest {
    /// Returns the request of a write of the move of `stored`. `copy` is the copy of its claim that the first write records,
    /// if it records one.
    pub fn of_move(
        write: &MoveWrite,
        stored: &StoredVolume,
        journal: &Journal,
        copy: Option<&Value>,
    ) -> Self {
        let volume = &stored.moved;
        match write {
            MoveWrite::Record => {
                Self::PatchVolume(volume.name.clone(), record_patch(volume, journal, copy))
            }
            MoveWrite::DeleteClaim(key, uid, version) => {
                Self::DeleteClaim(key.clone(), uid.clone(), version.clone())
            }
            MoveWrite::CreateClaim(key) => {
                Self::CreateClaim(key.clone(), claim_from(&stored.object, &volume.name, key))
            }
            MoveWrite::Reserve(key, uid) => {
                Self::PatchVolume(volume.name.clone(), reserve_patch(volume, key, uid))
            }
            MoveWrite::Fence(key, uid, version) => {
                Self::PatchClaim(key.clone(), fence_patch(uid, version, journal))
            }
            MoveWrite::Finish => {
                Self::PatchVolume(volume.name.clone(), finish_patch(volume, journal))
            }
        }
    }

    /// Returns the request of a write that creates the volume `name` in the place of `former`; nothing if the volume that it
    /// changes is not there. `stored` is the volume `name`.
    pub fn of_replacement(
        write: &ReplacementWrite,
        former: Option<&StoredVolume>,
        (name, stored): (&VolumeName, Option<&StoredVolume>),
        journal: &Journal,
        copy: Option<&Value>,
    ) -> Option<Self> {
        Some(match write {
            ReplacementWrite::Retain => Self::of_move(&MoveWrite::Record, former?, journal, copy),
            ReplacementWrite::Create => {
                let former = former?;
                let manifest = replacement_manifest(&former.object, name, &former.moved.uid);
                Self::CreateVolume(name.clone(), manifest)
            }
            ReplacementWrite::Record => {
                let stored = stored?;
                let copy = replaced(&stored.object)
                    .and_then(|(_, uid)| recorded_copy_of(&stored.object, &uid.to_string()));
                Self::of_move(&MoveWrite::Record, stored, journal, copy.as_ref())
            }
            ReplacementWrite::DeleteClaim(key, uid, version) => {
                Self::DeleteClaim(key.clone(), uid.clone(), version.clone())
            }
        })
    }

    /// Sends the request.
    ///
    /// # Errors
    ///
    /// It was rejected, or its outcome is unknown.
    pub async fn send(&self, requests: &MoveRequests) -> Result<Written, MoveError> {
        match self {
            Self::PatchVolume(name, patch) => requests.patch_volume(name, patch).await,
            Self::CreateVolume(name, manifest) => requests.create_volume(name, manifest).await,
            Self::PatchClaim(key, patch) => requests.patch_claim(key, patch).await,
            Self::CreateClaim(key, manifest) => requests.create_claim(key, manifest).await,
            Self::DeleteClaim(key, uid, version) => requests.delete_claim(key, uid, version).await,
        }
    }
}

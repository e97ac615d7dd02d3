//! What a watch shows of a volume, as far as the trash is concerned.

use jiff::Timestamp;
use serde_json::Value;

use crate::api::digest::Digest;
use crate::api::moves::{claim_copy, is_moving, recorded_copy};
use crate::api::our_annotations::our_annotations;
use crate::api::trash::{is_emptied, own_keep, trash_record};
use crate::model::annotations::TRASH;
use crate::model::{EffectiveClass, ReclaimPolicy, Uid, Volume};
use crate::moves::{ClaimRead, MovedVolume};
use crate::trash::{
    ClaimCopy, Clock, OwnKeep, Retention, TrashEvidence, TrashPolicy, TrashRecord, TrashStep,
    decide_trash,
};

/// A digest of the copy of a claim.
pub type CopyDigest = [u64; 2];

/// A volume as a watch showed it.
#[derive(Clone, Debug)]
pub struct WatchedVolume {
    /// What a move reads of it.
    pub moved: MovedVolume,
    /// Its StorageClass.
    pub class: EffectiveClass,
    /// Its capacity in bytes.
    pub bytes: i64,
    /// Its trash record.
    pub record: Option<TrashRecord>,
    own: OwnKeep,
    is_emptied: bool,
    is_moving: bool,
    copy: Option<CopyDigest>,
}

impl WatchedVolume {
    /// Returns how long it stays after its claim was deleted.
    pub fn retention(&self, policy: &TrashPolicy) -> Retention {
        let namespace = self.moved.reservation.key().map_or("", |key| &*key.namespace);
        policy.retention(self.class.as_class(), namespace, self.own)
    }

    /// Returns whether it has a trash record, or gets one once it is bound.
    pub fn is_of_concern(&self, policy: &TrashPolicy) -> bool {
        let is_destroyed = match self.moved.policy {
            ReclaimPolicy::Delete | ReclaimPolicy::Recycle => true,
            ReclaimPolicy::Retain | ReclaimPolicy::Newer(_) => false,
        };
        self.record.is_some() || (is_destroyed && self.retention(policy) != Retention::None)
    }

    /// Returns the next step as far as it is known without a read. `claim` is the digest of its claim, if that is known; the
    /// last are what the time is, and since when this process has looked after volumes.
    pub fn next_step(
        &self,
        policy: &TrashPolicy,
        claim: Option<&CopyDigest>,
        (clock, watched_since): (Clock, Timestamp),
    ) -> TrashStep {
        let copy = match (claim, &self.copy) {
            (None, _) => ClaimCopy::Unread,
            (Some(claim), Some(copy)) if claim == copy => ClaimCopy::Current,
            (Some(_), Some(_) | None) => ClaimCopy::Outdated,
        };
        decide_trash(&TrashEvidence {
            volume: &self.moved,
            is_moving: self.is_moving,
            record: self.record.as_ref(),
            retention: self.retention(policy),
            is_emptied: self.is_emptied,
            claim: &ClaimRead::Unread,
            copy,
            clock,
            watched_since,
        })
    }
}

/// Returns what the trash reads of a volume, which was read from `text`; nothing if it has no uid or version.
///
/// # Errors
///
/// Its trash record cannot be read.
pub fn watched_volume(
    volume: &Volume,
    text: &str,
) -> Result<Option<WatchedVolume>, serde_json::Error> {
    let Some(moved) = MovedVolume::of(volume) else { return Ok(None) };
    let annotations = our_annotations(text)?;
    let record = recorded(&annotations, &moved.uid)?;
    Ok(Some(WatchedVolume {
        class: volume.class(),
        bytes: i64::try_from(volume.capacity.rounded_up_units()).unwrap_or(i64::MAX),
        own: own_keep(&annotations),
        is_emptied: is_emptied(&annotations, record.as_ref()),
        is_moving: is_moving(&annotations, &moved.uid),
        // Without a record, no copy is compared.
        copy: record.as_ref().and_then(|_| copy_digest(&annotations, &moved.uid)),
        record,
        moved,
    }))
}

/// Returns the trash record among the annotations of the volume with this uid.
pub(super) fn recorded(
    annotations: &Value,
    uid: &Uid,
) -> Result<Option<TrashRecord>, serde_json::Error> {
    let text = annotations.get(TRASH).and_then(Value::as_str);
    Ok(text.map(|text| trash_record(text, uid)).transpose()?.flatten())
}

fn copy_digest(annotations: &Value, uid: &Uid) -> Option<CopyDigest> {
    let volume =
        serde_json::json!({"metadata": {"uid": uid.to_string(), "annotations": annotations}});
    recorded_copy(&volume).map(|copy| Digest::of(&copy.to_string()))
}

/// Returns the digest of the copy of a claim (JSON text).
///
/// # Errors
///
/// It is no JSON.
pub fn claim_digest(text: &str) -> Result<CopyDigest, serde_json::Error> {
    let claim: Value = serde_json::from_str(text)?;
    Ok(Digest::of(&claim_copy(&claim).to_string()))
}

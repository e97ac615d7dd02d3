//! What is left of a volume whose object was deleted while its storage stays, as JSON.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::moves::{hand_over, journal, portable_volume, recorded_copy};
use super::trash::policy_before_trash;
use super::volume::{Wanted, volume as stored_volume};
use crate::model::annotations::{MOVE, RECREATED};
use crate::model::{Backend, ClaimKey, ReclaimPolicy, Reservation, Uid, Volume, VolumeName};

/// A tombstone, with what the volume is created again from.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TombstoneRecord {
    /// When the deletion was seen.
    pub deleted: Timestamp,
    /// The uid of the volume.
    pub uid: String,
    /// The volume, without what belonged to its object.
    volume: Value,
    /// The reclaim policy that it had, or gets again once it is not in the trash.
    reclaim_policy: String,
    /// The uid of its claim; absent if it was reserved by name alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim_uid: Option<String>,
    /// The copy of its claim; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<Value>,
}

impl TombstoneRecord {
    /// The tombstone of a volume as it was last (its JSON is `text`); nothing for one whose storage goes with it,
    /// belongs to another cluster or is a disk of one node, and for one that is reserved for no claim.
    pub fn of(volume: &Volume, text: &str, deleted: Timestamp) -> Option<Self> {
        let object: Value = serde_json::from_str(text).ok()?;
        let is_elsewhere = !matches!(hand_over(&object), Ok(None));
        // The disk of one node gets another volume from its provisioner.
        let is_local = volume.backend == Backend::Local;
        if volume.policy != ReclaimPolicy::Retain || is_elsewhere || is_local {
            return None;
        }
        let claim_uid = match &volume.reservation {
            Reservation::Held(_, uid) => Some(uid.to_string()),
            Reservation::Named(_) => None,
            Reservation::Free | Reservation::Incomplete(..) => return None,
        };
        let uid = volume.uid.as_ref()?;
        let moved = object["metadata"]["annotations"][MOVE].as_str();
        let moved = moved.and_then(|text| journal(text, uid).ok()?);
        let policy = match moved {
            Some(journal) => journal.policy,
            None => policy_before_trash(volume).unwrap_or_else(|| volume.policy.clone()),
        };
        Some(Self {
            deleted,
            uid: uid.to_string(),
            volume: portable_volume(&object),
            reclaim_policy: policy.to_string(),
            claim_uid,
            claim: recorded_copy(&object),
        })
    }

    /// Reads one.
    ///
    /// # Errors
    ///
    /// It cannot be read, or has a field that is not known here.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns it as text.
    pub fn text(&self) -> String {
        json!(self).to_string()
    }

    /// The name of the volume.
    pub fn name(&self) -> VolumeName {
        VolumeName::new(self.volume["metadata"]["name"].as_str().unwrap_or_default())
    }

    /// The claim that had it.
    pub fn key(&self) -> ClaimKey {
        let claim = &self.volume["spec"]["claimRef"];
        let text = |field: &str| claim[field].as_str().unwrap_or_default();
        ClaimKey::new(text("namespace"), text("name"))
    }

    /// The uid of that claim; nothing if it was reserved by name alone.
    pub fn claim_uid(&self) -> Option<Uid> {
        self.claim_uid.as_deref().map(Uid::new)
    }

    /// The reclaim policy that it gets in the end.
    pub fn policy(&self) -> ReclaimPolicy {
        ReclaimPolicy::from_text(Some(&self.reclaim_policy))
    }

    /// The manifest of the volume as it is created again, with the reclaim policy Retain: reserved for its claim by name, or
    /// by uid where `is_claim_there` says that this very claim still exists.
    pub fn manifest(&self, is_claim_there: bool) -> Value {
        // Once more: it may have been changed where it is recorded.
        let mut volume = portable_volume(&self.volume);
        volume["metadata"]["annotations"][RECREATED] = json!(self.mark());
        if let (true, Some(uid)) = (is_claim_there, &self.claim_uid) {
            volume["spec"]["claimRef"]["uid"] = json!(uid);
        }
        volume
    }

    /// Returns whether `volume` (its JSON) was created again from this record, and its move is not recorded yet.
    pub fn is_source_of(&self, volume: &Value) -> bool {
        volume["metadata"]["annotations"][RECREATED] == self.mark()
    }

    fn mark(&self) -> String {
        format!("{} {}", self.uid, self.reclaim_policy)
    }

    /// Returns whether it is of the storage of `volume`, or of its name.
    pub fn is_of(&self, volume: &Volume) -> bool {
        let text = self.volume.to_string();
        let storage = stored_volume(&text, Wanted::Both).ok().and_then(|read| read.volume.storage);
        self.name() == volume.name || (storage.is_some() && storage == volume.storage)
    }

    /// The copy of the claim; nothing if there was none.
    pub fn claim_copy(&self) -> Option<&Value> {
        self.claim.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::moves::copy_text;
    use crate::api::volume::{Wanted, volume};
    use crate::model::annotations::CLAIM_COPY;

    fn stored(policy: &str, annotations: &Value) -> Value {
        json!({
            "metadata": {"name": "pvc-1", "uid": "v1", "resourceVersion": "7", "annotations": annotations},
            "spec": {
                "capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": policy,
                "csi": {"driver": "disk.example.com", "volumeHandle": "vol-1"},
                "claimRef": {"namespace": "db", "name": "data", "uid": "c1", "resourceVersion": "6"},
            },
            "status": {"phase": "Released"},
        })
    }

    fn of(object: &Value) -> Option<TombstoneRecord> {
        let text = object.to_string();
        let read = volume(&text, Wanted::Labels).unwrap();
        TombstoneRecord::of(&read.volume, &text, Timestamp::default())
    }

    #[test]
    fn a_volume_is_created_again_from_what_is_left() {
        let copy = json!({"spec": {"storageClassName": "fast"}, "labels": {"app": "db"}});
        let object = stored("Retain", &json!({CLAIM_COPY: copy_text(&copy, &Uid::new("v1"))}));
        let read = TombstoneRecord::read(&of(&object).unwrap().text()).unwrap();
        assert_eq!((read.name().as_str(), read.key()), ("pvc-1", ClaimKey::new("db", "data")));
        assert_eq!(read.claim_copy(), Some(&copy));
        assert_eq!(read.policy(), ReclaimPolicy::Retain);
        let manifest = read.manifest(false);
        assert_eq!(manifest["metadata"]["annotations"], json!({RECREATED: "v1 Retain"}));
        assert_eq!(manifest["spec"]["claimRef"].get("uid"), None);
        assert_eq!(manifest["spec"]["csi"]["volumeHandle"], "vol-1");
        assert_eq!(read.manifest(true)["spec"]["claimRef"]["uid"], "c1");
    }

    #[test]
    fn what_goes_with_its_volume_or_is_reserved_for_no_claim_leaves_nothing() {
        assert!(of(&stored("Delete", &json!({}))).is_none());
        let elsewhere = json!({"bindery.dev/handed-over": "unreadable"});
        assert!(of(&stored("Retain", &elsewhere)).is_none());
        let mut free = stored("Retain", &json!({}));
        free["spec"]["claimRef"] = Value::Null;
        assert!(of(&free).is_none());
    }
}

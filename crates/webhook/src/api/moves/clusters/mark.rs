//! The marks of an export: on the volume in the export, and on the volume that it was made of.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::trash::no_record;
use crate::model::annotations::{EXPORT, HANDED_OVER, TRASH};
use crate::model::{ReclaimPolicy, Uid};
use crate::moves::MovedVolume;

/// What an exported volume was in its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportMark {
    /// Its uid there.
    pub volume_uid: Uid,
    /// Its reclaim policy before any hand-over.
    pub policy: ReclaimPolicy,
    /// When the cluster was read.
    pub exported: Timestamp,
    /// Whether that cluster cannot delete the data any more.
    pub is_handed_over: bool,
}

/// The hand-over of a volume's data to another cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOver {
    /// The reclaim policy before.
    pub policy: ReclaimPolicy,
    /// When it was handed over.
    pub time: Timestamp,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ExportWire {
    volume_uid: String,
    reclaim_policy: String,
    exported_at: Timestamp,
    handed_over: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HandOverWire {
    volume_uid: String,
    reclaim_policy: String,
    time: Timestamp,
}

impl ExportMark {
    /// Returns the text of the annotation.
    pub(super) fn text(&self) -> String {
        let wire = ExportWire {
            volume_uid: self.volume_uid.to_string(),
            reclaim_policy: self.policy.to_string(),
            exported_at: self.exported,
            handed_over: self.is_handed_over,
        };
        // Texts and times are always written.
        serde_json::to_string(&wire).unwrap_or_default()
    }
}

/// Returns the mark of an exported volume (its JSON); nothing if it has none.
///
/// # Errors
///
/// It cannot be read, or has a field that is not known here.
pub fn export_mark(volume: &Value) -> Result<Option<ExportMark>, serde_json::Error> {
    let Some(text) = volume["metadata"]["annotations"][EXPORT].as_str() else { return Ok(None) };
    let wire: ExportWire = serde_json::from_str(text)?;
    Ok(Some(ExportMark {
        volume_uid: Uid::new(wire.volume_uid),
        policy: ReclaimPolicy::from_text(Some(&wire.reclaim_policy)),
        exported: wire.exported_at,
        is_handed_over: wire.handed_over,
    }))
}

/// Returns the hand-over that is recorded on a volume (its JSON); nothing if there is none, if it is that of another volume,
/// from which the annotation was copied, or if the reclaim policy was changed since.
///
/// # Errors
///
/// It cannot be read, or has a field that is not known here.
pub fn hand_over(volume: &Value) -> Result<Option<HandOver>, serde_json::Error> {
    let metadata = &volume["metadata"];
    let Some(text) = metadata["annotations"][HANDED_OVER].as_str() else { return Ok(None) };
    let wire: HandOverWire = serde_json::from_str(text)?;
    // The trash shows Retain too, and sets another policy in the end.
    let is_it = metadata["uid"] == wire.volume_uid
        && volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
        && metadata["annotations"].get(TRASH).is_none();
    let policy = ReclaimPolicy::from_text(Some(&wire.reclaim_policy));
    Ok(is_it.then_some(HandOver { policy, time: wire.time }))
}

/// Returns the write that sets the reclaim policy to Retain and records that the data belongs to another cluster. It names
/// the version that was read. `before` is the policy that the volume would have in the end; the trash does not set it again.
pub fn hand_over_patch(volume: &MovedVolume, before: &ReclaimPolicy, time: Timestamp) -> Value {
    let wire = HandOverWire {
        volume_uid: volume.uid.to_string(),
        reclaim_policy: before.to_string(),
        time,
    };
    // Texts and times are always written.
    let text = serde_json::to_string(&wire).unwrap_or_default();
    let (uid, version) = (volume.uid.to_string(), volume.version.to_string());
    let mut annotations = no_record();
    annotations[HANDED_OVER] = json!(text);
    json!({
        "metadata": {"uid": uid, "resourceVersion": version, "annotations": annotations},
        "spec": {"persistentVolumeReclaimPolicy": "Retain"},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ClaimKey, Deletion, Reservation, ResourceVersion, VolumeName, VolumePhase};

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let mark = ExportMark {
            volume_uid: Uid::new("v1"),
            policy: ReclaimPolicy::Delete,
            exported: "2030-01-31T18:00:00Z".parse().unwrap(),
            is_handed_over: true,
        };
        let mut volume = json!({"metadata": {"annotations": {EXPORT: mark.text()}}});
        assert_eq!(export_mark(&volume).unwrap(), Some(mark));
        volume["metadata"]["annotations"][EXPORT] = json!("{}");
        assert!(export_mark(&volume).is_err());
        assert_eq!(export_mark(&json!({"metadata": {}})).unwrap(), None);
    }

    #[test]
    fn a_hand_over_holds_for_its_volume_while_the_policy_is_retain() {
        let moved = MovedVolume {
            name: VolumeName::new("pv-1"),
            uid: Uid::new("v1"),
            version: ResourceVersion::new("7"),
            deletion: Deletion::NotAsked,
            policy: ReclaimPolicy::Delete,
            reservation: Reservation::Named(ClaimKey::new("db", "data")),
            phase: VolumePhase::Bound,
        };
        let time: Timestamp = "2030-01-31T18:00:00Z".parse().unwrap();
        let mut volume = hand_over_patch(&moved, &moved.policy, time);
        assert_eq!(volume["metadata"]["resourceVersion"], "7", "it names the version");
        // Null in a merge patch: the trash sets no policy again.
        let annotations = volume["metadata"]["annotations"].as_object_mut().unwrap();
        assert_eq!(annotations.remove(TRASH), Some(Value::Null));
        let expected = HandOver { policy: ReclaimPolicy::Delete, time };
        assert_eq!(hand_over(&volume).unwrap(), Some(expected));
        volume["spec"]["persistentVolumeReclaimPolicy"] = json!("Delete");
        assert_eq!(hand_over(&volume).unwrap(), None, "the policy was changed since");
        volume["spec"]["persistentVolumeReclaimPolicy"] = json!("Retain");
        volume["metadata"]["annotations"][TRASH] = json!("{}");
        assert_eq!(hand_over(&volume).unwrap(), None, "the trash sets another policy");
        let _ = volume["metadata"]["annotations"].as_object_mut().unwrap().remove(TRASH);
        volume["metadata"]["uid"] = json!("v2");
        assert_eq!(hand_over(&volume).unwrap(), None, "it was copied");
    }
}

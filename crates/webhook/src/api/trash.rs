//! The trash record of a volume as an annotation, and the writes of the trash as merge patches.

use jiff::{SignedDuration, Span, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::moves::copy_text;
use crate::model::annotations::{CLAIM_COPY, KEEP, TRASH, TRASH_EMPTY, TRASH_SOFT};
use crate::model::{ClaimKey, ReclaimPolicy, Uid, Volume};
use crate::moves::MovedVolume;
use crate::trash::{OwnKeep, Release, ReturnTo, TrashRecord, TrashWrite};

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RecordWire {
    volume_uid: String,
    reclaim_policy: String,
    keep: SignedDuration,
    #[serde(default, skip_serializing_if = "is_false")]
    soft: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    release: Option<ReleaseWire>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReleaseWire {
    namespace: String,
    name: String,
    uid: String,
    at: Timestamp,
    until: Timestamp,
    #[serde(default, skip_serializing_if = "is_false")]
    offered: bool,
}

impl ReleaseWire {
    fn of(release: &Release) -> Self {
        Self {
            namespace: release.key.namespace.to_string(),
            name: release.key.name.to_string(),
            uid: release.claim.to_string(),
            at: release.at,
            until: release.until,
            offered: release.is_offered,
        }
    }

    fn read(self) -> Release {
        Release {
            key: ClaimKey::new(self.namespace, self.name),
            claim: Uid::new(self.uid),
            at: self.at,
            until: self.until,
            is_offered: self.offered,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Reads the trash record of the volume with this uid from the text of its annotation; nothing if it is that of another
/// volume, from which the annotation was copied.
///
/// # Errors
///
/// It cannot be read, or has a field that is not known here: what it says is then not known.
pub fn trash_record(text: &str, volume: &Uid) -> Result<Option<TrashRecord>, serde_json::Error> {
    let wire: RecordWire = serde_json::from_str(text)?;
    Ok(volume.is(&wire.volume_uid).then(|| TrashRecord {
        policy: ReclaimPolicy::from_text(Some(&wire.reclaim_policy)),
        keep: wire.keep,
        return_to: if wire.soft { ReturnTo::SameName } else { ReturnTo::Rescue },
        release: wire.release.map(ReleaseWire::read),
    }))
}

/// Returns the reclaim policy that the trash record of a volume names; nothing if it has none. Of one that cannot be read, no
/// policy is set again.
pub fn policy_before_trash(volume: &Volume) -> Option<ReclaimPolicy> {
    let record = trash_record(volume.annotations.get(TRASH)?, volume.uid.as_ref()?);
    Some(record.ok()??.policy)
}

/// The text of the annotation that records `record` on the volume with this uid.
fn record_text(record: &TrashRecord, volume: &Uid) -> String {
    let wire = RecordWire {
        volume_uid: volume.to_string(),
        reclaim_policy: record.policy.to_string(),
        keep: record.keep,
        soft: record.return_to == ReturnTo::SameName,
        release: record.release.as_ref().map(ReleaseWire::of),
    };
    // Texts and times are always written.
    serde_json::to_string(&wire).unwrap_or_default()
}

/// Returns how long a volume says itself that it stays. `annotations` is its JSON.
pub fn own_keep(annotations: &Value) -> OwnKeep {
    let Some(text) = annotations.get(KEEP) else { return OwnKeep::Unset };
    let text = text.as_str().unwrap_or_default().trim();
    let time = text.parse::<SignedDuration>().ok();
    let time = time.or_else(|| SignedDuration::try_from(text.parse::<Span>().ok()?).ok());
    match time.filter(|time| !time.is_negative()) {
        Some(time) => OwnKeep::For(time),
        None => OwnKeep::Unreadable,
    }
}

/// Returns whether a person ends the time of a volume with this record early. `annotations` is its JSON.
pub fn is_emptied(annotations: &Value, record: Option<&TrashRecord>) -> bool {
    let release = record.and_then(|record| record.release.as_ref());
    let empty = annotations.get(TRASH_EMPTY).and_then(Value::as_str);
    release.zip(empty).is_some_and(|(release, empty)| release.claim.is(empty))
}

/// Returns the merge patch of a write of the trash, which names the version of the volume that was read. `copy` is that of
/// its claim, if there is one.
pub fn trash_patch(volume: &MovedVolume, write: &TrashWrite, copy: Option<&Value>) -> Value {
    let (mut annotations, spec) = match write {
        TrashWrite::Hold(record) => {
            (record_annotations(record, volume), json!({"persistentVolumeReclaimPolicy": "Retain"}))
        }
        TrashWrite::Copy(record) | TrashWrite::Record(record) => {
            (record_annotations(record, volume), json!({}))
        }
        TrashWrite::OfferToName(record, key) => {
            (record_annotations(record, volume), json!({"claimRef": claim_ref(key, None)}))
        }
        TrashWrite::ReserveForGone(record, key, uid) => {
            (record_annotations(record, volume), json!({"claimRef": claim_ref(key, Some(uid))}))
        }
        TrashWrite::Restore(policy) => {
            let mut annotations = no_record();
            annotations[CLAIM_COPY] = Value::Null;
            (annotations, json!({"persistentVolumeReclaimPolicy": policy.to_string()}))
        }
    };
    if let (Some(copy), false) = (copy, matches!(write, TrashWrite::Restore(_))) {
        annotations[CLAIM_COPY] = json!(copy_text(copy, &volume.uid));
    }
    let (uid, version) = (volume.uid.to_string(), volume.version.to_string());
    json!({
        "metadata": {"uid": uid, "resourceVersion": version, "annotations": annotations},
        "spec": spec,
    })
}

/// The annotations, for a merge patch, by which a volume has `record`.
pub fn record_annotations(record: &TrashRecord, volume: &MovedVolume) -> Value {
    let soft = match record.return_to {
        ReturnTo::Rescue => None,
        ReturnTo::SameName => volume.reservation.uid().map(Uid::to_string),
    };
    json!({TRASH: record_text(record, &volume.uid), TRASH_SOFT: soft})
}

/// The annotations, for a merge patch, by which a volume is not of the trash any more.
pub fn no_record() -> Value {
    json!({TRASH: null, TRASH_EMPTY: null, TRASH_SOFT: null})
}

/// All seven keys of a reference: a merge would keep what an older one had.
fn claim_ref(key: &ClaimKey, uid: Option<&Uid>) -> Value {
    json!({
        "kind": "PersistentVolumeClaim", "apiVersion": "v1",
        "namespace": &*key.namespace, "name": &*key.name,
        "uid": uid.map(Uid::to_string), "resourceVersion": null, "fieldPath": null,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let keep = SignedDuration::from_hours(72);
        let (policy, return_to) = (ReclaimPolicy::Delete, ReturnTo::SameName);
        let held = TrashRecord { policy, keep, return_to, release: None };
        let release = Some(Release {
            key: ClaimKey::new("db", "data"),
            is_offered: true,
            claim: Uid::new("c1"),
            at: "2026-01-01T00:00:00Z".parse().unwrap(),
            until: "2026-01-04T00:00:00.25Z".parse().unwrap(),
        });
        for written in [TrashRecord { release, ..held.clone() }, held] {
            let uid = Uid::new("v1");
            let text = record_text(&written, &uid);
            assert_eq!(trash_record(&text, &uid).unwrap(), Some(written));
            assert_eq!(trash_record(&text, &Uid::new("v2")).unwrap(), None, "it was copied");
        }
        for text in
            ["", "{}", r#"{"volumeUid":"v1","reclaimPolicy":"Delete","keep":"PT1H","until":"1h"}"#]
        {
            assert!(trash_record(text, &Uid::new("v1")).is_err(), "{text}");
        }
    }

    #[test]
    fn what_a_volume_says_is_a_time_or_unreadable() {
        let read = |text: &str| own_keep(&json!({KEEP: text}));
        assert_eq!(own_keep(&Value::Null), OwnKeep::Unset);
        assert_eq!(read("72h"), OwnKeep::For(SignedDuration::from_hours(72)));
        assert_eq!(read("0s"), OwnKeep::For(SignedDuration::ZERO));
        assert_eq!(read(" 1h30m"), OwnKeep::For(SignedDuration::from_mins(90)));
        for text in ["", "72", "-1h", "for ever", "1y"] {
            assert_eq!(read(text), OwnKeep::Unreadable, "{text}");
        }
    }
}

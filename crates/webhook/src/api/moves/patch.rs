//! The writes of a move to its volume, as merge patches that name the version that was read.

use serde_json::{Value, json};

use super::claim_copy::copy_text;
use super::journal::journal_text;
use crate::api::write::write_patch;
use crate::binding::{ChosenBy, ObjectRef, Write};
use crate::model::annotations::{CLAIM_COPY, FORMER_CLAIM, MOVE, MOVE_UNDONE, RECREATED};
use crate::model::{ClaimKey, ResourceVersion, Uid};
use crate::moves::{Direction, Journal, MovedVolume};

fn metadata(volume: &MovedVolume, annotations: &Value) -> Value {
    let (uid, version) = (volume.uid.to_string(), volume.version.to_string());
    json!({"uid": uid, "resourceVersion": version, "annotations": annotations})
}

/// Returns the write that sets the reclaim policy to Retain and records `journal`, with a copy of the claim if there is one.
pub fn record_patch(volume: &MovedVolume, journal: &Journal, copy: Option<&Value>) -> Value {
    // Of a volume that was created again, the move says the rest from here on.
    let mut annotations = json!({MOVE: journal_text(journal, &volume.uid), RECREATED: null});
    if let Some(copy) = copy {
        annotations[CLAIM_COPY] = json!(copy_text(copy, &volume.uid));
    }
    json!({
        "metadata": metadata(volume, &annotations),
        "spec": {"persistentVolumeReclaimPolicy": "Retain"},
    })
}

/// Returns the write that points `spec.claimRef` to the claim of this name and uid.
pub fn reserve_patch(volume: &MovedVolume, claim: &ClaimKey, uid: &Uid) -> Value {
    let write = Write::Reserve {
        volume: ObjectRef {
            name: volume.name.clone(),
            uid: Some(volume.uid.clone()),
            version: Some(volume.version.clone()),
        },
        claim: ObjectRef { name: claim.clone(), uid: Some(uid.clone()), version: None },
        chosen: ChosenBy::Other,
        tenant: None,
    };
    write_patch(&write).body
}

/// Returns the write that states on the claim of this uid and version by which journal it stays.
pub fn fence_patch(uid: &Uid, version: &ResourceVersion, journal: &Journal) -> Value {
    let (uid, version) = (uid.to_string(), version.to_string());
    let annotations = json!({MOVE_UNDONE: journal.begun_on.to_string()});
    json!({"metadata": {"uid": uid, "resourceVersion": version, "annotations": annotations}})
}

/// Returns the write that sets the former reclaim policy and removes the journal.
pub fn finish_patch(volume: &MovedVolume, journal: &Journal) -> Value {
    let is_at_home = journal.origin == *journal.goal.claim();
    let former = match journal.direction {
        // With the uid of the claim that has it now: for another one, it says nothing.
        Direction::Forward if !is_at_home => match volume.reservation.uid() {
            Some(holder) => json!(format!("{} {holder}", journal.origin)),
            None => Value::Null,
        },
        // The same command again finds nothing to undo.
        Direction::Forward | Direction::Back { .. } => Value::Null,
    };
    let annotations = json!({MOVE: null, CLAIM_COPY: null, FORMER_CLAIM: former});
    json!({
        "metadata": metadata(volume, &annotations),
        "spec": {"persistentVolumeReclaimPolicy": journal.policy.to_string()},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::moves::{import_finish_patch, imported_volume};
    use crate::api::volume::{Wanted, volume};
    use crate::model::annotations::{REPLACES, TRASH};
    use crate::model::{ReclaimPolicy, Volume};
    use crate::moves::Goal;
    use crate::rules::judging::restored_policy::{forged_record, is_restored};

    /// A bound volume.
    fn bound(policy: &str, annotations: &Value) -> Value {
        json!({
            "metadata": {
                "name": "pv-a", "uid": "v1", "resourceVersion": "7", "annotations": annotations,
            },
            "spec": {
                "persistentVolumeReclaimPolicy": policy,
                "claimRef": {"namespace": "a", "name": "data", "uid": "c1"},
            },
            "status": {"phase": "Bound"},
        })
    }

    fn read(object: &Value) -> Volume {
        volume(&object.to_string(), Wanted::Both).unwrap().volume
    }

    fn patched(object: &Value, patch: &Value) -> Value {
        let mut object = object.clone();
        json_patch::merge(&mut object, patch);
        object
    }

    fn journal() -> Journal {
        Journal {
            policy: ReclaimPolicy::Delete,
            origin: ClaimKey::new("a", "data"),
            origin_uid: Some(Uid::new("c1")),
            goal: Goal::Claim(ClaimKey::new("b", "data")),
            direction: Direction::Forward,
            begun_on: ResourceVersion::new("7"),
        }
    }

    #[test]
    fn no_write_of_a_move_is_a_forged_record_and_its_end_restores_the_policy() {
        let copied = journal_text(&journal(), &Uid::new("v0"));
        for stored in [
            bound("Delete", &json!({})),
            // It comes out of the trash, was created again from what was left of it, or in the place of one that is deleted.
            bound(
                "Retain",
                &json!({TRASH: r#"{"volumeUid":"v1","reclaimPolicy":"Delete","keep":"PT1H"}"#}),
            ),
            bound("Retain", &json!({RECREATED: "v0 Delete"})),
            bound("Retain", &json!({REPLACES: "pv-0 v0", MOVE: copied})),
        ] {
            let begun = patched(
                &stored,
                &record_patch(&MovedVolume::of(&read(&stored)).unwrap(), &journal(), None),
            );
            assert_eq!(forged_record(&read(&stored), &read(&begun)), None, "{stored}");
            let moved = MovedVolume::of(&read(&begun)).unwrap();
            let undone = journal().undone(&moved.version);
            let back = patched(&begun, &record_patch(&moved, &undone, None));
            assert_eq!(forged_record(&read(&begun), &read(&back)), None, "{stored}");
            for (begun, journal) in [(begun, journal()), (back, undone)] {
                let ended = patched(&begun, &finish_patch(&moved, &journal));
                assert!(is_restored(&read(&begun), &read(&ended)), "{begun}");
                assert_eq!(read(&ended).policy, ReclaimPolicy::Delete);
            }
        }
    }

    #[test]
    fn the_end_of_an_import_restores_the_policy() {
        let mut made = imported_volume(&bound("Delete", &json!({})), "v0", &ReclaimPolicy::Delete);
        for key in ["uid", "resourceVersion"] {
            made["metadata"][key] = json!("1");
        }
        let moved = MovedVolume::of(&read(&made)).unwrap();
        let ended = patched(&made, &import_finish_patch(&moved, &ReclaimPolicy::Delete));
        assert!(is_restored(&read(&made), &read(&ended)), "{made}");
    }
}

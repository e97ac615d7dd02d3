//! The journal of a move: the annotation of a volume, as JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::our_annotations::our_annotations;
use crate::model::annotations::MOVE;
use crate::model::{ClaimKey, ReclaimPolicy, ResourceVersion, Uid, VolumeName};
use crate::moves::{Direction, Goal, Journal};

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct JournalWire {
    volume_uid: String,
    reclaim_policy: String,
    claim: ClaimWire,
    to: ClaimWire,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    swap_with: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undo: Option<UndoWire>,
    begun_on: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct UndoWire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    abandoned: Option<ClaimWire>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct ClaimWire {
    namespace: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
}

impl ClaimWire {
    fn of(key: &ClaimKey, uid: Option<&Uid>) -> Self {
        let ClaimKey { namespace, name } = key;
        Self {
            namespace: namespace.to_string(),
            name: name.to_string(),
            uid: uid.map(Uid::to_string),
        }
    }

    fn key(&self) -> ClaimKey {
        ClaimKey::new(&*self.namespace, &*self.name)
    }
}

/// Reads the journal of the volume with this uid from the text of its annotation; nothing if it is that of another volume,
/// from which the annotation was copied.
///
/// # Errors
///
/// It cannot be read, or has a field that is not known here: what it says is then not known.
pub fn journal(text: &str, volume: &Uid) -> Result<Option<Journal>, serde_json::Error> {
    let wire: JournalWire = serde_json::from_str(text)?;
    if !volume.is(&wire.volume_uid) {
        return Ok(None);
    }
    let to = wire.to.key();
    Ok(Some(Journal {
        policy: ReclaimPolicy::from_text(Some(&wire.reclaim_policy)),
        origin: wire.claim.key(),
        origin_uid: wire.claim.uid.map(Uid::new),
        goal: match wire.swap_with {
            None => Goal::Claim(to),
            Some(partner) => Goal::Swap(to, VolumeName::new(partner)),
        },
        direction: match wire.undo {
            None => Direction::Forward,
            Some(undo) => Direction::Back { abandoned: undo.abandoned.map(|claim| claim.key()) },
        },
        begun_on: ResourceVersion::new(wire.begun_on),
    }))
}

/// Returns whether the volume with this uid is in a move. `annotations` is its JSON. One whose journal cannot be read may be in
/// one.
pub fn is_moving(annotations: &Value, volume: &Uid) -> bool {
    let text = annotations.get(MOVE).map(|text| text.as_str().unwrap_or_default());
    text.is_some_and(|text| journal(text, volume).map_or(true, |journal| journal.is_some()))
}

/// Returns the text of the journal of the volume with this uid; nothing if it is in no move. `object` is its JSON text.
pub fn moving_text(object: &str, volume: &Uid) -> Option<Box<str>> {
    let annotations = our_annotations(object).ok()?;
    let text = annotations.get(MOVE)?.as_str().unwrap_or_default();
    is_moving(&annotations, volume).then(|| Box::from(text))
}

/// Returns the text of the annotation that records `journal` on the volume with this uid.
pub fn journal_text(journal: &Journal, volume: &Uid) -> String {
    let swap_with = match &journal.goal {
        Goal::Claim(_) => None,
        Goal::Swap(_, partner) => Some(partner.to_string()),
    };
    let wire = JournalWire {
        volume_uid: volume.to_string(),
        reclaim_policy: journal.policy.to_string(),
        claim: ClaimWire::of(&journal.origin, journal.origin_uid.as_ref()),
        to: ClaimWire::of(journal.goal.claim(), None),
        swap_with,
        undo: match &journal.direction {
            Direction::Forward => None,
            Direction::Back { abandoned } => {
                let abandoned = abandoned.as_ref().map(|key| ClaimWire::of(key, None));
                Some(UndoWire { abandoned })
            }
        },
        begun_on: journal.begun_on.to_string(),
    };
    // Texts and options are always written.
    serde_json::to_string(&wire).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::api::volume::{Wanted, volume};
    use crate::model::Volume;
    use crate::rules::judging::restored_policy::{forged_record, is_restored};

    #[test]
    fn a_journal_is_read_as_it_was_written() {
        let begun = Journal {
            policy: ReclaimPolicy::Delete,
            origin: ClaimKey::new("a", "data"),
            origin_uid: Some(Uid::new("c1")),
            goal: Goal::Swap(ClaimKey::new("b", "data"), VolumeName::new("pv-2")),
            direction: Direction::Forward,
            begun_on: ResourceVersion::new("7"),
        };
        for written in [begun.undone(&ResourceVersion::new("8")), begun] {
            let uid = Uid::new("v1");
            let text = journal_text(&written, &uid);
            assert_eq!(journal(&text, &uid).unwrap(), Some(written));
            assert_eq!(journal(&text, &Uid::new("v2")).unwrap(), None, "it was copied");
            let annotations = json!({MOVE: text});
            assert!(is_moving(&annotations, &uid));
            assert!(!is_moving(&annotations, &Uid::new("v2")), "it was copied");
        }
        for text in ["", "{}", "[]", r#"{"reclaimPolicy":"Delete","claim":{},"to":{}}"#] {
            assert!(journal(text, &Uid::new("v1")).is_err(), "{text}");
            assert!(is_moving(&json!({MOVE: text}), &Uid::new("v1")), "{text}");
        }
    }

    /// What every journal has besides a policy.
    const FIELDS: [&str; 4] = [
        r#""volumeUid":"v1""#,
        r#""claim":{"namespace":"a","name":"data"}"#,
        r#""to":{"namespace":"b","name":"data"}"#,
        r#""begunOn":"7""#,
    ];

    /// Ways to name a policy, or to seem to.
    const POLICIES: [&str; 8] = [
        r#""reclaimPolicy":"Retain""#,
        r#""reclaimPolicy":"Delete""#,
        r#""reclaimPolicy": "Delete""#,
        r#""reclaimPolic\u0079":"Delete""#,
        r#""reclaimPolicy":"Delet\u0065""#,
        r#""swapWith":"\"reclaimPolicy\":\"Retain\"""#,
        r#""undo":{"reclaimPolicy":"Retain"}"#,
        r#""undo":{"abandoned":{"namespace":"b","name":"data","uid":"\"reclaimPolicy\":\"Delete\""}}"#,
    ];

    fn journals() -> impl Strategy<Value = String> {
        let policies = prop::collection::vec(prop::sample::select(&POLICIES[..]), 1..4);
        let fields = policies.prop_map(|policies| [&FIELDS[..], &policies].concat()).prop_shuffle();
        fields.prop_map(|fields| format!("{{{}}}", fields.join(",")))
    }

    /// A bound volume with Retain, in a move if there is a journal.
    fn bound(text: Option<&str>) -> Volume {
        let annotations = text.map_or(json!({}), |text| json!({MOVE: text}));
        let object = json!({
            "metadata": {"name": "pv-a", "uid": "v1", "annotations": annotations},
            "spec": {"claimRef": {"namespace": "a", "name": "data", "uid": "c1"}},
            "status": {"phase": "Bound"},
        });
        volume(&object.to_string(), Wanted::Both).unwrap().volume
    }

    proptest! {
        #[test]
        fn no_accepted_journal_restores_delete_to_a_volume_with_retain(
            journals in prop::collection::vec(journals(), 1..4),
        ) {
            let mut stored = bound(None);
            let deleted = Volume { policy: ReclaimPolicy::Delete, ..bound(None) };
            for text in journals {
                let written = bound(Some(&text));
                if forged_record(&stored, &written).is_some() {
                    continue;
                }
                // One that cannot be read ends nothing.
                if let Ok(Some(journal)) = journal(&text, &Uid::new("v1")) {
                    prop_assert_eq!(journal.policy, ReclaimPolicy::Retain, "{}", text);
                }
                prop_assert!(!is_restored(&written, &deleted), "{text}");
                stored = written;
            }
        }
    }
}

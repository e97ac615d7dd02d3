//! What a plan says of volumes that something other than a binder decides about: those in a move, and those of the trash.

use jiff::Timestamp;

use crate::api::moves::journal;
use crate::api::trash::trash_record;
use crate::binding::View;
use crate::model::annotations::{MOVE, TRASH};
use crate::model::{Volume, VolumeName};

/// The notes about them.
pub(super) fn notes(view: &View) -> Vec<String> {
    let (mut moved, mut trash) = (Vec::new(), Vec::new());
    for volume in view.volumes() {
        moved.extend(goal(volume).map(|goal| (&volume.name, goal)));
        trash.extend(end(volume).map(|end| (end, &volume.name)));
    }
    trash.sort_unstable();
    let moved =
        moved.split_first().map(|((name, goal), others)| moves_text(name, goal, others.len()));
    let trash =
        trash.split_first().map(|((end, name), others)| trash_text(name, *end, others.len()));
    moved.into_iter().chain(trash).collect()
}

/// Where a volume is being moved; nothing if it is in no move.
fn goal(volume: &Volume) -> Option<String> {
    let text = volume.annotations.get(MOVE)?;
    match journal(text, volume.uid.as_ref()?) {
        Ok(journal) => Some(format!("PVC \"{}\"", journal?.goal.claim())),
        // A newer version may have written it.
        Err(_) => Some("a PVC that cannot be read from its record".to_owned()),
    }
}

/// When a volume of the trash goes; nothing if its claim has it, or it is not of the trash.
fn end(volume: &Volume) -> Option<Timestamp> {
    let record = trash_record(volume.annotations.get(TRASH)?, volume.uid.as_ref()?);
    Some(record.ok()??.release?.until)
}

fn moves_text(name: &VolumeName, goal: &str, others: usize) -> String {
    let others = if others == 0 { String::new() } else { format!(", and so are {others} more") };
    format!(
        "PV {:?} is in a move to {goal} that has not ended{others}; the plan shows what the binder does, and not the rest of the \
         move; bindery explain pv/{name} names the commands that end it",
        name.as_str()
    )
}

fn trash_text(name: &VolumeName, end: Timestamp, others: usize) -> String {
    let are = if others == 0 { " is".to_owned() } else { format!(" and {others} more are") };
    format!(
        "PV {:?}{are} in the trash; the controller sets the former reclaim policy again, of the first at {}, and the data is \
         deleted then; bindery trash lists what can be rescued",
        name.as_str(),
        end.strftime("%Y-%m-%dT%H:%M:%SZ")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::api::moves::journal_text;
    use crate::api::trash::record_annotations;
    use crate::api::volume::{Wanted, volume};
    use crate::binding::Observed;
    use crate::model::{ClaimKey, ReclaimPolicy, ResourceVersion, Uid};
    use crate::moves::{Direction, Goal, Journal, MovedVolume};
    use crate::trash::{Release, ReturnTo, TrashRecord};

    fn volume_of(name: &str, annotations: &Value) -> Volume {
        let object = json!({
            "metadata": {
                "name": name, "uid": name, "resourceVersion": "7", "annotations": annotations,
            },
            "spec": {"capacity": {"storage": "1Gi"}},
        });
        volume(&object.to_string(), Wanted::Labels).unwrap().volume
    }

    fn said(volumes: Vec<Volume>) -> Vec<String> {
        let mut view = View::default();
        for volume in volumes {
            view.apply(Observed::Volume(volume.into()));
        }
        notes(&view)
    }

    fn moving(name: &str) -> Volume {
        let journal = Journal {
            policy: ReclaimPolicy::Delete,
            origin: ClaimKey::new("a", "data"),
            origin_uid: Some(Uid::new("c1")),
            goal: Goal::Claim(ClaimKey::new("b", "data")),
            direction: Direction::Forward,
            begun_on: ResourceVersion::new("7"),
        };
        volume_of(name, &json!({MOVE: journal_text(&journal, &Uid::new(name))}))
    }

    fn in_trash(name: &str, until: &str) -> Volume {
        let release = Release {
            key: ClaimKey::new("a", "data"),
            claim: Uid::new("c1"),
            at: Timestamp::default(),
            until: until.parse().unwrap(),
            is_offered: false,
        };
        let record = TrashRecord {
            policy: ReclaimPolicy::Delete,
            keep: jiff::SignedDuration::from_hours(1),
            return_to: ReturnTo::Rescue,
            release: Some(release),
        };
        let moved = MovedVolume::of(&volume_of(name, &json!({}))).unwrap();
        volume_of(name, &record_annotations(&record, &moved))
    }

    #[test]
    fn a_plan_says_what_it_does_not_show() {
        assert_eq!(said(vec![volume_of("pv-1", &json!({}))]), Vec::<String>::new());
        let text = &said(vec![moving("pv-1")])[0];
        assert!(text.starts_with("PV \"pv-1\" is in a move to PVC \"b/data\""), "{text}");
        assert!(text.contains("bindery explain pv/pv-1"), "{text}");
        let unreadable = volume_of("pv-0", &json!({MOVE: "{"}));
        let text = &said(vec![unreadable, moving("pv-1")])[0];
        assert!(text.contains("and so are 1 more"), "{text}");
        let (later, sooner) = ("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z");
        let text = &said(vec![in_trash("pv-1", later), in_trash("pv-2", sooner)])[0];
        assert!(text.starts_with("PV \"pv-2\" and 1 more are in the trash;"), "{text}");
        assert!(text.contains(sooner), "{text}");
    }
}

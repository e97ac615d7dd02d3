//! What is said of a volume that is being moved, and how the move ends.

use crate::api::moves::journal;
use crate::model::annotations::MOVE;
use crate::model::{Deletion, Volume};
use crate::moves::{Direction, Goal, Journal};

/// Returns where a volume is being moved, and the commands that end that; nothing if it is in no move.
pub(super) fn moving(volume: &Volume) -> Option<String> {
    let name = &volume.name;
    let text = volume.annotations.get(MOVE)?;
    let journal = match journal(text, volume.uid.as_ref()?) {
        Ok(journal) => journal?,
        Err(error) => {
            return Some(format!(
                "moved, and the record bindery.dev/move of that cannot be read ({error}); its reclaim policy is Retain; correct the \
                 annotation, or remove it once its PVC is bound"
            ));
        }
    };
    let Journal { origin, goal, .. } = &journal;
    let to = goal.claim();
    if volume.deletion == Deletion::Terminating {
        return Some(format!(
            "moved to PVC \"{to}\"; it is created again, and that move ended, with: bindery rescue pv/{name}"
        ));
    }
    let end = match (&journal.direction, goal) {
        (Direction::Back { .. }, _) => {
            return Some(format!(
                "moved back to PVC \"{to}\"; unless that command still runs, end it: bindery undo pv/{name}"
            ));
        }
        (Direction::Forward, Goal::Claim(_)) if origin == to => format!("bindery rescue pv/{name}"),
        (Direction::Forward, Goal::Claim(_)) => format!("bindery transfer pvc/{origin} --to {to}"),
        (Direction::Forward, Goal::Swap(..)) => format!("bindery swap pvc/{origin} pvc/{to}"),
    };
    Some(format!(
        "moved from PVC \"{origin}\" to PVC \"{to}\", and no other PVC can take it; unless that command still runs, end it: \
         {end}; or go back: bindery undo pv/{name}"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::api::moves::journal_text;
    use crate::api::volume::{Wanted, volume};
    use crate::model::{ClaimKey, ReclaimPolicy, ResourceVersion, Uid, VolumeName};

    fn stored(annotations: &Value) -> Volume {
        let object = json!({
            "metadata": {"name": "pv-1", "uid": "v1", "annotations": annotations},
            "spec": {"capacity": {"storage": "1Gi"}},
        });
        volume(&object.to_string(), Wanted::Labels).unwrap().volume
    }

    fn said(goal: Goal, direction: Direction) -> String {
        let journal = Journal {
            policy: ReclaimPolicy::Delete,
            origin: ClaimKey::new("a", "data"),
            origin_uid: Some(Uid::new("c1")),
            goal,
            direction,
            begun_on: ResourceVersion::new("7"),
        };
        moving(&stored(&json!({MOVE: journal_text(&journal, &Uid::new("v1"))}))).unwrap()
    }

    #[test]
    fn the_command_that_ends_a_move_is_named() {
        let to = |namespace: &str| ClaimKey::new(namespace, "data");
        let back = Direction::Back { abandoned: None };
        for (goal, direction, command) in [
            (Goal::Claim(to("b")), Direction::Forward, "bindery transfer pvc/a/data --to b/data;"),
            (Goal::Claim(to("a")), Direction::Forward, "bindery rescue pv/pv-1;"),
            (
                Goal::Swap(to("b"), VolumeName::new("pv-2")),
                Direction::Forward,
                "bindery swap pvc/a/data pvc/b/data;",
            ),
            (Goal::Claim(to("b")), back, "end it: bindery undo pv/pv-1"),
        ] {
            let text = said(goal, direction);
            assert!(text.contains(command), "{text}");
        }
        assert_eq!(moving(&stored(&json!({}))), None);
        assert!(moving(&stored(&json!({MOVE: "{"}))).unwrap().contains("cannot be read"));
    }
}

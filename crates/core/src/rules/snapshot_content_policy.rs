//! Letting a snapshot go with its VolumeSnapshot.

use super::prelude::*;
use crate::model::{ReclaimPolicy, SnapshotContent};

pub(super) static RULE: Rule = Rule {
    id: "snapshot-content-policy",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(
        Resource::SnapshotContents,
        Operation::Update,
    )]),
    options: RuleOptions::DEFAULT,
    page: Page {
        hazard: "The deletionPolicy of a VolumeSnapshotContent is changed from Retain to Delete.",
        consequence: "With its VolumeSnapshot, or the Namespace of that, the snapshot in the storage is then deleted, a \
            backup for one. This cannot be undone.",
        instead: "Keep Retain as long as the snapshot is needed. To remove a snapshot that is not needed, set Delete, \
            then delete its VolumeSnapshot.",
    },
    denied: &[Example::new("a retained snapshot comes to go with its VolumeSnapshot")
        .given("content snap-a Retain db/nightly")
        .merges(TARGET, DELETE)
        .then(&[Fact::Is(TARGET, "/spec/deletionPolicy", "\"Delete\"")])],
    allowed: &[
        Example::new("a snapshot comes to be retained")
            .given("content snap-a Delete db/nightly")
            .merges(TARGET, r#"{"spec":{"deletionPolicy":"Retain"}}"#),
        Example::new("labelling a snapshot that goes with its VolumeSnapshot")
            .given("content snap-a Delete db/nightly")
            .merges(TARGET, LABEL),
    ],
    check,
};

const TARGET: &str = "volumesnapshotcontent/snap-a";
const DELETE: &str = r#"{"spec":{"deletionPolicy":"Delete"}}"#;

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    let ChangedObject::SnapshotContent(Transition::Update { old, new }) = &change.subject else {
        return Vec::new();
    };
    if (&old.policy, &new.policy) != (&ReclaimPolicy::Retain, &ReclaimPolicy::Delete) {
        return Vec::new();
    }
    vec![Violation::new("spec.deletionPolicy", text(new))]
}

fn text(content: &SnapshotContent) -> String {
    format!(
        "VolumeSnapshotContent \"{}\" would change from Retain to Delete; its snapshot would be deleted with \
         VolumeSnapshot \"{}\"; keep Retain as long as the snapshot is needed",
        content.name, content.snapshot
    )
}

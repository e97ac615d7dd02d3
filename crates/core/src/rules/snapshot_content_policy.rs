//! Letting a snapshot go with its VolumeSnapshot.

use super::prelude::*;
use crate::model::{Deletion, ReclaimPolicy, SnapshotContent};

pub(super) static RULE: Rule = Rule {
    id: "snapshot-content-policy",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(
        Resource::SnapshotContents,
        Operation::Update,
    )]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "The deletionPolicy of a VolumeSnapshotContent is changed from Retain to Delete.",
        consequence: "With its VolumeSnapshot, or the Namespace of that, the snapshot in the storage is then deleted, a \
            backup for one. This cannot be undone.",
        instead: "Keep Retain as long as the snapshot is needed. To remove a snapshot that is not needed, set Delete, \
            then delete its VolumeSnapshot, or the VolumeSnapshotContent if that is gone.",
    },
    policy: PolicyForm::Exact(&[PolicyText {
        variables: &[
            (
                "ref",
                "object.spec.?volumeSnapshotRef.?namespace.orValue('') + '/' + \
                 object.spec.?volumeSnapshotRef.?name.orValue('')",
            ),
            (
                "when",
                "object.metadata.?deletionTimestamp.hasValue() ? 'soon, as it is being deleted already' : 'with \
                 VolumeSnapshot \"' + variables.ref + '\", if that exists'",
            ),
        ],
        violations: &[PolicyViolation {
            found: "oldObject.spec.?deletionPolicy.orValue('') == 'Retain' && \
                object.spec.?deletionPolicy.orValue('') == 'Delete'",
            sentence: "VolumeSnapshotContent \"{name}\" would change from Retain to Delete; its snapshot in the \
                storage would be deleted {when}; keep Retain as long as the snapshot is needed",
        }],
        ..PolicyText::of(Resource::SnapshotContents)
    }]),
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
    let when = match content.deletion {
        Deletion::NotAsked => format!("with VolumeSnapshot \"{}\", if that exists", content.snapshot),
        Deletion::Terminating => "soon, as it is being deleted already".to_owned(),
    };
    format!(
        "VolumeSnapshotContent \"{}\" would change from Retain to Delete; its snapshot in the storage would be deleted \
         {when}; keep Retain as long as the snapshot is needed",
        content.name
    )
}

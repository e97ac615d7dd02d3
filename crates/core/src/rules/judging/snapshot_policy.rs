//! Updates of VolumeSnapshotContents that rules look at: those of the policy. The snapshot controller and its sidecars
//! update each of them many times.

use super::change::{Change, ChangedObject, Transition};

/// Returns whether `change` is an update of a VolumeSnapshotContent that leaves its policy as it is.
pub(super) fn keeps_policy(change: &Change) -> bool {
    let ChangedObject::SnapshotContent(Transition::Update { old, new }) = &change.subject else {
        return false;
    };
    old.policy == new.policy
}

/// The opposite of [`keeps_policy`] as CEL.
pub(super) fn expression() -> String {
    "request.resource.resource != 'volumesnapshotcontents' || \
     oldObject.?spec.?deletionPolicy.orValue('') != object.?spec.?deletionPolicy.orValue('')"
        .to_owned()
}

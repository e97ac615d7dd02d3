//! Of objects that Kubernetes and its programs write all the time, the changes that rules look at.
//!
//! Attachments, nodes and contents of snapshots change many times for each change that can do harm: the others are not sent.

use super::change::{Change, ChangedObject, Transition};
use super::detaching;

/// Returns whether rules look at a change of an object of this kind.
pub(super) fn is_looked_at(change: &Change) -> bool {
    match &change.subject {
        ChangedObject::Attachment(transition) => detaching::is_by_hand(change, transition),
        ChangedObject::Node(Transition::Delete(_)) => true,
        ChangedObject::Node(transition) => detaching::declares_off(transition),
        ChangedObject::SnapshotContent(Transition::Update { old, new }) => old.policy != new.policy,
        ChangedObject::Volume(_)
        | ChangedObject::Claim(_)
        | ChangedObject::Namespace(_)
        | ChangedObject::Class(_)
        | ChangedObject::Driver(_)
        | ChangedObject::SnapshotContent(_) => true,
    }
}

/// [`is_looked_at`] as CEL.
pub(super) fn expression() -> String {
    format!(
        "request.resource.resource == 'volumeattachments' ? {} : \
         request.resource.resource == 'nodes' ? request.operation == 'DELETE' || {} : \
         request.resource.resource != 'volumesnapshotcontents' || \
         oldObject.?spec.?deletionPolicy.orValue('') != object.?spec.?deletionPolicy.orValue('')",
        detaching::of_attachment(),
        detaching::of_node(),
    )
}

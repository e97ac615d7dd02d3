//! Changes that take a disk from a node, or say that its machine does not run: as predicates, and as CEL for conditions.
//!
//! What Kubernetes and its drivers do as their work is not among them: no attach and no detach waits for a webhook. Not
//! here: what follows for the disk (`volume_attachment_delete`, `out_of_service_taint`).

use super::actor::{ACCOUNT_PREFIX, ATTACH_DETACH, CONTROLLER_MANAGER};
use super::change::{Change, Transition};
use crate::model::annotations::ATTACHER_PREFIX;
use crate::model::{Deletion, NodeObject, OUT_OF_SERVICE, VolumeAttachment};

/// Returns whether a program asks rather than a person. Programs that fence nodes or move storage turn machines off before
/// they detach, and none can be known by its name: they are warned, and `guard` is not asked about them.
pub fn is_program(change: &Change) -> bool {
    change.user.name.starts_with(ACCOUNT_PREFIX)
}

/// Returns whether a VolumeAttachment that is attached is deleted, or loses the finalizer of its driver, by somebody whose
/// work that is not. The attach/detach controller deletes it where no pod needs it; the driver detaches, says so in
/// `status.attached`, and takes its finalizer off.
///
/// Kubernetes: `pkg/volume/csi/csi_attacher.go`, `Detach`; external-attacher, `pkg/controller/util.go`, `markAsDetached`.
pub fn is_by_hand(change: &Change, transition: &Transition<VolumeAttachment>) -> bool {
    if [CONTROLLER_MANAGER, ATTACH_DETACH].contains(&&*change.user.name) {
        return false;
    }
    match transition {
        Transition::Create(_) => false,
        Transition::Delete(old) => old.is_attached && old.deletion == Deletion::NotAsked,
        Transition::Update { old, new } => {
            let ends_detach = old.deletion == Deletion::Terminating && is_program(change);
            old.is_attached && lost_finalizer(old, new).is_some() && !ends_detach
        }
    }
}

/// The finalizer of its driver that a VolumeAttachment loses.
pub fn lost_finalizer<'a>(old: &'a VolumeAttachment, new: &VolumeAttachment) -> Option<&'a str> {
    let mut held = old.finalizers.iter().filter(|name| name.starts_with(ATTACHER_PREFIX));
    held.find(|name| !new.finalizers.has(name))
}

/// Returns whether a node that is Ready comes to be declared out of service. As it is stored: who declares it writes the
/// rest of the object too.
pub fn declares_off(transition: &Transition<NodeObject>) -> bool {
    match transition {
        Transition::Create(_) | Transition::Delete(_) => false,
        Transition::Update { old, new } => {
            old.state.is_ready && !old.state.is_out_of_service && new.state.is_out_of_service
        }
    }
}

/// The opposite of [`is_program`].
pub(super) fn of_person() -> String {
    format!("!request.userInfo.?username.orValue('').startsWith('{ACCOUNT_PREFIX}')")
}

/// [`is_by_hand`] of an update or deletion of a VolumeAttachment.
pub(super) fn of_attachment() -> String {
    format!(
        "(!(request.userInfo.?username.orValue('') in ['{CONTROLLER_MANAGER}', '{ATTACH_DETACH}']) && \
         oldObject.?status.?attached.orValue(false) && (request.operation == 'DELETE' ? \
         !oldObject.metadata.?deletionTimestamp.hasValue() : \
         oldObject.metadata.?finalizers.orValue([]).exists(f, f.startsWith('{ATTACHER_PREFIX}') && \
         !(f in object.metadata.?finalizers.orValue([]))) && \
         !(oldObject.metadata.?deletionTimestamp.hasValue() && !{person})))",
        person = of_person(),
    )
}

/// [`declares_off`] of an update or deletion of a node. An error would deny each update of a node, so nothing is taken
/// to be there.
pub(super) fn of_node() -> String {
    let is_declared = |object: &str| {
        format!(
            "{object}.?spec.?taints.orValue([]).exists(t, t.?key.orValue('') == '{OUT_OF_SERVICE}')"
        )
    };
    format!(
        "(request.operation == 'UPDATE' && {new} && !{old} && \
         oldObject.?status.?conditions.orValue([]).exists(c, \
         c.?type.orValue('') == 'Ready' && c.?status.orValue('') == 'True'))",
        new = is_declared("object"),
        old = is_declared("oldObject"),
    )
}

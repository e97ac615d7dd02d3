//! What drivers write to a bound volume when they expand or modify its disk: as a predicate, and as CEL.
//!
//! No condition can know which account is the driver's. A program's write of this shape is judged in `advise`, so
//! that no expansion waits for a webhook that is down: neither a larger number nor another attributes class touches
//! what is on the disk. A person's is sent to `guard`.

use super::actor::ACCOUNT_PREFIX;
use super::change::{Change, SpecChange};
use crate::model::Volume;

/// The fields of a volume's `spec` that an expansion or a modification sets.
///
/// Kubernetes: external-resizer `pkg/controller/controller.go`, `updatePVCapacity`; `pkg/modifycontroller/modify_status.go`,
/// `markControllerModifyVolumeCompleted`.
pub const FIELDS: [&str; 2] = ["capacity", "volumeAttributesClassName"];

/// Returns whether `change`, from `old` to `new`, is a program's, and changes nothing of `spec` but [`FIELDS`], without
/// making the volume smaller.
pub(super) fn is_progress(change: &Change, old: &Volume, new: &Volume) -> bool {
    change.user.name.starts_with(ACCOUNT_PREFIX)
        && change.detail.spec == SpecChange::SizeOrAttributes
        && new.capacity >= old.capacity
}

/// [`is_progress`] of an update of a volume that changes `spec`.
pub(super) fn expression() -> String {
    let fields = FIELDS.map(|field| format!("'{field}'")).join(", ");
    let capacity = |object| format!("quantity({object}.spec.?capacity.?storage.orValue('0'))");
    format!(
        "request.userInfo.?username.orValue('').startsWith('{ACCOUNT_PREFIX}') && \
         object.spec.all(k, k in [{fields}] || (k in oldObject.spec && oldObject.spec[k] == object.spec[k])) && \
         oldObject.spec.all(k, k in [{fields}] || k in object.spec) && \
         {}.compareTo({}) >= 0",
        capacity("object"),
        capacity("oldObject"),
    )
}

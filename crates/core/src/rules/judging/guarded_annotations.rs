//! The annotations of a volume whose change can harm bound data.

use crate::model::Volume;
use crate::model::annotations::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, IMPORT, MIGRATED_TO, MOVE, PROVISIONED_BY, RECREATED,
    TRASH,
};

/// Each by its name: an expression that looks through all annotations of an object takes half a minute of the
/// API server where there are as many as may be. Others that begin alike mean nothing to Kubernetes, and
/// are judged in `advise`.
pub const NAMES: [&str; 8] = [
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONED_BY,
    MIGRATED_TO,
    TRASH,
    MOVE,
    IMPORT,
    RECREATED,
];

/// Returns whether an update changes one of them.
pub fn is_changed(old: &Volume, new: &Volume) -> bool {
    // Most updates change none, which one comparison shows.
    old.annotations != new.annotations
        && NAMES.iter().any(|key| old.annotations.get(key) != new.annotations.get(key))
}

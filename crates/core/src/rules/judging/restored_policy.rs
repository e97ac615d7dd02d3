//! The reclaim policy that the end of a move or an import restores, as the annotations of the volume name it.
//!
//! Anyone who may move a volume makes the write that restores it, so it cannot be told by its user. It is told by what the
//! annotations say, and the rule `move-record` keeps them true from the time at which the volume is bound. Before that, its
//! author gives it any policy.

use crate::model::annotations::{Annotations, IMPORT, MOVE, RECREATED, TRASH};
use crate::model::{ReclaimPolicy, Volume};

/// The annotations that name it.
pub const RECORDS: [&str; 3] = [MOVE, IMPORT, RECREATED];

/// Returns whether this write ends a move or an import and sets the policy that was recorded.
pub fn is_restored(old: &Volume, new: &Volume) -> bool {
    let is_recorded = names(&old.annotations, MOVE, &new.policy)
        || old.annotations.get(IMPORT).is_some_and(|text| text == new.policy.to_string());
    is_recorded && !has_record(&new.annotations)
}

/// Returns whether a volume with these annotations is in a move or an import that has not ended.
pub fn has_record(annotations: &Annotations) -> bool {
    RECORDS.iter().any(|key| annotations.has(key))
}

/// Returns the annotation that this write adds or changes as no command does on a bound volume; nothing if there is none.
pub fn forged_record(old: &Volume, new: &Volume) -> Option<&'static str> {
    if old.annotations == new.annotations {
        return None;
    }
    let is_written = |key: &&str| {
        new.annotations.has(key) && old.annotations.get(key) != new.annotations.get(key)
    };
    RECORDS.into_iter().filter(is_written).find(|key| *key != MOVE || !is_begun(old, new))
}

/// Returns whether this write begins a move or changes where it leads: the volume has Retain then, and the journal names the
/// policy that it has or had.
fn is_begun(old: &Volume, new: &Volume) -> bool {
    const DANGEROUS: [ReclaimPolicy; 2] = [ReclaimPolicy::Delete, ReclaimPolicy::Recycle];
    let is_named = |policy: &ReclaimPolicy| names(&new.annotations, MOVE, policy);
    let is_true = |policy: &ReclaimPolicy| {
        *policy == old.policy
            || [MOVE, TRASH].iter().any(|key| names(&old.annotations, key, policy))
            || old
                .annotations
                .get(RECREATED)
                .is_some_and(|text| text.ends_with(&format!(" {policy}")))
    };
    new.policy == ReclaimPolicy::Retain
        && (DANGEROUS.iter().any(is_named)
            || is_named(&ReclaimPolicy::Retain)
            || is_named(&old.policy))
        && DANGEROUS.iter().all(|policy| !is_named(policy) || is_true(policy))
}

/// Returns whether the record under `key`, a JSON object, names `policy`.
///
/// By its text, as a ValidatingAdmissionPolicy can tell it too. A record with a field twice, or with one that is not known,
/// cannot be read, and quotes inside of strings are escaped: one with this text names this policy, or no command ends it.
fn names(annotations: &Annotations, key: &str, policy: &ReclaimPolicy) -> bool {
    let is_named = |text: &str| text.contains(&format!("\"reclaimPolicy\":\"{policy}\""));
    annotations.get(key).is_some_and(is_named)
}

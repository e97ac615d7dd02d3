//! Which requests reach which entry of the registration: each condition as CEL, which the API
//! server evaluates, and as a predicate, which decides everywhere else.
//!
//! The two are compared over every recorded request by the end-to-end tests.

use super::actor::{BREAK_GLASS, CONTROLLER_MANAGER, NODES, SCHEDULER, SYSTEM_ACCOUNTS};
use super::change::{Change, Field, Part, Subject, Transition};
use super::rule::Entry;
use crate::model::annotations::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, EXTERNAL_DELETION, IN_TREE_DELETION, MIGRATED_TO,
    PROVISIONED_BY, VOLUME_PROTECTION,
};
use crate::model::{ClassRequest, Volume, VolumePhase};

/// One condition of a registration's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its name in the registration.
    pub name: &'static str,
    /// What the API server evaluates.
    pub expression: String,
}

/// The user name of our own controller where the configuration names no other.
pub const OWN_CONTROLLER: &str = "system:serviceaccount:bindery:bindery-controller";

/// The conditions of `entry`; all must hold for a request to be sent.
pub fn conditions(entry: Entry, own_controller: &str) -> Vec<Condition> {
    let quoted = own_controller.replace('\\', "\\\\").replace('\'', "\\'");
    let own = match entry {
        Entry::Guard => Condition { name: "can-harm-bound-data", expression: dangerous() },
        Entry::Advise => not_guarded(),
        Entry::Mutate => Condition {
            name: "new-or-newly-classed",
            expression: "request.operation == 'CREATE' || (request.resource.resource == \
                 'persistentvolumeclaims' && !has(oldObject.spec.storageClassName) && \
                 has(object.spec.storageClassName))"
                .to_owned(),
        },
        Entry::Restore => Condition {
            name: "bound-reference-changes",
            expression: "oldObject.?status.?phase.orValue('') == 'Bound' && \
                 ['namespace', 'name', 'uid'].exists(k, \
                 oldObject.spec.?claimRef[?k].orValue('') != \
                 object.spec.?claimRef[?k].orValue(''))"
                .to_owned(),
        },
    };
    let mut conditions = vec![
        Condition {
            name: "not-break-glass",
            expression: format!("!('{BREAK_GLASS}' in request.userInfo.?groups.orValue([]))"),
        },
        Condition {
            name: "not-own-controller",
            expression: format!("request.userInfo.?username.orValue('') != '{quoted}'"),
        },
    ];
    if entry == Entry::Advise {
        conditions.push(not_control_plane());
    }
    conditions.push(own);
    conditions
}

/// Whether a registration with these conditions sends `change` to `entry`.
pub fn reaches(entry: Entry, change: &Change, own_controller: &str) -> bool {
    if change.user.is_in(BREAK_GLASS) || change.user.name == own_controller {
        return false;
    }
    match entry {
        Entry::Guard => is_dangerous(change),
        Entry::Advise => is_advised(change) && !is_dangerous(change),
        Entry::Mutate => is_create(change) || sets_class(change),
        Entry::Restore => changes_bound_reference(change),
    }
}

/// Whether the rules of `advise` judge a change of its asker, through whichever entry it comes:
/// what the control plane does is its own, but for objects that it makes from the wishes of others.
pub fn is_advised(change: &Change) -> bool {
    is_create(change) || !is_control_plane(change)
}

/// Whether a change can harm bound data: the predicate behind guard's condition.
pub fn is_dangerous(change: &Change) -> bool {
    let Subject::Volume(transition) = &change.subject else { return false };
    match transition {
        Transition::Create(_) => false,
        Transition::Delete(old) => old.phase == VolumePhase::Bound,
        Transition::Update { old, new } => {
            matches!(old.phase, VolumePhase::Bound | VolumePhase::Released)
                && (change.detail.spec == Field::Changed
                    || drops_finalizer(old, new)
                    || changes_annotation(old, new))
        }
    }
}

const GUARDED_FINALIZERS: [&str; 3] = [VOLUME_PROTECTION, IN_TREE_DELETION, EXTERNAL_DELETION];

/// Each by its name: an expression that looks through all annotations of an object takes half a minute of the
/// API server where there are as many as may be. Others that begin alike mean nothing to Kubernetes, and
/// are judged in `advise`.
const GUARDED_ANNOTATIONS: [&str; 4] =
    [BIND_COMPLETED, BOUND_BY_CONTROLLER, PROVISIONED_BY, MIGRATED_TO];

fn changes_annotation(old: &Volume, new: &Volume) -> bool {
    GUARDED_ANNOTATIONS.iter().any(|key| old.annotations.get(key) != new.annotations.get(key))
}

fn drops_finalizer(old: &Volume, new: &Volume) -> bool {
    let dropped = |name: &&str| old.finalizers.has(name) && !new.finalizers.has(name);
    GUARDED_FINALIZERS.iter().any(dropped)
}

/// What is sent to guard is judged there by all rules, so that no request waits for two calls.
fn not_guarded() -> Condition {
    Condition {
        name: "not-sent-to-guard",
        expression: format!(
            "request.operation == 'CREATE' || request.resource.resource != 'persistentvolumes' || \
             !({})",
            dangerous()
        ),
    }
}

fn not_control_plane() -> Condition {
    Condition {
        name: "not-the-control-plane",
        expression: format!(
            "request.operation == 'CREATE' || !(request.userInfo.username in \
             ['{CONTROLLER_MANAGER}', '{SCHEDULER}'] || ['{SYSTEM_ACCOUNTS}', '{NODES}']\
             .exists(g, g in request.userInfo.?groups.orValue([])))"
        ),
    }
}

/// [`is_dangerous`] of an update or deletion of a volume.
fn dangerous() -> String {
    let list = |names: &[&str]| {
        let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        quoted.join(", ")
    };
    format!(
        "request.operation == 'DELETE' ? oldObject.?status.?phase.orValue('') == 'Bound' : \
         (oldObject.?status.?phase.orValue('') in ['Bound', 'Released'] && \
         (object.spec != oldObject.spec || \
         [{finalizers}].exists(f, f in oldObject.metadata.?finalizers.orValue([]) && \
         !(f in object.metadata.?finalizers.orValue([]))) || \
         [{annotations}].exists(k, \
         oldObject.metadata.?annotations[?k] != object.metadata.?annotations[?k])))",
        finalizers = list(&GUARDED_FINALIZERS),
        annotations = list(&GUARDED_ANNOTATIONS),
    )
}

fn is_create(change: &Change) -> bool {
    match &change.subject {
        Subject::Volume(transition) => transition.stored().is_none(),
        Subject::Claim(transition) => transition.stored().is_none(),
        Subject::Namespace(transition) => transition.stored().is_none(),
    }
}

fn is_control_plane(change: &Change) -> bool {
    [CONTROLLER_MANAGER, SCHEDULER].contains(&change.user.name.as_str())
        || [SYSTEM_ACCOUNTS, NODES].iter().any(|group| change.user.is_in(group))
}

fn sets_class(change: &Change) -> bool {
    change.claim_update().is_some_and(|(old, new)| {
        old.class_field == ClassRequest::Unset && new.class_field != ClassRequest::Unset
    })
}

fn changes_bound_reference(change: &Change) -> bool {
    change.part == Part::Main
        && change.volume_update().is_some_and(|(old, new)| {
            old.phase == VolumePhase::Bound && old.reservation != new.reservation
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The API server takes the square of their number in time for looking through annotations.
    #[test]
    fn no_condition_looks_through_annotations() {
        for entry in [Entry::Guard, Entry::Advise, Entry::Mutate, Entry::Restore] {
            for condition in conditions(entry, OWN_CONTROLLER) {
                let text = condition.expression.replace("annotations[?", "");
                assert!(!text.contains("annotations"), "{}: {text}", condition.name);
            }
        }
    }
}

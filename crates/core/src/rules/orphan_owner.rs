//! Giving a claim or a volume an owner that does not exist.

use super::judging::actor::Actor;
use super::judging::change::{AddedOwners, OWNERS_ADDED_MAX};
use super::prelude::*;
use crate::binding::OwnerState;
use crate::model::{ClaimKey, NamespaceName, Owner};

pub(super) static RULE: Rule = Rule {
    id: "orphan-owner",
    mode: Mode::Deny,
    request_types: &[
        RequestType::advise(Resource::Volumes, Operation::Create),
        RequestType::advise(Resource::Volumes, Operation::Update),
        RequestType::advise(Resource::Volumes, Operation::UpdateStatus),
        RequestType::advise(Resource::Claims, Operation::Create),
        RequestType::advise(Resource::Claims, Operation::Update),
        RequestType::advise(Resource::Claims, Operation::UpdateStatus),
    ],
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::Unseen,
    page: Page {
        hazard: "A claim or a volume is given an owner that does not exist, or that has another uid: an \
            exported manifest, applied again. Or a volume is given a node as its owner.",
        consequence: "The garbage collector deletes it within a second or two, a claim with its data if the \
            policy is Delete. What a node owns goes when the node object does, a bound \
            volume once its claim is gone.",
        instead: "Remove metadata.ownerReferences, or name an owner that lives, with its uid. At most 8 owners \
            that one request adds are looked at; more are denied, and so is, on a bound volume, an owner that \
            the webhook may not read.",
    },
    denied: &[
        Example {
            title: "making a claim whose owner is gone",
            given: "",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class= owner=v1:Pod:main"),
            then: &[Fact::Gone("pvc/db/data")],
        },
        Example {
            title: "giving a claim an owner that is gone",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Tenant,
            send: Send::Merge {
                target: "pvc/db/data",
                patch: r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"main","uid":"dead0000-0000-4000-8000-000000000000"}]}}"#,
            },
            then: &[Fact::Gone("pvc/db/data")],
        },
        Example {
            title: "giving a bound volume a node that is gone as its owner",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1","uid":"dead0000-0000-4000-8000-000000000000"}]}}"#,
            },
            then: &[Fact::Has("pv/pv-a", "/metadata/deletionTimestamp")],
        },
    ],
    allowed: &[
        Example {
            title: "giving a claim an owner that lives",
            given: "pair pv-a db/data 10Gi RWO\nclaim db/owner 1Gi RWO class=",
            by: Persona::Tenant,
            send: Send::Merge {
                target: "pvc/db/data",
                patch: r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"PersistentVolumeClaim","name":"owner","uid":"{uid:db/owner}"}]}}"#,
            },
            then: &[],
        },
        Example {
            title: "making a claim without an owner",
            given: "",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 1Gi RWO class="),
            then: &[],
        },
        Example {
            title: "labelling a claim without an owner",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Tenant,
            send: Send::Merge {
                target: "pvc/db/data",
                patch: r#"{"metadata":{"labels":{"a":"b"}}}"#,
            },
            then: &[],
        },
    ],
    check,
};

const FIELD: &str = "metadata.ownerReferences";

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let owners = match &change.detail.owners_added {
        AddedOwners::These(owners) => owners,
        // What it takes away from a list it does not add.
        AddedOwners::TooMany
            if matches!(change.actor, Actor::GarbageCollector | Actor::ControllerManager) =>
        {
            return Vec::new();
        }
        AddedOwners::TooMany => return vec![too_many()],
    };
    let (what, namespace) = match &change.subject {
        ChangedObject::Volume(transition) => {
            (format!("volume \"{}\"", transition.latest().name), NamespaceName::default())
        }
        ChangedObject::Claim(transition) => {
            let key = &transition.latest().key;
            (format!("claim \"{}\"", key.name), key.namespace.clone())
        }
        ChangedObject::Namespace(_) => return Vec::new(),
    };
    let tell = |owner: &Owner| {
        let lookup = evidence.owner(&namespace, owner);
        let dependency = Dependency::on(Read::Owner(namespace.clone(), owner.clone()), lookup);
        let is_node = namespace.is_empty() && &*owner.api_version == "v1" && &*owner.kind == "Node";
        match lookup {
            Lookup::Present(OwnerState::Hidden) => {
                let volume = change.volume().and_then(Transition::proposed)?;
                let (key, of_pair) = bound(volume, evidence)?;
                return Some(hidden(owner, &what, key).depending_on(dependency).depending_on(of_pair));
            }
            Lookup::Present(OwnerState::Alive) if is_node => {
                return Some(owned_by_node(owner, &what).depending_on(dependency));
            }
            Lookup::Present(OwnerState::Alive | OwnerState::Replaced)
            | Lookup::Absent
            | Lookup::Unknown => {}
        }
        let text = if namespace.is_empty() { missing } else { not_there };
        Some(text(owner, &what, lookup)?.depending_on(dependency))
    };
    owners.iter().filter_map(tell).collect()
}

/// A denial, not a warning: which of them live is not looked at, and nobody needs as many.
fn too_many() -> Violation {
    let text = format!(
        "more than {OWNERS_ADDED_MAX} owners would be added at once; whether they live is not looked \
         at, and the garbage collector deletes what has no living owner; add the owners that are \
         meant in several requests"
    );
    Violation::new(FIELD, text)
}

fn owned_by_node(owner: &Owner, what: &str) -> Violation {
    let text = format!(
        "{what} would be owned by node \"{}\"; it is deleted when the node object is; remove \
         metadata.ownerReferences unless that is meant",
        owner.name
    );
    Violation::new(FIELD, text).as_warning()
}

/// An owner of a kind that may not be read: whether it lives is not known, and a bound volume is not left to that.
fn hidden(owner: &Owner, what: &str, key: &ClaimKey) -> Violation {
    let text = format!(
        "owner {owner} of {what}, which is bound to claim \"{key}\", cannot be seen by this webhook; if it \
         does not live, the garbage collector deletes the volume within a second; leave \
         metadata.ownerReferences of a bound volume as it is"
    );
    Violation::new(FIELD, text)
}

fn missing(owner: &Owner, what: &str, fate: Lookup<'_, OwnerState>) -> Option<Violation> {
    let why = match fate {
        Lookup::Present(OwnerState::Alive | OwnerState::Hidden) => return None,
        Lookup::Present(OwnerState::Replaced) => "has another uid",
        Lookup::Absent | Lookup::Unknown => "does not exist",
    };
    Some(gone(owner, what, why))
}

/// What a claim's owner that does not live is told as: whoever writes claims may see nothing beyond their
/// namespace, so that another uid under the name and no object of the name are one answer.
fn not_there(owner: &Owner, what: &str, fate: Lookup<'_, OwnerState>) -> Option<Violation> {
    missing(owner, what, fate)?;
    Some(gone(owner, what, "does not exist with this uid"))
}

fn gone(owner: &Owner, what: &str, why: &str) -> Violation {
    let text = format!(
        "owner {owner} of {what} {why}; the garbage collector deletes what has no other owner within \
         a second; remove metadata.ownerReferences or name an owner that lives"
    );
    Violation::new(FIELD, text)
}

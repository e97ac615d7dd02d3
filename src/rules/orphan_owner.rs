//! Giving a claim or a volume an owner that does not exist.

use super::prelude::*;
use crate::binding::OwnerFate;
use crate::model::{NamespaceName, Owner};

pub(super) static RULE: Rule = Rule {
    id: "orphan-owner",
    mode: Mode::Deny,
    routes: &[
        Route::advise(Resource::Volumes, Operation::Create),
        Route::advise(Resource::Volumes, Operation::Update),
        Route::advise(Resource::Volumes, Operation::UpdateStatus),
        Route::advise(Resource::Claims, Operation::Create),
        Route::advise(Resource::Claims, Operation::Update),
        Route::advise(Resource::Claims, Operation::UpdateStatus),
    ],
    terminating: Terminating::Passes,
    extent: Extent::Whole,
    exemption: Exemptable::Yes,
    told_as: None,
    standing: Standing::Unseen,
    page: Page {
        hazard: "A claim or a volume is given an owner that does not exist, or that has another uid: an \
            exported manifest, applied again. Or a volume is given a node as its owner.",
        consequence: "The garbage collector deletes it within a second or two, a claim with its data if the \
            policy is Delete. What a node owns goes when the node object does.",
        instead: "Remove metadata.ownerReferences, or name an owner that lives, with its uid.",
    },
    refuses: &[
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
    ],
    allows: &[
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
            title: "labelling a claim without an owner",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Tenant,
            send: Send::Merge {
                target: "pvc/db/data",
                patch: r#"{"metadata":{"labels":{"a":"b"}}}"#,
            },
            then: &[],
        },
        Example {
            title: "making a volume that is owned by its node, with a warning",
            given: "class local wait\nnode n1",
            by: Persona::Driver,
            send: Send::Create(
                "volume pv-a 10Gi RWO class=local local=/mnt/a node=n1 owner=v1:Node:n1",
            ),
            then: &[],
        },
    ],
    check,
};

const FIELD: &str = "metadata.ownerReferences";

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let (what, namespace) = match &change.subject {
        Subject::Volume(transition) => {
            (format!("volume \"{}\"", transition.latest().name), NamespaceName::default())
        }
        Subject::Claim(transition) => {
            let key = &transition.latest().key;
            (format!("claim \"{}\"", key.name), key.namespace.clone())
        }
        Subject::Namespace(_) => return Vec::new(),
    };
    let tell = |owner: &Owner| {
        if namespace.is_empty() && &*owner.kind == "Node" {
            return Some(owned_by_node(owner, &what));
        }
        let lookup = evidence.owner(&namespace, owner);
        let rest = Rest::on(Read::Owner(namespace.clone(), owner.clone()), lookup);
        Some(missing(owner, &what, lookup)?.resting_on(rest))
    };
    change.detail.owners_added.iter().filter_map(tell).collect()
}

fn owned_by_node(owner: &Owner, what: &str) -> Violation {
    let text = format!(
        "{what} would be owned by node \"{}\"; it is deleted when the node object is; remove \
         metadata.ownerReferences unless that is meant",
        owner.name
    );
    Violation::new(FIELD, text).as_warning()
}

fn missing(owner: &Owner, what: &str, fate: Lookup<'_, OwnerFate>) -> Option<Violation> {
    let why = match fate {
        Lookup::Present(OwnerFate::Alive | OwnerFate::Hidden) => return None,
        Lookup::Present(OwnerFate::Replaced) => "has another uid",
        Lookup::Absent | Lookup::Unknown => "does not exist",
    };
    let text = format!(
        "owner {owner} of {what} {why}; the garbage collector deletes what has no other owner within \
         a second; remove metadata.ownerReferences or name an owner that lives"
    );
    Some(Violation::new(FIELD, text))
}

//! Giving a claim or a volume an owner that does not exist.

use super::judging::actor::Actor;
use super::judging::change::{AddedOwners, OWNERS_ADDED_MAX};
use super::prelude::*;
use crate::binding::OwnerState;
use crate::model::{ClaimKey, NamespaceName, Owner};

pub(super) static RULE: Rule = Rule {
    id: "orphan-owner",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::advise(Resource::Volumes, Operation::Create),
        RequestType::advise(Resource::Volumes, Operation::Update),
        RequestType::advise(Resource::Volumes, Operation::UpdateStatus),
        RequestType::advise(Resource::Claims, Operation::Create),
        RequestType::advise(Resource::Claims, Operation::Update),
        RequestType::advise(Resource::Claims, Operation::UpdateStatus),
    ]),
    options: RuleOptions::DEFAULT,
    page: Page {
        hazard: "A PVC or a PV gets an owner that does not exist, or that has another uid: an exported manifest \
            is applied again. Or a PV gets a node as its owner.",
        consequence: "The garbage collector deletes it within a second or two, a PVC with its data if the policy is \
            Delete. An object that a node owns is deleted with the node object, a bound PV once its PVC is \
            gone.",
        instead: "Remove metadata.ownerReferences, or name an existing owner with its uid. The webhook checks at \
            most 8 owners that one request adds; more are denied. On a bound PV, an owner that the webhook \
            may not read is denied too.",
    },
    policy: PolicyForm::NotExpressible("Whether an owner exists shows on the owner."),
    denied: &[
        Example::new("creating a PVC whose owner no longer exists")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class= owner=v1:Pod:main")
            .then(&[Fact::Gone("pvc/db/data")]),
        Example::new("giving a PVC an owner that no longer exists")
            .given(PAIR)
            .by(Persona::Tenant)
            .merges("pvc/db/data", DEAD_POD)
            .then(&[Fact::Gone("pvc/db/data")]),
        Example::new("giving a bound PV a deleted node as its owner")
            .given(PAIR)
            .merges("pv/pv-a", DEAD_NODE)
            .then(&[Fact::Has("pv/pv-a", "/metadata/deletionTimestamp")]),
    ],
    allowed: &[
        Example::new("giving a PVC an owner that exists")
            .given("pair pv-a db/data 10Gi RWO\nclaim db/owner 1Gi RWO class=")
            .by(Persona::Tenant)
            .merges("pvc/db/data", LIVING_CLAIM),
        Example::new("creating a PVC without an owner")
            .by(Persona::Tenant)
            .creates("claim db/data 1Gi RWO class="),
        Example::new("labelling a PVC without an owner")
            .given(PAIR)
            .by(Persona::Tenant)
            .merges("pvc/db/data", LABEL),
    ],
    check,
};

const DEAD_POD: &str = r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"main","uid":"dead0000-0000-4000-8000-000000000000"}]}}"#;
const DEAD_NODE: &str = r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1","uid":"dead0000-0000-4000-8000-000000000000"}]}}"#;
const LIVING_CLAIM: &str = r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"PersistentVolumeClaim","name":"owner","uid":"{uid:db/owner}"}]}}"#;

const FIELD: &str = "metadata.ownerReferences";

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let owners = match &change.detail.owners_added {
        // Nearly always: nothing is to be said of the object then.
        AddedOwners::These(owners) if owners.is_empty() => return Vec::new(),
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
            (format!("PV \"{}\"", transition.latest().name), NamespaceName::default())
        }
        ChangedObject::Claim(transition) => {
            let key = &transition.latest().key;
            (format!("PVC \"{}\"", key.name), key.namespace.clone())
        }
        ChangedObject::Namespace(_)
        | ChangedObject::Class(_)
        | ChangedObject::Attachment(_)
        | ChangedObject::Node(_)
        | ChangedObject::Driver(_)
        | ChangedObject::SnapshotContent(_) => return Vec::new(),
    };
    let violation = |owner: &Owner| {
        let lookup = evidence.owner(&namespace, owner);
        let dependency = Dependency::on(Read::Owner(namespace.clone(), owner.clone()), lookup);
        let is_node = namespace.is_empty() && &*owner.api_version == "v1" && &*owner.kind == "Node";
        match lookup {
            Lookup::Present(OwnerState::Hidden) => {
                let volume = change.volume().and_then(Transition::proposed)?;
                let (key, of_pair) = bound(volume, evidence)?;
                return Some(
                    hidden(owner, &what, key).depending_on(dependency).depending_on(of_pair),
                );
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
    owners.iter().filter_map(violation).collect()
}

/// A denial, not a warning: the webhook does not check so many, and no object needs them.
fn too_many() -> Violation {
    let text = format!(
        "more than {OWNERS_ADDED_MAX} owners would be added at once; the webhook does not check \
         so many, and the garbage collector deletes objects without an existing owner; add them \
         in several requests"
    );
    Violation::new(FIELD, text)
}

fn owned_by_node(owner: &Owner, what: &str) -> Violation {
    let text = format!(
        "{what} would be owned by node \"{}\"; it is deleted with the node object; remove \
         metadata.ownerReferences unless that is intended",
        owner.name
    );
    Violation::new(FIELD, text).as_warning()
}

/// An owner of a kind that may not be read: whether it lives is not known, and a bound volume is not left to that.
fn hidden(owner: &Owner, what: &str, key: &ClaimKey) -> Violation {
    let text = format!(
        "owner {owner} of {what}, which is bound to PVC \"{key}\", is not visible to this \
         webhook; if it does not exist, the garbage collector deletes the PV within a second; \
         keep metadata.ownerReferences of a bound PV unchanged"
    );
    Violation::new(FIELD, text)
}

fn missing(owner: &Owner, what: &str, state: Lookup<'_, OwnerState>) -> Option<Violation> {
    let why = match state {
        Lookup::Present(OwnerState::Alive | OwnerState::Hidden) => return None,
        Lookup::Present(OwnerState::Replaced) => "has another uid",
        Lookup::Absent | Lookup::Unknown => "does not exist",
    };
    Some(gone(owner, what, why))
}

/// The violation for a claim's missing owner. Its author may see nothing beyond the namespace, so another uid under
/// the name and no object of the name give the same answer.
fn not_there(owner: &Owner, what: &str, state: Lookup<'_, OwnerState>) -> Option<Violation> {
    missing(owner, what, state)?;
    Some(gone(owner, what, "does not exist with this uid"))
}

fn gone(owner: &Owner, what: &str, why: &str) -> Violation {
    let text = format!(
        "owner {owner} of {what} {why}; the garbage collector deletes objects without an existing \
         owner within a second; remove metadata.ownerReferences or name an owner that exists"
    );
    Violation::new(FIELD, text)
}

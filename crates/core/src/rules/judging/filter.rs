//! Which requests reach which endpoint of the registration: each condition as CEL, which the API
//! server evaluates, and as a predicate, which decides everywhere else.
//!
//! The two are compared over every recorded request by the end-to-end tests.

use super::actor::{
    ACCOUNT_PREFIX, BINDER, BREAK_GLASS, CONTROLLER_MANAGER, CONTROLLERS_PREFIX, NODE_PREFIX,
    NODES, PV_PROTECTION, PVC_PROTECTION, SCHEDULER,
};
use super::change::{Change, ChangedObject, Part, SpecChange, Transition};
use super::detaching;
use super::expansion;
use super::guarded_annotations;
use super::looked_at;
use super::namespace_labels;
use super::read_access::{self, ReadAccess, is_restricted};
use super::resource::{Operation, Resource, spelling};
use super::rule::{Endpoint, address};
use crate::model::annotations::{
    ALLOWED_NAMESPACES, BIND_COMPLETED, CLAIM_PROTECTION, EXTERNAL_DELETION, IN_TREE_DELETION,
    LEGACY_CLASS, TENANT, VOLUME_PROTECTION,
};
use crate::model::{
    ClaimPhase, ClassRequest, Deletion, Finalizers, Reservation, TenantLabel, Volume, VolumePhase,
};

/// One condition of a registration's endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its name in the registration.
    pub name: &'static str,
    /// What the API server evaluates.
    pub expression: String,
}

/// A condition of this name.
fn condition(name: &'static str, expression: String) -> Condition {
    Condition { name, expression }
}

/// The user name of our own controller where the configuration names no other.
pub const OWN_CONTROLLER: &str = "system:serviceaccount:bindery:bindery-controller";

/// A controller of the control plane, and the writes that it makes of its own accord.
type Controller = (&'static str, &'static [(Resource, Operation)]);

/// Its controllers that run under an account each, without [`CONTROLLERS_PREFIX`].
///
/// Kubernetes: `pkg/controller`, `UpdateStatus`, `Patch`, `Update` and `Delete` of volumes and claims, and
/// `bootstrappolicy/controller_policy.go`, which names the accounts.
const CONTROLLERS: [Controller; 8] = [
    (
        "persistent-volume-binder",
        &[
            (Resource::Volumes, Operation::Update),
            (Resource::Volumes, Operation::UpdateStatus),
            (Resource::Volumes, Operation::Delete),
            (Resource::Claims, Operation::Update),
            (Resource::Claims, Operation::UpdateStatus),
        ],
    ),
    ("pv-protection-controller", &[(Resource::Volumes, Operation::Update)]),
    (
        "pvc-protection-controller",
        &[(Resource::Claims, Operation::Update), (Resource::Claims, Operation::UpdateStatus)],
    ),
    (
        "expand-controller",
        &[
            (Resource::Volumes, Operation::Update),
            (Resource::Claims, Operation::Update),
            (Resource::Claims, Operation::UpdateStatus),
        ],
    ),
    ("namespace-controller", &[(Resource::Claims, Operation::Delete)]),
    (
        "generic-garbage-collector",
        &[
            (Resource::Volumes, Operation::Update),
            (Resource::Volumes, Operation::Delete),
            (Resource::Claims, Operation::Update),
            (Resource::Claims, Operation::Delete),
        ],
    ),
    ("statefulset-controller", &[(Resource::Claims, Operation::Update)]),
    ("attachdetach-controller", &[(Resource::Attachments, Operation::Delete)]),
];

/// What the scheduler writes: a reservation and a chosen node.
const SCHEDULER_WRITES: [(Resource, Operation); 2] =
    [(Resource::Volumes, Operation::Update), (Resource::Claims, Operation::Update)];

/// What a kubelet writes: how a resize came out.
const NODE_WRITES: [(Resource, Operation); 1] = [(Resource::Claims, Operation::UpdateStatus)];

/// What conditions depend on besides the endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The user name of our own controller.
    pub own_controller: &'a str,
    /// The keys of the labels of namespaces that are guarded.
    pub namespace_labels: &'a [String],
    /// The value of `tenancy.label`, or a placeholder for it.
    pub tenant_label: &'a str,
}

/// The conditions of `endpoint`; all must hold for a request to be sent.
pub fn conditions(endpoint: Endpoint, setting: Setting<'_>) -> Vec<Condition> {
    let quoted = setting.own_controller.replace('\\', "\\\\").replace('\'', "\\'");
    let own = match endpoint {
        Endpoint::Guard => condition("can-harm-bound-data", dangerous()),
        // What is sent to guard is judged there by all rules, so that no request waits for two calls.
        Endpoint::Advise | Endpoint::Restricted => condition(
            "not-sent-to-guard",
            format!(
                "request.operation == 'CREATE' || request.resource.resource == 'namespaces' || !({})",
                dangerous()
            ),
        ),
        Endpoint::Tenancy => condition("marked-for-tenants", for_tenants()),
        Endpoint::Mutate => condition(
            "new-or-newly-classed-or-reserved",
            format!(
                "request.resource.resource == 'persistentvolumeclaims' ? \
                 request.operation == 'CREATE' || !has(oldObject.spec.storageClassName) && \
                 has(object.spec.storageClassName) : \
                 request.operation == 'CREATE' ? has(object.spec.claimRef) || \
                 object.metadata.?annotations[?'{LEGACY_CLASS}'].hasValue() : {}",
                reserved_unmarked(setting.tenant_label)
            ),
        ),
        Endpoint::Restore => condition(
            "bound-reference-changes",
            format!(
                "oldObject.?status.?phase.orValue('') == 'Bound' && \
                 (request.resource.resource == 'persistentvolumeclaims' ? \
                 oldObject.metadata.?annotations[?'{BIND_COMPLETED}'].hasValue() && \
                 !object.metadata.?annotations[?'{BIND_COMPLETED}'].hasValue() : \
                 {CLAIM_REF_CHANGES})"
            ),
        ),
    };
    let mut conditions = vec![condition(
        "not-break-glass",
        format!("!('{BREAK_GLASS}' in request.userInfo.?groups.orValue([]))"),
    )];
    // Whose a namespace is may have changed since our own controller saw it.
    if endpoint == Endpoint::Tenancy {
        let labels = namespace_labels::expression(setting.namespace_labels);
        conditions.push(condition("guarded-namespace-label", labels));
    } else {
        let others = format!("request.userInfo.?username.orValue('') != '{quoted}'");
        conditions.push(condition("not-own-controller", others));
    }
    if matches!(endpoint, Endpoint::Advise | Endpoint::Restricted) {
        conditions.push(not_control_plane());
        conditions.push(by_read_access(endpoint));
        conditions.push(condition("looked-at-by-a-rule", looked_at::expression()));
    }
    conditions.push(own);
    conditions
}

/// Returns whether a registration with these conditions sends `change` to `endpoint`.
///
/// A request does not show what its user may read: `access` does.
pub fn reaches(
    endpoint: Endpoint,
    change: &Change,
    own_controller: &str,
    access: ReadAccess,
) -> bool {
    let is_own = change.user.name == own_controller && endpoint != Endpoint::Tenancy;
    if change.user.is_in(BREAK_GLASS) || is_own {
        return false;
    }
    match endpoint {
        Endpoint::Guard => is_dangerous(change),
        Endpoint::Advise => {
            is_advised(change) && !is_dangerous(change) && !is_restricted(change, access)
        }
        Endpoint::Restricted => {
            is_advised(change) && !is_dangerous(change) && is_restricted(change, access)
        }
        Endpoint::Tenancy => is_for_tenants(change) || namespace_labels::are_sent(change),
        Endpoint::Mutate => is_created_mutable(change) || sets_class(change) || owes_label(change),
        Endpoint::Restore => changes_bound_reference(change) || drops_bind_completed(change),
    }
}

/// Returns whether the rules of `advise` judge a change of its asker, through whichever endpoint it comes:
/// what the control plane does is its own, but for objects that it makes from the wishes of others.
pub fn is_advised(change: &Change) -> bool {
    is_create(change) || !is_control_plane(change) && looked_at::is_looked_at(change)
}

/// Returns whether a change can harm bound data: the predicate behind guard's condition.
pub fn is_dangerous(change: &Change) -> bool {
    let user = &change.user.name;
    match &change.subject {
        ChangedObject::Volume(Transition::Delete(old)) => old.phase == VolumePhase::Bound,
        ChangedObject::Volume(Transition::Update { old, new }) => {
            matches!(old.phase, VolumePhase::Bound | VolumePhase::Released)
                && (harms_spec(change, old, new)
                    || dropped(user, &old.finalizers, &new.finalizers)
                        .any(|name| !ends_reclaim(name, change, old))
                    || guarded_annotations::is_changed(old, new))
        }
        ChangedObject::Claim(Transition::Update { old, new }) => {
            dropped(user, &old.finalizers, &new.finalizers).next().is_some()
        }
        ChangedObject::Attachment(transition) => {
            !detaching::is_program(change) && detaching::is_by_hand(change, transition)
        }
        ChangedObject::Node(transition) => {
            !detaching::is_program(change) && detaching::declares_off(transition)
        }
        ChangedObject::Volume(Transition::Create(_))
        | ChangedObject::Claim(Transition::Create(_) | Transition::Delete(_))
        | ChangedObject::Namespace(_)
        | ChangedObject::Class(_)
        | ChangedObject::Driver(_)
        | ChangedObject::SnapshotContent(_) => false,
    }
}

fn harms_spec(change: &Change, old: &Volume, new: &Volume) -> bool {
    match change.detail.spec {
        SpecChange::None => false,
        SpecChange::SizeOrAttributes | SpecChange::Other => {
            !expansion::is_progress(change, old, new)
        }
    }
}

const GUARDED_FINALIZERS: [&str; 4] =
    [VOLUME_PROTECTION, CLAIM_PROTECTION, IN_TREE_DELETION, EXTERNAL_DELETION];

/// The accounts that take these finalizers off as their work: each volume and claim that goes would otherwise need a
/// webhook that answers.
///
/// Kubernetes: `pv_protection_controller.go`, `pvc_protection_controller.go`, `removeFinalizer`;
/// `pv_controller.go`, `modifyDeletionFinalizers`.
const FINALIZER_OWNERS: [(&str, &[&str]); 4] = [
    (CONTROLLER_MANAGER, &GUARDED_FINALIZERS),
    (BINDER, &[IN_TREE_DELETION, EXTERNAL_DELETION]),
    (PV_PROTECTION, &[VOLUME_PROTECTION]),
    (PVC_PROTECTION, &[CLAIM_PROTECTION]),
];

/// Returns whether a marked volume is reserved, or a reserved one marked: the predicate behind tenancy's condition.
fn is_for_tenants(change: &Change) -> bool {
    let Some(transition) = change.volume().filter(|_| change.part == Part::Main) else {
        return false;
    };
    let Some(new) = transition.proposed() else { return false };
    let is_reserved = new.reservation.key().is_some_and(|key| !key.namespace.is_empty());
    let differs = |old: &Volume| old.reservation != new.reservation || marks(old) != marks(new);
    is_reserved && marks(new) != (None, "") && transition.stored().is_none_or(differs)
}

/// Whom a volume admits, as it is written.
fn marks(volume: &Volume) -> (Option<&str>, &str) {
    let tenant = volume.labels.get(TENANT).unwrap_or_default();
    (volume.annotations.get(ALLOWED_NAMESPACES), tenant)
}

/// [`is_for_tenants`] of a creation or an update of a volume; namespaces have a condition of their own.
fn for_tenants() -> String {
    let listed = |object| format!("{object}.metadata.?annotations[?'{ALLOWED_NAMESPACES}']");
    let tenant = |object| format!("{object}.metadata.?labels[?'{TENANT}'].orValue('')");
    let [listed, old_listed] = ["object", "oldObject"].map(listed);
    let [tenant, old_tenant] = ["object", "oldObject"].map(tenant);
    format!(
        "request.resource.resource == 'namespaces' || (\
         object.spec.?claimRef.?namespace.orValue('') != '' && ({listed}.hasValue() || {tenant} != '') && \
         (request.operation == 'CREATE' || {old_listed} != {listed} || {old_tenant} != {tenant} || \
         {CLAIM_REF_CHANGES}))"
    )
}

/// Whether an update of a volume changes for whom it is reserved.
const CLAIM_REF_CHANGES: &str = "['namespace', 'name', 'uid'].exists(k, \
    oldObject.spec.?claimRef[?k].orValue('') != object.spec.?claimRef[?k].orValue(''))";

/// Returns whether a volume without a mark comes to be reserved where that labels it.
fn owes_label(change: &Change) -> bool {
    match change.parameters.tenant_label {
        TenantLabel::Manual => false,
        TenantLabel::Auto => change.newly_reserved().is_some(),
    }
}

/// [`owes_label`] of an update of a volume.
fn reserved_unmarked(tenant_label: &str) -> String {
    format!(
        "'{tenant_label}' == '{auto}' && object.spec.?claimRef.?namespace.orValue('') != '' && \
         !object.metadata.?labels[?'{TENANT}'].hasValue() && \
         !object.metadata.?annotations[?'{ALLOWED_NAMESPACES}'].hasValue() && \
         {CLAIM_REF_CHANGES}",
        auto = TenantLabel::Auto.as_str(),
    )
}

/// The guarded finalizers that `user` takes off and that are not its own to take.
fn dropped<'a>(
    user: &str,
    old: &'a Finalizers,
    new: &'a Finalizers,
) -> impl Iterator<Item = &'static str> + 'a {
    let owner = FINALIZER_OWNERS.iter().find(|(owner, _)| *owner == user);
    let own = owner.map_or(&[][..], |(_, names)| names);
    let is_dropped = move |name: &&str| old.has(name) && !new.has(name) && !own.contains(name);
    GUARDED_FINALIZERS.into_iter().filter(is_dropped)
}

/// Returns whether a program takes off the finalizer of provisioners at the end of a reclaim: which account is the
/// driver's no condition can know. It is judged in `advise`, so that no reclaim waits for a webhook that is down.
///
/// Kubernetes: `sig-storage-lib-external-provisioner`, `deleteVolumeOperation`.
fn ends_reclaim(finalizer: &str, change: &Change, old: &Volume) -> bool {
    finalizer == EXTERNAL_DELETION
        && old.phase == VolumePhase::Released
        && old.deletion == Deletion::Terminating
        && change.user.name.starts_with(ACCOUNT_PREFIX)
}

/// Each request is sent to one of the two.
fn by_read_access(endpoint: Endpoint) -> Condition {
    let restricted = read_access::expression();
    if endpoint == Endpoint::Restricted {
        condition("names-unreadable-volume", restricted)
    } else {
        condition("names-no-unreadable-volume", format!("!({restricted})"))
    }
}

/// Returns the condition that a request is no write which a controller of the control plane, or a kubelet, makes as its work.
pub fn not_control_plane() -> Condition {
    let named = CONTROLLERS.map(|(name, writes)| (format!("{CONTROLLERS_PREFIX}{name}"), writes));
    let scheduler = (SCHEDULER.to_owned(), &SCHEDULER_WRITES[..]);
    let endpoint = |(name, writes): (String, &[(Resource, Operation)])| {
        format!("'{name}': {}", spelled_all(writes))
    };
    let endpoints: Vec<String> = named.into_iter().chain([scheduler]).map(endpoint).collect();
    condition(
        "not-the-control-plane",
        format!(
            "request.operation == 'CREATE' || !(request.userInfo.?username.orValue('') == \
             '{CONTROLLER_MANAGER}' || (request.operation + ' ' + request.resource.resource + \
             (request.?subResource.orValue('') == 'status' ? '/status' : '')) in \
             ('{NODES}' in request.userInfo.?groups.orValue([]) && \
             request.userInfo.?username.orValue('').startsWith('{NODE_PREFIX}') ? {nodes} : \
             {{{endpoints}}}[?request.userInfo.?username.orValue('')].orValue([])))",
            nodes = spelled_all(&NODE_WRITES),
            endpoints = endpoints.join(", "),
        ),
    )
}

/// Writes as a list of texts: `UPDATE persistentvolumes/status`.
fn spelled_all(writes: &[(Resource, Operation)]) -> String {
    let spelled = writes.iter().map(|(resource, operation)| {
        let (resource, operation) = spelling(*resource, *operation);
        format!("'{operation} {resource}'")
    });
    format!("[{}]", spelled.collect::<Vec<String>>().join(", "))
}

/// [`is_dangerous`] of an update or deletion.
fn dangerous() -> String {
    format!(
        "request.resource.resource == 'volumeattachments' ? {person} && {attachment} : \
         request.resource.resource == 'nodes' ? {person} && {node} : {pair}",
        person = detaching::of_person(),
        attachment = detaching::of_attachment(),
        node = detaching::of_node(),
        pair = of_pair(),
    )
}

/// [`is_dangerous`] of an update or deletion of a volume or a claim; also of a deletion of what is neither.
fn of_pair() -> String {
    let owners =
        FINALIZER_OWNERS.map(|(name, finalizers)| format!("'{name}': [{}]", quoted(finalizers)));
    format!(
        "request.operation == 'DELETE' ? request.resource.resource == 'persistentvolumes' && \
         oldObject.?status.?phase.orValue('') == 'Bound' : \
         (request.resource.resource == 'persistentvolumeclaims' || \
         oldObject.?status.?phase.orValue('') in ['Bound', 'Released']) && \
         ([{finalizers}].exists(f, f in oldObject.metadata.?finalizers.orValue([]) && \
         !(f in object.metadata.?finalizers.orValue([])) && \
         !(f in {{{owners}}}[?request.userInfo.?username.orValue('')].orValue([])) && \
         !(f == '{EXTERNAL_DELETION}' && oldObject.?status.?phase.orValue('') == 'Released' && \
         oldObject.metadata.?deletionTimestamp.hasValue() && \
         request.userInfo.?username.orValue('').startsWith('{ACCOUNT_PREFIX}'))) || \
         (request.resource.resource == 'persistentvolumes' && \
         (object.spec != oldObject.spec && !({expansion}) || \
         [{annotations}].exists(k, \
         oldObject.metadata.?annotations[?k] != object.metadata.?annotations[?k]))))",
        finalizers = quoted(&GUARDED_FINALIZERS),
        owners = owners.join(", "),
        expansion = expansion::expression(),
        annotations = quoted(&guarded_annotations::NAMES),
    )
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    quoted.join(", ")
}

fn is_create(change: &Change) -> bool {
    address(change).1 == Operation::Create
}

/// Returns whether a mutation may change a new object. None changes a volume that has neither claimRef nor the legacy
/// annotation of a class.
fn is_created_mutable(change: &Change) -> bool {
    match &change.subject {
        ChangedObject::Volume(Transition::Create(new)) => {
            new.reservation != Reservation::Free || new.annotations.has(LEGACY_CLASS)
        }
        ChangedObject::Claim(_) | ChangedObject::Namespace(_) => is_create(change),
        ChangedObject::Volume(Transition::Update { .. } | Transition::Delete(_))
        | ChangedObject::Class(_)
        | ChangedObject::Attachment(_)
        | ChangedObject::Node(_)
        | ChangedObject::Driver(_)
        | ChangedObject::SnapshotContent(_) => false,
    }
}

/// Returns whether a controller of the control plane, or a kubelet, makes a write that is its own to make.
fn is_control_plane(change: &Change) -> bool {
    let (name, write) = (change.user.name.as_str(), address(change));
    if name == CONTROLLER_MANAGER {
        return true;
    }
    if name.starts_with(NODE_PREFIX) && change.user.is_in(NODES) {
        return NODE_WRITES.contains(&write);
    }
    let controller = name.strip_prefix(CONTROLLERS_PREFIX);
    (name == SCHEDULER && SCHEDULER_WRITES.contains(&write))
        || CONTROLLERS
            .iter()
            .any(|(own, writes)| controller == Some(*own) && writes.contains(&write))
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

fn drops_bind_completed(change: &Change) -> bool {
    change.part == Part::Main
        && change.claim_update().is_some_and(|(old, new)| {
            old.phase == ClaimPhase::Bound
                && old.annotations.has(BIND_COMPLETED)
                && !new.annotations.has(BIND_COMPLETED)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The API server takes the square of their number in time for looking through annotations.
    #[test]
    fn no_condition_looks_through_annotations() {
        for endpoint in Endpoint::ALL {
            let setting = Setting {
                own_controller: OWN_CONTROLLER,
                namespace_labels: &[],
                tenant_label: TenantLabel::Auto.as_str(),
            };
            for condition in conditions(endpoint, setting) {
                let text = condition.expression.replace("annotations[?", "");
                assert!(!text.contains("annotations"), "{}: {text}", condition.name);
            }
        }
    }
}

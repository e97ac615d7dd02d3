//! What a rule is: one value that says everything about one hazard.
//!
//! Registrations, reference pages and the tests of every level follow from it.

use std::fmt;
use std::ops::Deref;

use super::change::{Change, ChangedObject, Part, Transition};
use super::policy_form::PolicyForm;
use super::resource::{Operation, Resource};
use super::violation::Violation;
use crate::binding::Evidence;
use crate::model::{Claim, Volume};

/// One hazard: what it is, which requests can cause it, and how it is reported.
pub struct Rule {
    /// Its stable name, in kebab case.
    pub id: &'static str,
    /// What it does unless the configuration says otherwise.
    pub mode: Mode,
    /// The requests that it looks at: the only source of registrations.
    pub request_types: RequestTypes,
    /// In what it differs from most rules.
    pub options: RuleOptions,
    /// Its reference page.
    pub page: Page,
    /// What the API server can evaluate of it without the webhook.
    pub policy: PolicyForm,
    /// Changes that it denies, each with the harm that follows where it is not installed.
    pub denied: &'static [Example],
    /// Allowed counterparts.
    pub allowed: &'static [Example],
    /// Finds every violation in a change.
    pub check: fn(&Change, &Evidence<'_>) -> Vec<Violation>,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Rule {
    /// The id in its messages.
    pub fn reported_id(&self) -> &'static str {
        self.options.reported_as.unwrap_or(self.id)
    }

    /// Returns whether it denies users who lack a permission. A request does not show permissions: the API server sends
    /// only the requests of those users.
    pub fn is_of_permission(&self) -> bool {
        let is_labelling = |request_type: &RequestType| {
            (request_type.endpoint, request_type.resource)
                == (Endpoint::Tenancy, Resource::Namespaces)
        };
        self.request_types.iter().all(is_labelling)
    }

    /// Where an exemption from it can stand.
    pub fn exempted_by(&self) -> ExemptedBy {
        let of = |is_one: fn(Resource) -> bool| {
            self.request_types.iter().any(|request_type| is_one(request_type.resource))
        };
        match self.options.exemption {
            Exemptable::No => ExemptedBy::Nothing,
            Exemptable::Yes if of(Resource::is_of_pair) => ExemptedBy::Volume,
            Exemptable::Yes if of(|resource| resource == Resource::Namespaces) => {
                ExemptedBy::Namespace
            }
            Exemptable::Yes => ExemptedBy::Cluster,
        }
    }
}

/// What most rules have in common, and some do not.
#[derive(Clone, Copy, Debug)]
pub struct RuleOptions {
    /// Whether it still counts on an object that is being deleted.
    pub terminating: Terminating,
    /// Whether an annotation can exempt from it.
    pub exemption: Exemptable,
    /// The rule under whose id it reports, where its own would reveal too much. If it denies, no violation that
    /// depends on other volumes or claims is reported.
    pub reported_as: Option<&'static str>,
    /// How `scan` finds it in an existing object.
    pub scan: ScanCheck,
}

impl RuleOptions {
    /// An exemption exempts, nothing is denied of an object that is being deleted, the rule reports under its own id,
    /// and `scan` does not find the hazard.
    pub const DEFAULT: Self = Self {
        terminating: Terminating::Passes,
        exemption: Exemptable::Yes,
        reported_as: None,
        scan: ScanCheck::Unseen,
    };
}

/// Returns whether one of `request_types` is that of `change` through `endpoint`.
pub fn is_routed(request_types: RequestTypes, change: &Change, endpoint: Endpoint) -> bool {
    let (resource, operation) = address(change);
    request_types.have(resource, operation)
        && request_types.contains(&RequestType { endpoint, resource, operation })
}

/// The resource and operation by which request types know a change.
pub fn address(change: &Change) -> (Resource, Operation) {
    fn operation<T>(transition: &Transition<T>, part: Part) -> Operation {
        match (transition, part) {
            (Transition::Create(_), _) => Operation::Create,
            (Transition::Delete(_), _) => Operation::Delete,
            (Transition::Update { .. }, Part::Main) => Operation::Update,
            (Transition::Update { .. }, Part::Status) => Operation::UpdateStatus,
            (Transition::Update { .. }, Part::Finalize) => Operation::Finalize,
        }
    }
    match &change.subject {
        ChangedObject::Volume(transition) => {
            (Resource::Volumes, operation(transition, change.part))
        }
        ChangedObject::Claim(transition) => (Resource::Claims, operation(transition, change.part)),
        ChangedObject::Namespace(transition) => {
            (Resource::Namespaces, operation(transition, change.part))
        }
        ChangedObject::Class(transition) => (Resource::Classes, operation(transition, change.part)),
        ChangedObject::Attachment(transition) => {
            (Resource::Attachments, operation(transition, change.part))
        }
        ChangedObject::Node(transition) => (Resource::Nodes, operation(transition, change.part)),
        ChangedObject::Driver(transition) => {
            (Resource::Drivers, operation(transition, change.part))
        }
        ChangedObject::SnapshotContent(transition) => {
            (Resource::SnapshotContents, operation(transition, change.part))
        }
    }
}

/// What a rule does when it is violated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Denies the change.
    Deny,
    /// Lets it pass with a warning.
    Warn,
    /// Lets it pass, counted and logged.
    Audit,
    /// Is not looked at.
    Off,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Deny, Self::Warn, Self::Audit, Self::Off];

    /// The spelling in configuration and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Audit => "audit",
            Self::Off => "off",
        }
    }
}

/// One kind of request that a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestType {
    /// Through which endpoint of the registration it comes.
    pub endpoint: Endpoint,
    /// On which resource.
    pub resource: Resource,
    /// With which operation.
    pub operation: Operation,
}

/// The kinds of requests that a rule or a mutation looks at.
#[derive(Clone, Copy, Debug)]
pub struct RequestTypes {
    types: &'static [RequestType],
    /// A bit for each resource with an operation that is among them: a request that concerns none costs one comparison,
    /// however many rules there are.
    bits: u64,
}

impl RequestTypes {
    /// These.
    pub const fn of(types: &'static [RequestType]) -> Self {
        let (mut bits, mut rest) = (0, types);
        while let [first, others @ ..] = rest {
            bits |= bit(first.resource, first.operation);
            rest = others;
        }
        Self { types, bits }
    }

    /// Returns whether one of them is about this resource with this operation, through whichever endpoint.
    pub fn have(self, resource: Resource, operation: Operation) -> bool {
        self.bits & bit(resource, operation) != 0
    }
}

impl Deref for RequestTypes {
    type Target = [RequestType];

    fn deref(&self) -> &[RequestType] {
        self.types
    }
}

/// Of eight resources with five operations.
const fn bit(resource: Resource, operation: Operation) -> u64 {
    1 << (resource as u64 * 5 + operation as u64)
}

impl RequestType {
    /// A request type through the endpoint that must not be bypassed.
    pub const fn guard(resource: Resource, operation: Operation) -> Self {
        Self { endpoint: Endpoint::Guard, resource, operation }
    }

    /// A request type through the endpoint that mutates new objects.
    pub const fn mutate(resource: Resource, operation: Operation) -> Self {
        Self { endpoint: Endpoint::Mutate, resource, operation }
    }

    /// A request type through the endpoint that keeps tenants apart.
    pub const fn tenancy(resource: Resource, operation: Operation) -> Self {
        Self { endpoint: Endpoint::Tenancy, resource, operation }
    }

    /// A request type through the endpoint that puts back what a manifest dropped.
    pub const fn restore(resource: Resource, operation: Operation) -> Self {
        Self { endpoint: Endpoint::Restore, resource, operation }
    }

    /// A request type through the endpoint that lets requests pass when the webhook is down.
    pub const fn advise(resource: Resource, operation: Operation) -> Self {
        Self { endpoint: Endpoint::Advise, resource, operation }
    }
}

/// The endpoints of the registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Endpoint {
    /// Fails closed; only requests that can harm bound data reach it.
    Guard,
    /// Fails open; everything else that is validated.
    Advise,
    /// Fails open; what `advise` would be asked of a claim that names a volume, where the asker may not read that
    /// volume.
    Restricted,
    /// Fails closed for every user; only requests about objects that are marked for a tenant reach it.
    Tenancy,
    /// Mutates new objects; fails open.
    Mutate,
    /// Puts back what a re-applied manifest dropped from a bound volume; fails open.
    Restore,
}

impl Endpoint {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Guard, Self::Advise, Self::Restricted, Self::Tenancy, Self::Mutate, Self::Restore];
    /// Those that judge.
    pub const VALIDATING: [Self; 4] = [Self::Guard, Self::Advise, Self::Restricted, Self::Tenancy];
}

/// Whether a rule counts on an object that is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminating {
    /// Everything passes: a denial would only delay the deletion.
    Passes,
    /// It is judged all the same.
    Judged,
}

/// Whether an annotation can exempt from a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exemptable {
    /// For a time, with a reason.
    Yes,
    /// Never.
    No,
}

/// Where an exemption from a rule can stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExemptedBy {
    /// On the volume, or in the configuration: requests for volumes or claims can violate the rule.
    Volume,
    /// In the configuration, where it may name Namespaces: only requests for Namespaces can.
    Namespace,
    /// In the configuration, for the whole cluster: no request that can is about a Namespace.
    Cluster,
    /// Nowhere: the rule has no exemption.
    Nothing,
}

/// How a hazard is found in an existing object.
#[derive(Clone, Copy, Debug)]
pub enum ScanCheck {
    /// It does not: only the change is one.
    Unseen,
    /// As it would if the object were created now.
    AsCreated,
    /// The same, while a volume or a claim is not bound.
    WhileUnbound,
    /// By this, in a volume.
    OfVolume(fn(&Volume, &Evidence<'_>) -> Option<Violation>),
    /// By this, in a claim.
    OfClaim(fn(&Claim, &Evidence<'_>) -> Option<Violation>),
}

/// The reference page of a rule.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// What goes wrong.
    pub hazard: &'static str,
    /// Its consequence.
    pub consequence: &'static str,
    /// How to do legitimately what was meant.
    pub instead: &'static str,
}

/// A change in a small cluster, run as a test at every level.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What happens, as a sentence without full stop.
    pub title: &'static str,
    /// The cluster before, one object a line (notation: `api::fixture`).
    pub given: &'static str,
    /// Who asks.
    pub by: Persona,
    /// What is sent.
    pub send: Send,
    /// What is true afterwards if no rule denies it.
    pub then: &'static [Fact],
}

impl Example {
    /// An example in which an administrator changes an empty cluster; what is sent has to follow.
    pub const fn new(title: &'static str) -> Self {
        Self { title, given: "", by: Persona::Admin, send: Send::Create(""), then: &[] }
    }

    /// The same in this cluster.
    pub const fn given(mut self, given: &'static str) -> Self {
        self.given = given;
        self
    }

    /// The same by this user.
    pub const fn by(mut self, by: Persona) -> Self {
        self.by = by;
        self
    }

    /// Creates the object of one line.
    pub const fn creates(mut self, line: &'static str) -> Self {
        self.send = Send::Create(line);
        self
    }

    /// Changes `target` by a JSON merge patch.
    pub const fn merges(mut self, target: &'static str, patch: &'static str) -> Self {
        self.send = Send::Merge { target, patch };
        self
    }

    /// The same through `/status`.
    pub const fn merges_status(mut self, target: &'static str, patch: &'static str) -> Self {
        self.send = Send::MergeStatus { target, patch };
        self
    }

    /// Deletes `target`.
    pub const fn deletes(mut self, target: &'static str) -> Self {
        self.send = Send::Delete(target);
        self
    }

    /// Returns what is true afterwards where no rule denies it.
    pub const fn then(mut self, then: &'static [Fact]) -> Self {
        self.then = then;
        self
    }
}

/// What an example sends.
#[derive(Clone, Copy, Debug)]
pub enum Send {
    /// Creates the object of one line.
    Create(&'static str),
    /// Changes `target` by a JSON merge patch.
    Merge {
        /// `pv/NAME`, `pvc/NAMESPACE/NAME`, `ns/NAME`, `node/NAME` or `volumeattachment/NAME`.
        target: &'static str,
        /// The patch; `{uid:NAMESPACE/NAME}` stands for a claim's uid.
        patch: &'static str,
    },
    /// The same through `/status`.
    MergeStatus {
        /// `pv/NAME`, `pvc/NAMESPACE/NAME` or `ns/NAME`.
        target: &'static str,
        /// The patch.
        patch: &'static str,
    },
    /// Deletes `target`; also `sc/NAME` and `csidriver/NAME`.
    Delete(&'static str),
}

/// Who sends an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Persona {
    /// A cluster administrator.
    Admin,
    /// A user who may do everything in their namespace, and may not read volumes.
    Tenant,
    /// The same with the right to read volumes.
    VolumeViewer,
    /// A user who creates and updates namespaces, and may not write volumes: of a platform that serves itself.
    NamespaceAdmin,
    /// The in-tree binder.
    Binder,
    /// The scheduler.
    Scheduler,
    /// The controller of volume protection.
    VolumeProtection,
    /// The controller of claim protection.
    ClaimProtection,
    /// The garbage collector.
    GarbageCollector,
    /// The attach/detach controller.
    AttachDetach,
    /// A storage driver's service account.
    Driver,
}

/// Something that is true of an object: at `pointer` (RFC 6901), in JSON, or that it is gone.
#[derive(Clone, Copy, Debug)]
pub enum Fact {
    /// The value at the pointer is this JSON text.
    Is(&'static str, &'static str, &'static str),
    /// There is something at the pointer.
    Has(&'static str, &'static str),
    /// There is nothing at the pointer.
    Lacks(&'static str, &'static str),
    /// The object does not exist.
    Gone(&'static str),
}

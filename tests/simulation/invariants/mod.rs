//! What must hold whatever goes wrong, judged on every accepted write.
//!
//! [`Monitor::judge`] takes the writes of [`bindery_sim::Accepted`] in order, as a witness of the
//! cluster or afterwards from its history. It remembers what everybody wrote and blames the
//! controllers alone: users edit what they like, and the rules say what a controller may make of it.
//! What only shows at the end is in `ending`.

mod binding;
mod conduct;
mod data;
pub(crate) mod ending;
mod release;
mod seen;
mod storage;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use bindery_sim::Accepted;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use data::Owners;
use seen::Seen;

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Invariant {
    /// I1: no two claims are bound to one volume.
    OneHolder,
    /// I2: a reservation never moves to another claim without being taken back first.
    ReservationStays,
    /// I3: nothing is released or deleted while its claim exists.
    ReleasedOnlyWithoutClaim,
    /// I4: a retained volume is never deleted, and a used reservation never taken back.
    RetainedKept,
    /// I5: only the holder of the lease writes.
    HolderWrites,
    /// I6: the four steps of a binding come in order.
    StepsInOrder,
    /// I7: from anything that happened, the cluster comes to rest whole.
    ComesToRest,
    /// I8: no write without a version, no delete without a uid.
    NothingBlind,
    /// I9: what the binder chose fits.
    ChosenFits,
    /// A volume that is for some namespaces is given to no claim of another.
    TenantsApart,
    /// I10: phases change only as Kubernetes' binder changes them.
    PhaseTransitions,
    /// I11: one bad object stops no other.
    UnreadableContained,
    /// I12: no object is written in a hot loop.
    WriteRate,
    /// I13: fields of others survive.
    ForeignFieldsKept,
    /// I14: the same inputs give the same writes.
    Repeatable,
    /// A volume with the data of one claim is given to no other, unless a person gave it free or it was emptied.
    DataStays,
    /// The storage of a provisioned volume is deleted before the volume is gone.
    StorageNotLeaked,
    /// No pod empties a volume that a pod has mounted or a claim has.
    EmptiedUnused,
    /// A process of which a task ended ends whole, and no other ends.
    EndsWhole,
    /// Two that fit are bound at once, in whatever order they come.
    BoundAtOnce,
    /// A cluster in which nothing happens is not read again and again.
    ReadRate,
}

/// A write, or the end, that breaks an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    /// What is broken.
    pub(crate) invariant: Invariant,
    /// The version of the write; 0 at the end.
    pub(crate) version: u64,
    /// What happened.
    pub(crate) text: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { invariant, version, text } = self;
        write!(formatter, "{invariant:?} at version {version}: {text}")
    }
}

/// Who is judged, and how strictly.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// The users that play controllers, each with the identity that it writes into the lease.
    pub(crate) controllers: BTreeMap<String, String>,
    /// Namespace and name of the lease; without one no process has to hold it.
    pub(crate) lease: Option<(String, String)>,
    /// How long a request may be on its way: a write may be accepted so much later than the state on
    /// which it was sent.
    pub(crate) way: SignedDuration,
    /// How many writes of one object within `window` are no hot loop: a volume that is offered,
    /// reserved, bound, released and offered again needs seven.
    pub(crate) writes: usize,
    /// The time over which `writes` are counted.
    pub(crate) window: SignedDuration,
}

impl Terms {
    /// One controller, without a lease, whose requests are on their way for a second at most.
    pub(crate) fn of(user: &str) -> Self {
        Self {
            controllers: BTreeMap::from([(user.to_owned(), user.to_owned())]),
            lease: None,
            way: SignedDuration::from_secs(1),
            writes: 20,
            window: SignedDuration::from_secs(10),
        }
    }
}

/// Judges a history as it grows.
pub(crate) struct Monitor {
    terms: Terms,
    seen: Seen,
    owners: Owners,
    breaches: Vec<Breach>,
    /// Times of the controllers' latest writes, by object.
    writes: BTreeMap<String, VecDeque<Timestamp>>,
    held: BTreeMap<String, conduct::Held>,
}

impl Monitor {
    /// A monitor that has seen nothing: the history has to begin with the first object.
    pub(crate) fn new(terms: Terms) -> Self {
        let (writes, held) = (BTreeMap::new(), BTreeMap::new());
        let (seen, owners) = (Seen::default(), Owners::default());
        Self { terms, seen, owners, breaches: Vec::new(), writes, held }
    }

    /// Judges the next write.
    pub(crate) fn judge(&mut self, write: &Accepted) {
        let version = write.version;
        let mut found = Vec::new();
        if self.terms.controllers.contains_key(&write.user) {
            found.extend(binding::judge(&self.seen, write, &self.terms));
            found.extend(release::judge(&self.seen, write));
            found.extend(conduct::judge(write));
            found.extend(self.owners.judge(write));
            found.extend(storage::judge_emptied(&self.seen, write, &self.terms));
            found.extend(self.judge_holder(write));
            found.extend(self.judge_rate(write));
        }
        found.extend(storage::judge_leak(&self.seen, write));
        self.note_lease(write);
        let is_ours = self.terms.controllers.contains_key(&write.user);
        self.owners.learn(&self.seen, write, is_ours);
        self.seen.learn(write, is_ours);
        let breach = |(invariant, text)| Breach { invariant, version, text };
        self.breaches.extend(found.into_iter().map(breach));
    }

    /// Everything that was broken so far.
    pub(crate) fn breaches(&self) -> &[Breach] {
        &self.breaches
    }
}

/// What a rule found.
type Found = Vec<(Invariant, String)>;

const VOLUMES: &str = "persistentvolumes";
const CLAIMS: &str = "persistentvolumeclaims";
const LEASES: &str = "leases";
const PODS: &str = "pods";
const NAMESPACES: &str = "namespaces";

/// The text at a JSON pointer; empty if there is none.
fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// An annotation; empty if there is none.
fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"]["annotations"][key].as_str().unwrap_or_default()
}

/// `namespace/name`, or the name alone.
fn path(object: &Value) -> String {
    match (text(object, "/metadata/namespace"), text(object, "/metadata/name")) {
        ("", name) => name.to_owned(),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

/// `namespace/name` of the claim that a volume is reserved for; empty if it is for none.
fn reserved_for(volume: &Value) -> String {
    let of = |field: &str| text(volume, &format!("/spec/claimRef/{field}")).to_owned();
    match of("name").as_str() {
        "" => String::new(),
        name => format!("{}/{name}", of("namespace")),
    }
}

const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// The label of a namespace or a volume that says whose it is.
const TENANT: &str = "/metadata/labels/bindery.dev~1tenant";
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

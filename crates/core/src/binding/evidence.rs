//! What is known for one question: the view, and what was read live for this question.
//!
//! "Not in the view" is unknown, never absent: only a live read that found nothing, or another uid
//! under the name, proves absence. A decision that needs an unknown object returns the read that would
//! settle it; nothing is read here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arcstr::ArcStr;

use super::collections::ListedCollections;
use super::read::{OwnerState, PodUse, Read, ReadResult};
use super::view::View;
use crate::model::{
    Claim, ClaimKey, Class, ClassName, Namespace, Node, NodeState, NodeTerm, NonEmpty, Owner, Pod,
    TenantLabel, Uid, Volume, VolumeName,
};

/// What is known of one object.
#[derive(Debug, PartialEq, Eq)]
pub enum Lookup<'a, T> {
    /// It was observed.
    Present(&'a T),
    /// A live read proved that it does not exist.
    Absent,
    /// It was not observed, and no live read was made.
    Unknown,
}

// Derived, the two would ask for a `T` that can be copied; only the reference is.
impl<T> Clone for Lookup<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Lookup<'_, T> {}

impl<'a, T> Lookup<'a, T> {
    /// The object, if it was seen.
    pub fn present(self) -> Option<&'a T> {
        match self {
            Self::Present(object) => Some(object),
            Self::Absent | Self::Unknown => None,
        }
    }
}

/// What was read live for one question.
#[derive(Clone, Debug, Default)]
pub struct LiveReads {
    /// Claims by name.
    pub claims: BTreeMap<ClaimKey, ReadResult<Claim>>,
    /// Volumes by name.
    pub volumes: BTreeMap<VolumeName, ReadResult<Volume>>,
    /// Classes by name.
    pub classes: BTreeMap<ClassName, ReadResult<Class>>,
    /// Use of claims by pods.
    pub pods: BTreeMap<ClaimKey, ReadResult<PodUse>>,
    /// All pods that use a claim and have not finished.
    pub live_pods: BTreeMap<ClaimKey, ReadResult<Vec<Pod>>>,
    /// Nodes by name.
    pub nodes: BTreeMap<Box<str>, ReadResult<Node>>,
    /// Whether the machines of nodes run, by the name of the node.
    pub node_states: BTreeMap<Box<str>, ReadResult<NodeState>>,
    /// Whether there is a node that a term admits.
    pub any_nodes: BTreeMap<NodeTerm, ReadResult<()>>,
    /// Namespaces by name.
    pub namespaces: BTreeMap<ArcStr, ReadResult<Namespace>>,
    /// Owners, by the namespace of what they own.
    pub owners: BTreeMap<(ArcStr, Owner), ReadResult<OwnerState>>,
    /// The default class.
    pub default_class: Option<ReadResult<Class>>,
    /// Leases by namespace and name.
    pub leases: BTreeMap<(ArcStr, Box<str>), ReadResult<()>>,
    /// Volumes that need no read, as the view shows them as they were a moment ago.
    pub recent: Recent,
}

/// Volumes that a view shows as they were a moment ago, and not only as they once were: the API server
/// has just replied to a write to them.
#[derive(Clone, Debug, Default)]
pub enum Recent {
    /// None.
    #[default]
    None,
    /// These.
    Volumes(BTreeSet<VolumeName>),
    /// All: the view shows everything there is.
    All,
}

impl LiveReads {
    /// Returns how `read` turned out.
    pub fn confirmation(&self, read: &Read) -> Confirmation {
        fn of<T>(answer: Option<&ReadResult<T>>) -> Confirmation {
            match answer {
                None => Confirmation::NotTried,
                Some(ReadResult::Failed | ReadResult::Unreadable) => Confirmation::Failed,
                Some(ReadResult::Found(_) | ReadResult::NotFound) => Confirmation::Answered,
            }
        }
        match read {
            Read::Claim(key) => of(self.claims.get(key)),
            Read::Volume(name) => of(self.volumes.get(name)),
            Read::Class(name) => of(self.classes.get(name)),
            Read::PodsUsing(key) => of(self.pods.get(key)),
            Read::LivePods(key) => of(self.live_pods.get(key)),
            Read::Node(name) => of(self.nodes.get(name)),
            Read::NodeState(name) => of(self.node_states.get(name)),
            Read::AnyNode(term) => of(self.any_nodes.get(term)),
            Read::Namespace(name) => of(self.namespaces.get(name)),
            Read::Owner(namespace, owner) => {
                of(self.owners.get(&(namespace.clone(), owner.clone())))
            }
            Read::DefaultClass => of(self.default_class.as_ref()),
            Read::Lease(namespace, name) => of(self.leases.get(&(namespace.clone(), name.clone()))),
        }
    }

    /// Adds what was read by another hand; where both have an answer, the other's counts.
    pub fn merge(&mut self, other: Self) {
        self.claims.extend(other.claims);
        self.volumes.extend(other.volumes);
        self.classes.extend(other.classes);
        self.pods.extend(other.pods);
        self.live_pods.extend(other.live_pods);
        self.nodes.extend(other.nodes);
        self.node_states.extend(other.node_states);
        self.any_nodes.extend(other.any_nodes);
        self.namespaces.extend(other.namespaces);
        self.owners.extend(other.owners);
        self.default_class = other.default_class.or(self.default_class.take());
        self.leases.extend(other.leases);
    }

    /// Answers `reads` from a view that shows what `listed` says: what is not in it does not exist only if all
    /// of its kind is. The other reads fail. How running pods use claims, and what nodes there are, no view
    /// shows.
    pub fn answer_from(&mut self, view: &View, listed: &ListedCollections, reads: &NonEmpty<Read>) {
        for read in reads.iter() {
            let absent = listed.answers(read);
            match read {
                Read::Claim(key) => note(&mut self.claims, key, seen(view.claim(key), absent)),
                Read::Volume(name) => {
                    note(&mut self.volumes, name, seen(view.volume(name), absent));
                }
                Read::Class(name) => note(&mut self.classes, name, seen(view.class(name), absent)),
                Read::LivePods(key) if absent => {
                    let pods = view.pods_of(key).map(|pod| Pod::clone(pod)).collect();
                    note(&mut self.live_pods, key, ReadResult::Found(Arc::new(pods)));
                }
                Read::Namespace(name) => {
                    note(&mut self.namespaces, name, seen(view.namespace_of(name), absent));
                }
                // Among classes that are not there may be a newer one.
                Read::DefaultClass if absent => {
                    self.default_class = Some(seen(view.default_class(), absent));
                }
                Read::PodsUsing(_)
                | Read::Node(_)
                | Read::NodeState(_)
                | Read::AnyNode(_)
                | Read::Owner(..)
                | Read::Lease(..)
                | Read::LivePods(_)
                | Read::DefaultClass => self.fail(read),
            }
        }
    }

    /// Notes that `reads` failed.
    pub fn fail_all(&mut self, reads: &[Read]) {
        for read in reads {
            self.fail(read);
        }
    }

    fn fail(&mut self, read: &Read) {
        match read {
            Read::Claim(key) => note(&mut self.claims, key, ReadResult::Failed),
            Read::Volume(name) => note(&mut self.volumes, name, ReadResult::Failed),
            Read::Class(name) => note(&mut self.classes, name, ReadResult::Failed),
            Read::PodsUsing(key) => note(&mut self.pods, key, ReadResult::Failed),
            Read::LivePods(key) => note(&mut self.live_pods, key, ReadResult::Failed),
            Read::Node(name) => note(&mut self.nodes, name, ReadResult::Failed),
            Read::NodeState(name) => note(&mut self.node_states, name, ReadResult::Failed),
            Read::AnyNode(term) => note(&mut self.any_nodes, term, ReadResult::Failed),
            Read::Namespace(name) => note(&mut self.namespaces, name, ReadResult::Failed),
            Read::Owner(namespace, owner) => {
                note(&mut self.owners, &(namespace.clone(), owner.clone()), ReadResult::Failed);
            }
            Read::DefaultClass => self.default_class = Some(ReadResult::Failed),
            Read::Lease(namespace, name) => {
                note(&mut self.leases, &(namespace.clone(), name.clone()), ReadResult::Failed);
            }
        }
    }
}

fn note<K: Clone + Ord, T>(
    results: &mut BTreeMap<K, ReadResult<T>>,
    key: &K,
    result: ReadResult<T>,
) {
    results.insert(key.clone(), result);
}

/// The answer about an object of which a view shows this; `is_whole` if it shows all of its kind.
fn seen<T>(object: Option<&Arc<T>>, is_whole: bool) -> ReadResult<T> {
    match object {
        Some(object) => ReadResult::Found(Arc::clone(object)),
        None if is_whole => ReadResult::NotFound,
        None => ReadResult::Failed,
    }
}

/// How a read turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// It was made and answered.
    Answered,
    /// It was tried and failed.
    Failed,
    /// It was not tried.
    NotTried,
}

impl Confirmation {
    /// Its name in metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::NotTried => "not_tried",
        }
    }
}

/// The view together with the live reads of one question; live reads win.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    view: &'a View,
    live: &'a LiveReads,
    tenant_label: TenantLabel,
}

impl<'a> Evidence<'a> {
    /// Returns what `view` shows, corrected by `live`.
    pub fn new(view: &'a View, live: &'a LiveReads) -> Self {
        Self { view, live, tenant_label: TenantLabel::Manual }
    }

    /// The same for a binder that labels volumes, or does not.
    pub fn labelling(self, tenant_label: TenantLabel) -> Self {
        Self { tenant_label, ..self }
    }

    /// Returns who labels volumes.
    pub(super) fn tenant_label(&self) -> TenantLabel {
        self.tenant_label
    }

    /// The view alone.
    pub fn view(&self) -> &'a View {
        self.view
    }

    /// The claim of this name, whichever it is.
    pub fn claim(&self, key: &ClaimKey) -> Lookup<'a, Claim> {
        let found = resolve(self.live.claims.get(key), self.view.claim(key));
        if matches!(found, Lookup::Unknown) && !key.may_exist() { Lookup::Absent } else { found }
    }

    /// The claim of this name and uid. Another uid under the name proves absence only live: the
    /// view may be older than the reference.
    pub fn holder(&self, key: &ClaimKey, uid: &Uid) -> Lookup<'a, Claim> {
        let read = self.live.claims.get(key);
        let is_answered = matches!(read, Some(ReadResult::Found(_) | ReadResult::NotFound));
        match self.claim(key) {
            Lookup::Present(claim) if claim.uid.as_ref() == Some(uid) => Lookup::Present(claim),
            Lookup::Present(_) | Lookup::Unknown if self.view.is_gone(uid) => Lookup::Absent,
            Lookup::Present(_) if is_answered => Lookup::Absent,
            Lookup::Present(_) | Lookup::Unknown => Lookup::Unknown,
            Lookup::Absent => Lookup::Absent,
        }
    }

    /// The volume of this name.
    pub fn volume(&self, name: &VolumeName) -> Lookup<'a, Volume> {
        resolve(self.live.volumes.get(name), self.view.volume(name))
    }

    /// Returns whether a live read found that the volume exists in a form that cannot be read.
    pub fn is_unreadable(&self, name: &VolumeName) -> bool {
        matches!(self.live.volumes.get(name), Some(ReadResult::Unreadable))
    }

    /// The class of this name.
    pub fn class(&self, name: &ClassName) -> Lookup<'a, Class> {
        resolve(self.live.classes.get(name), self.view.class(name))
    }

    /// Returns whether pods use the claim; never known from the view.
    pub fn pod_use(&self, key: &ClaimKey) -> Lookup<'a, PodUse> {
        resolve(self.live.pods.get(key), None)
    }

    /// All pods that use the claim and have not finished; never known from the view.
    pub fn live_pods(&self, key: &ClaimKey) -> Lookup<'a, Vec<Pod>> {
        resolve(self.live.live_pods.get(key), None)
    }

    /// The node of this name; never known from the view.
    pub fn node(&self, name: &str) -> Lookup<'a, Node> {
        resolve(self.live.nodes.get(name), None)
    }

    /// Whether the machine of the node of this name runs; never known from the view.
    pub fn node_state(&self, name: &str) -> Lookup<'a, NodeState> {
        resolve(self.live.node_states.get(name), None)
    }

    /// Returns whether there is a node that the term admits; never known from the view.
    pub fn any_node(&self, term: &NodeTerm) -> Lookup<'a, ()> {
        resolve(self.live.any_nodes.get(term), None)
    }

    /// The namespace of this name.
    pub fn namespace(&self, name: &ArcStr) -> Lookup<'a, Namespace> {
        resolve(self.live.namespaces.get(name), self.view.namespace_of(name))
    }

    /// Returns what became of an owner of an object in this namespace; never known from the view.
    pub fn owner(&self, namespace: &ArcStr, owner: &Owner) -> Lookup<'a, OwnerState> {
        resolve(self.live.owners.get(&(namespace.clone(), owner.clone())), None)
    }

    /// The class that claims without a class get. That the view shows none proves nothing.
    pub fn default_class(&self) -> Lookup<'a, Class> {
        resolve(self.live.default_class.as_ref(), self.view.default_class())
    }

    /// Returns whether there is a Lease of this name; never known from the view.
    pub fn lease(&self, namespace: &ArcStr, name: &str) -> Lookup<'a, ()> {
        resolve(self.live.leases.get(&(namespace.clone(), name.into())), None)
    }

    /// Returns the volumes reserved for a claim of this name, in order, as far as the view shows them.
    pub fn reserved_for(&self, key: &ClaimKey) -> impl Iterator<Item = &'a Volume> {
        let evidence = *self;
        let volumes = self.view.reserved_for(key);
        volumes.filter_map(move |name| evidence.volume(name).present())
    }

    /// Returns whether what is known of the volume is at most a moment old: read live, or just replied.
    pub fn is_recent(&self, name: &VolumeName) -> bool {
        let is_listed = match &self.live.recent {
            Recent::None => false,
            Recent::Volumes(names) => names.contains(name),
            Recent::All => true,
        };
        is_listed || self.confirmation(&Read::Volume(name.clone())) == Confirmation::Answered
    }

    /// Those of `reads` that were not made for this question, or failed.
    pub(super) fn unanswered(&self, reads: impl IntoIterator<Item = Read>) -> Vec<Read> {
        let is_open = |read: &Read| self.confirmation(read) != Confirmation::Answered;
        reads.into_iter().filter(is_open).collect()
    }

    /// Returns whether `read` was made for this question.
    pub fn confirmation(&self, read: &Read) -> Confirmation {
        self.live.confirmation(read)
    }
}

fn resolve<'a, T>(live: Option<&'a ReadResult<T>>, seen: Option<&'a Arc<T>>) -> Lookup<'a, T> {
    match live {
        Some(ReadResult::Found(object)) => Lookup::Present(object),
        Some(ReadResult::NotFound) => Lookup::Absent,
        Some(ReadResult::Failed | ReadResult::Unreadable) | None => match seen {
            Some(object) => Lookup::Present(object),
            None => Lookup::Unknown,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_a_claim_of_no_possible_namespace_is_absent_needs_no_read() {
        let (view, live) = (View::default(), LiveReads::default());
        let evidence = Evidence::new(&view, &live);
        assert_eq!(evidence.claim(&ClaimKey::new("bindery.dev", "pv-a")), Lookup::Absent);
        assert_eq!(evidence.claim(&ClaimKey::new("db", "pv-a")), Lookup::Unknown);
    }
}

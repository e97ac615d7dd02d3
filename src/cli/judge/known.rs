//! The objects that are known while a change is judged: the stored ones, as the input has changed
//! them so far, and whether a missing object is absent.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arcstr::ArcStr;
use serde_json::{Value, json};

use super::failure::unreadable;
use super::known_nodes::KnownNodes;
use crate::api::claim_templates::templated_set;
use crate::api::pods::any_pod;
use crate::api::server::claim::Growth;
use crate::api::volume::Wanted;
use crate::binding::{
    Collection, ListedCollections, LiveReads, OwnerState, PodUse, Read, ReadResult, View,
};
use crate::claim_templates::TemplatedSet;
use crate::cli::exit::Failure;
use crate::cli::input::cluster::{ClusterClient, ReadError};
use crate::cli::input::dump::batch::RawObject;
use crate::cli::input::dump::{CLUSTER, StorageState};
use crate::cli::input::listing::{CLAIM_USE, lacks};
use crate::cli::input::metadata::NamedMetadata;
use crate::cli::input::object_id::{
    ObjectId, ObjectKind, claim_key, class_key, cluster_key, volume_key,
};
use crate::cli::input::text::error_reason;
use crate::cli::report::LiveSource;
use crate::model::{
    ClaimKey, Class, ClassName, Expansion, Namespace, NodeState, NodeTerm, Owner, Pod, PodKey, Uid,
};

/// Where the stored objects come from.
#[derive(Debug)]
pub enum ObjectSource {
    /// The input alone: that an object is missing proves nothing.
    Input,
    /// A dump: what is not in it does not exist where it holds all of a kind.
    Dump,
    /// A cluster that can be asked.
    ClusterClient(ClusterClient),
}

/// Objects as they are stored, and as the input leaves them.
#[derive(Debug)]
pub struct KnownObjects {
    /// How far it reaches.
    pub reach: ObjectSource,
    /// Which kinds of objects it holds completely.
    pub listed: ListedCollections,
    /// The files or the cluster that stored objects were read from.
    pub(in crate::cli) live: Option<LiveSource>,
    view: View,
    /// The objects that may change, whole; of nodes what is judged, and no classes.
    objects: BTreeMap<ObjectId, StoredObject>,
    /// The classes, which claims are given.
    classes: BTreeMap<String, Value>,
    changed: BTreeSet<ObjectId>,
    /// What the cluster was asked for and does not have.
    absent: BTreeSet<ObjectId>,
    expected: BTreeSet<ObjectId>,
    pods: BTreeMap<PodKey, Option<Uid>>,
    /// Namespaces with a pod of which it is not known what it uses.
    unreadable_pods: BTreeSet<ArcStr>,
    /// Claims that pods use.
    used: BTreeSet<ClaimKey>,
    nodes: KnownNodes,
    /// The `StatefulSet`s.
    pub(in crate::cli) sets: Vec<TemplatedSet>,
    /// What the account may not read, with what to do.
    notes: Vec<String>,
    /// The collections of which more was asked for than is known.
    wanted: RefCell<BTreeSet<Collection>>,
}

/// An object as it is stored. Of a large dump few are ever asked for: the others stay text.
#[derive(Debug)]
enum StoredObject {
    /// As the dump has it, and what was read of it.
    Text(Box<str>, OnceCell<Value>),
    /// As the input left it.
    Object(Value),
}

impl StoredObject {
    fn read(&self) -> Result<&Value, serde_json::Error> {
        match self {
            Self::Object(object) => Ok(object),
            Self::Text(text, read) => {
                if let Some(object) = read.get() {
                    return Ok(object);
                }
                let object = serde_json::from_str(text)?;
                Ok(read.get_or_init(|| object))
            }
        }
    }
}

impl KnownObjects {
    /// Nothing known yet.
    pub fn new(reach: ObjectSource) -> Self {
        Self {
            reach,
            listed: ListedCollections::default(),
            live: None,
            view: View::default(),
            objects: BTreeMap::new(),
            classes: BTreeMap::new(),
            changed: BTreeSet::new(),
            absent: BTreeSet::new(),
            expected: BTreeSet::new(),
            pods: BTreeMap::new(),
            unreadable_pods: BTreeSet::new(),
            used: BTreeSet::new(),
            nodes: KnownNodes::default(),
            sets: Vec::new(),
            notes: Vec::new(),
            wanted: RefCell::default(),
        }
    }

    /// Returns what dumps show, or a cluster.
    pub(in crate::cli) fn of(state: StorageState) -> Result<Self, Failure> {
        let StorageState { view, listed, source, age, cluster, notes, others, .. } = state;
        let reach = cluster.map_or(ObjectSource::Dump, ObjectSource::ClusterClient);
        let mut known = Self { listed, view, notes, ..Self::new(reach) };
        for RawObject { kind, text, metadata } in others {
            if &*kind == CLAIM_USE {
                known.used.insert(ClaimKey::new(metadata.namespace, metadata.name));
                continue;
            }
            let Some(kind) = ObjectKind::from_name(&kind) else { continue };
            let key = ObjectId::of(kind, &metadata);
            known.keep(key, text, &metadata).map_err(|error| {
                unreadable_dump(&source, &ObjectId::of(kind, &metadata), &error)
            })?;
        }
        known.live = Some(LiveSource { source, age: age.as_secs() });
        Ok(known)
    }

    /// Returns what is known, for the rules.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The object of this key as it is stored now; none of a pod.
    pub fn object(&self, key: &ObjectId) -> Result<Option<&Value>, Failure> {
        if key.kind == ObjectKind::Class {
            return Ok(self.classes.get(&key.name));
        }
        let object = self.objects.get(key).map(StoredObject::read).transpose();
        object.map_err(|error| {
            let source = self.live.as_ref().map_or(CLUSTER, |live| &live.source);
            unreadable_dump(source, key, &error)
        })
    }

    /// Returns whether the object of this key was read.
    pub(in crate::cli) fn has(&self, key: &ObjectId) -> bool {
        let is_class = key.kind == ObjectKind::Class;
        if is_class { self.classes.contains_key(&key.name) } else { self.objects.contains_key(key) }
    }

    /// The class of this name.
    pub fn class(&self, name: &str) -> Option<&Value> {
        self.classes.get(name)
    }

    /// All classes.
    pub fn classes(&self) -> impl Iterator<Item = &Value> {
        self.classes.values()
    }

    /// Returns whether a missing object is unknown rather than absent.
    pub fn is_input_alone(&self) -> bool {
        matches!(self.reach, ObjectSource::Input)
    }

    /// Returns whether an object is asked for when a verdict depends on it: the cluster goes on while it is listed.
    fn is_cluster(&self) -> bool {
        matches!(self.reach, ObjectSource::ClusterClient(_))
    }

    /// Returns whether an object that was not read may exist.
    pub fn may_have(&self, key: &ObjectId) -> bool {
        let collection = key.kind.collection();
        let is_whole = if self.absent.contains(key) {
            true
        } else if key.kind.is_namespaced() {
            self.listed.has_in(collection, &key.namespace.as_str().into())
        } else {
            self.listed.has(collection)
        };
        !is_whole
    }

    /// Returns what could not be read and was asked for, with what to do.
    pub(in crate::cli) fn notes(&self) -> Vec<String> {
        let (mut notes, wanted) = (self.notes.clone(), self.wanted.borrow());
        if let Some(live) = self.live.as_ref().filter(|_| !wanted.is_empty()) {
            let lacks = lacks(&live.source, &self.listed, &wanted);
            notes.push(format!(
                "findings that depend on objects which were not read are unverified: {lacks}"
            ));
        }
        notes
    }

    /// Of these collections, those of which more is needed than is known.
    pub fn lacking(&self, needed: &[(Collection, Option<&ArcStr>)]) -> BTreeSet<Collection> {
        let lacking = self.listed.lacking(needed.iter().copied());
        self.wanted.borrow_mut().extend(&lacking);
        lacking
    }

    /// Returns whether the claims of this class may grow.
    pub(in crate::cli) fn growth(&self, class: &ClassName) -> Growth {
        match self.view.class(class).map(|class| class.expansion) {
            Some(Expansion::Allowed) => Growth::Allowed,
            None if !self.listed.has(Collection::Classes) => Growth::Unknown,
            Some(Expansion::NotAllowed) | None => Growth::Denied,
        }
    }

    /// Takes in an object as it is stored.
    pub fn store(&mut self, key: ObjectId, object: Value) -> Result<(), serde_json::Error> {
        let text = object.to_string();
        if let Some(watched) = key.kind.watched() {
            self.view.apply(watched.observed_for(Wanted::Both, &text)?);
        }
        match key.kind {
            ObjectKind::Pod | ObjectKind::Node | ObjectKind::StatefulSet => {
                let metadata = NamedMetadata::of(&text);
                self.keep(key, text.into(), &metadata)?;
            }
            ObjectKind::Class => drop(self.classes.insert(key.name, object)),
            ObjectKind::Volume
            | ObjectKind::Claim
            | ObjectKind::Namespace
            | ObjectKind::Attachment
            | ObjectKind::Driver
            | ObjectKind::SnapshotContent => {
                self.objects.insert(key, StoredObject::Object(object));
            }
        }
        Ok(())
    }

    /// Takes in what the view does not show of an object.
    fn keep(
        &mut self,
        key: ObjectId,
        text: Box<str>,
        metadata: &NamedMetadata,
    ) -> Result<(), serde_json::Error> {
        let uid = || (!metadata.uid.is_empty()).then(|| Uid::new(&metadata.uid));
        match key.kind {
            ObjectKind::Node => {
                let judged = self.nodes.add(&text, uid())?;
                self.objects.insert(key, StoredObject::Object(judged));
            }
            ObjectKind::Pod => {
                let NamedMetadata { namespace, name, .. } = metadata;
                match any_pod(&text) {
                    Ok(pod) => self.used.extend(pod.in_use().iter().cloned()),
                    Err(_) => {
                        self.unreadable_pods.insert(namespace.clone());
                    }
                }
                self.pods.insert(PodKey::new(namespace.clone(), name.clone()), uid());
            }
            ObjectKind::Class => {
                self.classes.insert(key.name, serde_json::from_str(&text)?);
            }
            ObjectKind::StatefulSet => self.sets.extend(templated_set(&text, &key.namespace)?),
            ObjectKind::Volume
            | ObjectKind::Claim
            | ObjectKind::Namespace
            | ObjectKind::Attachment
            | ObjectKind::Driver
            | ObjectKind::SnapshotContent => {
                self.objects.insert(key, StoredObject::Text(text, OnceCell::new()));
            }
        }
        Ok(())
    }

    /// Notes that the input has this object, now or later: a pair is judged when its second half comes.
    pub fn expect(&mut self, key: ObjectId) {
        self.expected.insert(key);
    }

    /// Returns whether the input has this object.
    pub fn is_expected(&self, key: &ObjectId) -> bool {
        self.expected.contains(key)
    }

    /// Takes in an object as the input leaves it.
    pub fn change(&mut self, key: &ObjectId, object: Value) -> Result<(), serde_json::Error> {
        self.changed.insert(key.clone());
        self.store(key.clone(), object)
    }

    /// Notes that the input deletes an object. A protected one stays until its holder is
    /// deleted. When that is, is not known here, so it counts as being deleted.
    pub fn delete(&mut self, key: &ObjectId) -> Result<(), serde_json::Error> {
        // Nothing keeps a node.
        if key.kind == ObjectKind::Node {
            self.nodes.remove(&key.name);
            self.objects.remove(key);
            self.absent.insert(key.clone());
            return Ok(());
        }
        let object = self.objects.get(key).map(StoredObject::read).transpose()?;
        let Some(mut object) = object.cloned() else { return Ok(()) };
        object["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
        self.change(key, object)
    }

    /// Answers `reads` as far as possible; the others stay open.
    pub fn answer(&self, reads: &[Read], live: &mut LiveReads) {
        let open = reads.iter().filter(|read| !self.answer_known(read, live));
        let open: Vec<Read> = open.cloned().collect();
        match &self.reach {
            ObjectSource::ClusterClient(cluster) => cluster.read(&open, live),
            ObjectSource::Input | ObjectSource::Dump => {
                let collections = open.iter().filter_map(Collection::of).map(|of| of.0);
                self.wanted.borrow_mut().extend(collections);
            }
        }
    }

    /// Puts the answer to one read, if there is one without asking a cluster.
    fn answer_known(&self, read: &Read, live: &mut LiveReads) -> bool {
        fn put<K: Ord + Clone, T>(
            answers: &mut BTreeMap<K, ReadResult<T>>,
            key: &K,
            answer: Option<ReadResult<T>>,
        ) -> bool {
            answer.map(|answer| answers.insert(key.clone(), answer)).is_some()
        }
        match read {
            Read::Volume(name) => {
                let answer = self.object_of(&volume_key(name.as_str()), self.view.volume(name));
                put(&mut live.volumes, name, answer)
            }
            Read::Claim(key) => {
                let answer =
                    self.object_of(&claim_key(&key.namespace, &key.name), self.view.claim(key));
                put(&mut live.claims, key, answer)
            }
            Read::Class(name) => {
                let answer = self.object_of(&class_key(name.as_str()), self.view.class(name));
                put(&mut live.classes, name, answer)
            }
            Read::PodsUsing(key) => put(&mut live.pods, key, self.pod_use(key)),
            Read::Namespace(name) => put(&mut live.namespaces, name, self.namespace(name)),
            Read::NodeState(name) => put(&mut live.node_states, name, self.node_state(name)),
            Read::AnyNode(term) => put(&mut live.any_nodes, term, self.any_node(term)),
            Read::DefaultClass => {
                live.default_class = self.default_class();
                live.default_class.is_some()
            }
            Read::Owner(namespace, owner) => {
                let key = (namespace.clone(), owner.clone());
                put(&mut live.owners, &key, self.owner(namespace, owner))
            }
            Read::LivePods(key) => put(&mut live.live_pods, key, self.live_pods(key)),
            // A dump holds no Leases, and no rule reads the labels of a node.
            Read::Lease(..) | Read::Node(_) => false,
        }
    }

    fn pod_use(&self, key: &ClaimKey) -> Option<ReadResult<PodUse>> {
        if self.used.contains(key) {
            return Some(ReadResult::Found(Arc::new(PodUse::Used)));
        }
        let is_whole = self.listed.has_in(Collection::ClaimUses, &key.namespace);
        is_whole.then(|| {
            let is_unknown = self.unreadable_pods.contains(&key.namespace);
            let unused = ReadResult::Found(Arc::new(PodUse::Unused));
            if is_unknown { ReadResult::Failed } else { unused }
        })
    }

    /// The pods that use a claim; `Failed` if a dump does not show all, because messages can do without their names.
    fn live_pods(&self, key: &ClaimKey) -> Option<ReadResult<Vec<Pod>>> {
        if self.is_cluster() {
            return None;
        }
        let is_whole = self.listed.has_in(Collection::Pods, &key.namespace)
            && !self.unreadable_pods.contains(&key.namespace);
        let pods = || self.view.pods_of(key).map(|pod| Pod::clone(pod)).collect();
        Some(if is_whole { ReadResult::Found(Arc::new(pods())) } else { ReadResult::Failed })
    }

    /// A dump shows owners of the kinds that it lists whole.
    fn owner(&self, namespace: &ArcStr, owner: &Owner) -> Option<ReadResult<OwnerState>> {
        let (found, is_whole): (Option<Option<&Uid>>, bool) =
            match (&*owner.api_version, &*owner.kind) {
                _ if self.is_cluster() => return None,
                ("v1", "PersistentVolumeClaim") => {
                    let claim = self.view.claim(&ClaimKey::new(namespace.clone(), &*owner.name));
                    let uid = claim.map(|claim| claim.uid.as_ref());
                    (uid, self.listed.has_in(Collection::Claims, namespace))
                }
                ("v1", "Pod") => {
                    let pod = self.pods.get(&PodKey::new(namespace.clone(), &*owner.name));
                    (pod.map(Option::as_ref), self.listed.has_in(Collection::Pods, namespace))
                }
                ("v1", "Node") if namespace.is_empty() => {
                    let node = self.nodes.named(&owner.name);
                    (node.map(|node| node.uid.as_ref()), self.listed.has(Collection::Nodes))
                }
                _ => return None,
            };
        match found {
            Some(uid) if uid == Some(&owner.uid) => {
                Some(ReadResult::Found(Arc::new(OwnerState::Alive)))
            }
            Some(_) => Some(ReadResult::Found(Arc::new(OwnerState::Replaced))),
            None => is_whole.then_some(ReadResult::NotFound),
        }
    }

    /// Reads an object of a kind of which the cluster lists none: only one that the input changes is wanted whole. One
    /// that the account may not read counts as unknown; of a Namespace, each guarded label is then reported.
    pub(in crate::cli) fn see(&mut self, key: &ObjectId) -> Result<(), Failure> {
        let ObjectSource::ClusterClient(cluster) = &self.reach else { return Ok(()) };
        let Some(collection) = key.kind.read_at() else { return Ok(()) };
        let text = match cluster.get(&format!("{collection}/{}", key.name)) {
            Ok(text) => text,
            Err(ReadError::NotFound(_)) => {
                self.absent.insert(key.clone());
                return Ok(());
            }
            Err(ReadError::Forbidden(_)) => return Ok(()),
            Err(error @ ReadError::Failed(_)) => return Err(error.into()),
        };
        let object = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
        self.store(key.clone(), object).map_err(|error| unreadable(&error))
    }

    fn node_state(&self, name: &str) -> Option<ReadResult<NodeState>> {
        if self.absent.contains(&cluster_key(ObjectKind::Node, name)) {
            return Some(ReadResult::NotFound);
        }
        if self.is_cluster() {
            return None;
        }
        match self.nodes.named(name) {
            Some(node) => Some(ReadResult::Found(Arc::new(node.state.clone()))),
            None => self.listed.has(Collection::Nodes).then_some(ReadResult::NotFound),
        }
    }

    fn namespace(&self, name: &ArcStr) -> Option<ReadResult<Namespace>> {
        let found = self.view.namespace_of(name).cloned().map(ReadResult::Found);
        let is_whole = self.listed.has(Collection::Namespaces);
        found.or(is_whole.then_some(ReadResult::NotFound)).filter(|_| !self.is_cluster())
    }

    fn any_node(&self, term: &NodeTerm) -> Option<ReadResult<()>> {
        let found = self.nodes.has_one_for(term).then(|| ReadResult::Found(Arc::new(())));
        found.or(self.listed.has(Collection::Nodes).then_some(ReadResult::NotFound))
    }

    fn default_class(&self) -> Option<ReadResult<Class>> {
        let found = self.view.default_class().cloned().map(ReadResult::Found);
        match self.reach {
            // Among classes that a dump does not hold may be a newer one.
            ObjectSource::Dump => {
                let is_whole = self.listed.has(Collection::Classes);
                is_whole.then(|| found.unwrap_or(ReadResult::NotFound))
            }
            ObjectSource::Input => found,
            ObjectSource::ClusterClient(_) => None,
        }
    }

    /// The answer about one object, if there is one without asking a cluster.
    fn object_of<T>(&self, key: &ObjectId, found: Option<&Arc<T>>) -> Option<ReadResult<T>> {
        match found {
            _ if self.is_cluster() && !self.changed.contains(key) => None,
            Some(object) => Some(ReadResult::Found(Arc::clone(object))),
            None if self.may_have(key) => None,
            None => Some(ReadResult::NotFound),
        }
    }
}

fn unreadable_dump(source: &str, key: &ObjectId, error: &serde_json::Error) -> Failure {
    let reason = error_reason(error);
    Failure::usage(format!("{source}: {key} cannot be read: {reason}; make a new dump"))
}

//! The objects that are known while a change is judged: the stored ones, as the input has changed
//! them so far, and whether a missing object is absent.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arcstr::ArcStr;
use serde_json::{Value, json};

use super::failure::unreadable;
use crate::api::pods::{pod_use, users_page};
use crate::api::server::claim::Growth;
use crate::api::volume::Wanted;
use crate::api::{claim, class, namespace, node, volume};
use crate::binding::{
    Collection, ListedCollections, LiveReads, Observed, OwnerState, PodUse, Read, ReadResult, View,
};
use crate::cli::exit::Failure;
use crate::cli::input::cluster::{ClusterClient, ReadError};
use crate::cli::input::object_id::{ObjectId, ObjectKind, claim_key, class_key, volume_key};
use crate::model::{
    ClaimKey, Class, ClassName, Expansion, Namespace, Node, NodeTerm, Owner, Pod, Uid,
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
    view: View,
    objects: BTreeMap<ObjectId, Value>,
    changed: BTreeSet<ObjectId>,
    expected: BTreeSet<ObjectId>,
    /// Pods by namespace.
    pods: BTreeMap<String, Vec<Value>>,
    /// Claims of which a snapshot says that pods use them.
    used: BTreeSet<ClaimKey>,
    nodes: Vec<(Node, Option<Uid>)>,
    /// The collections of which more was asked for than is known.
    wanted: RefCell<BTreeSet<Collection>>,
}

impl KnownObjects {
    /// Nothing known yet; what a cluster lists is complete.
    pub fn new(reach: ObjectSource) -> Self {
        let mut listed = ListedCollections::default();
        if let ObjectSource::ClusterClient(_) = reach {
            let lists = [Collection::Volumes, Collection::Claims, Collection::Classes];
            for collection in lists {
                listed.add(collection);
            }
        }
        Self {
            reach,
            listed,
            view: View::default(),
            objects: BTreeMap::new(),
            changed: BTreeSet::new(),
            expected: BTreeSet::new(),
            pods: BTreeMap::new(),
            used: BTreeSet::new(),
            nodes: Vec::new(),
            wanted: RefCell::default(),
        }
    }

    /// What a dump shows.
    pub(in crate::cli) fn of_dump(view: View, listed: ListedCollections) -> Self {
        Self { listed, view, ..Self::new(ObjectSource::Dump) }
    }

    /// What is known, for the rules.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The object of this key as it is stored now.
    pub fn object(&self, key: &ObjectId) -> Option<&Value> {
        self.objects.get(key)
    }

    /// All classes.
    pub fn classes(&self) -> impl Iterator<Item = &Value> {
        let classes = self.objects.iter().filter(|(key, _)| key.kind == ObjectKind::Class);
        classes.map(|(_, class)| class)
    }

    /// Whether a missing object is unknown rather than absent.
    pub fn is_input_alone(&self) -> bool {
        matches!(self.reach, ObjectSource::Input)
    }

    /// Whether an object that was not read may exist.
    pub fn may_have(&self, key: &ObjectId) -> bool {
        let collection = key.kind.collection();
        let is_whole = if key.kind.is_namespaced() {
            self.listed.has_in(collection, &key.namespace.as_str().into())
        } else {
            self.listed.has(collection)
        };
        !is_whole
    }

    /// The collections of which more was asked for than is known.
    pub fn wanted(&self) -> BTreeSet<Collection> {
        self.wanted.borrow().clone()
    }

    /// Of these collections, those of which more is needed than is known.
    pub fn lacking(&self, needed: &[(Collection, Option<ArcStr>)]) -> BTreeSet<Collection> {
        let needed = needed.iter().map(|(collection, namespace)| (*collection, namespace.as_ref()));
        let lacking = self.listed.lacking(needed);
        self.wanted.borrow_mut().extend(lacking.iter().copied());
        lacking
    }

    /// Whether the claims of this class may grow.
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
        match key.kind {
            ObjectKind::Volume => {
                let volume = volume::volume(&text, Wanted::Both)?.volume;
                self.view.apply(Observed::Volume(Arc::new(volume)));
            }
            ObjectKind::Claim => {
                let claim = claim::claim(&text, &key.namespace)?;
                self.view.apply(Observed::Claim(Arc::new(claim)));
            }
            ObjectKind::Class => self.view.apply(Observed::Class(Arc::new(class::class(&text)?))),
            ObjectKind::Namespace => {
                self.view.apply(Observed::Namespace(Arc::new(namespace::namespace(&text)?)));
            }
            ObjectKind::Node => {
                let uid = object["metadata"]["uid"].as_str().map(Uid::new);
                self.nodes.push((node::node(&text)?, uid));
                return Ok(());
            }
            ObjectKind::Pod => {
                self.pods.entry(key.namespace).or_default().push(object);
                return Ok(());
            }
        }
        self.objects.insert(key, object);
        Ok(())
    }

    /// Notes that the input has this object, now or later: a pair is judged when its second half
    /// comes.
    pub fn expect(&mut self, key: ObjectId) {
        self.expected.insert(key);
    }

    /// Whether the input has this object.
    pub fn is_expected(&self, key: &ObjectId) -> bool {
        self.expected.contains(key)
    }

    /// Notes that a pod uses a claim.
    pub fn note_use(&mut self, key: ClaimKey) {
        self.used.insert(key);
    }

    /// Takes in an object as the input leaves it.
    pub fn change(&mut self, key: &ObjectId, object: Value) -> Result<(), serde_json::Error> {
        self.changed.insert(key.clone());
        self.store(key.clone(), object)
    }

    /// Notes that the input deletes an object. A protected one stays until its holder is
    /// deleted. When that is, is not known here, so it counts as being deleted.
    pub fn delete(&mut self, key: &ObjectId) -> Result<(), serde_json::Error> {
        let Some(mut object) = self.objects.get(key).cloned() else { return Ok(()) };
        object["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
        self.change(key, object)
    }

    /// Answers `reads` as far as possible; the others stay open.
    pub fn answer(&self, reads: &[Read], live: &mut LiveReads) {
        let open = reads.iter().filter(|read| !self.settle(read, live));
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
    fn settle(&self, read: &Read, live: &mut LiveReads) -> bool {
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
            // A dump holds no Leases, and no rule reads a node.
            Read::Lease(..) | Read::Node(_) => false,
        }
    }

    fn pod_use(&self, key: &ClaimKey) -> Option<ReadResult<PodUse>> {
        if self.used.contains(key) {
            return Some(ReadResult::Found(Arc::new(PodUse::Used)));
        }
        let is_whole = self.listed.has_in(Collection::ClaimUses, &key.namespace);
        let items = self.pods.get(&*key.namespace);
        let items = items.filter(|_| is_whole).or(is_whole.then_some(const { &Vec::new() }))?;
        let used = pod_use(&json!({"items": items}).to_string(), key);
        Some(used.map_or(ReadResult::Failed, |used| ReadResult::Found(Arc::new(used))))
    }

    /// The pods that use a claim; `Failed` if a dump does not show all, because messages can do without their names.
    fn live_pods(&self, key: &ClaimKey) -> Option<ReadResult<Vec<Pod>>> {
        if let ObjectSource::ClusterClient(_) = self.reach {
            return None;
        }
        if !self.listed.has_in(Collection::Pods, &key.namespace) {
            return Some(ReadResult::Failed);
        }
        let items = self.pods.get(&*key.namespace).map_or(&[][..], Vec::as_slice);
        let page = users_page(&json!({"items": items}).to_string(), key);
        Some(page.map_or(ReadResult::Failed, |page| ReadResult::Found(Arc::new(page.users))))
    }

    /// A dump shows owners of the kinds that it lists whole.
    fn owner(&self, namespace: &ArcStr, owner: &Owner) -> Option<ReadResult<OwnerState>> {
        let of_uid = |uid: Option<&Uid>| {
            let is_same = uid == Some(&owner.uid);
            let fate = if is_same { OwnerState::Alive } else { OwnerState::Replaced };
            ReadResult::Found(Arc::new(fate))
        };
        match (&*owner.api_version, &*owner.kind) {
            ("v1", "PersistentVolumeClaim") => {
                let key = ClaimKey::new(namespace.clone(), &*owner.name);
                let found =
                    self.object_of(&claim_key(&key.namespace, &key.name), self.view.claim(&key))?;
                Some(match found {
                    ReadResult::Found(claim) => of_uid(claim.uid.as_ref()),
                    ReadResult::NotFound => ReadResult::NotFound,
                    ReadResult::Unreadable | ReadResult::Failed => ReadResult::Failed,
                })
            }
            ("v1", "Pod") => {
                let pods = self.pods.get(&**namespace).map_or(&[][..], Vec::as_slice);
                let is_it = |pod: &&Value| pod["metadata"]["name"] == *owner.name;
                let found = pods
                    .iter()
                    .find(is_it)
                    .map(|pod| of_uid(pod["metadata"]["uid"].as_str().map(Uid::new).as_ref()));
                let is_whole = self.listed.has_in(Collection::Pods, namespace);
                found.or(is_whole.then_some(ReadResult::NotFound))
            }
            ("v1", "Node") if namespace.is_empty() => {
                let found = self.nodes.iter().find(|(node, _)| node.name == owner.name);
                let found = found.map(|(_, uid)| of_uid(uid.as_ref()));
                found.or(self.listed.has(Collection::Nodes).then_some(ReadResult::NotFound))
            }
            _ => None,
        }
    }

    /// Reads a Namespace of the cluster, which lists none: only one that a manifest changes is wanted whole. One that
    /// the account may not read counts as new, so each guarded label is reported.
    pub(in crate::cli) fn see_namespace(&mut self, key: &ObjectId) -> Result<(), Failure> {
        let ObjectSource::ClusterClient(cluster) = &self.reach else { return Ok(()) };
        let text = match cluster.get(&format!("/api/v1/namespaces/{}", key.name)) {
            Ok(text) => text,
            Err(ReadError::NotFound(_) | ReadError::Forbidden(_)) => return Ok(()),
            Err(error @ ReadError::Failed(_)) => return Err(error.into()),
        };
        let object = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
        self.store(key.clone(), object).map_err(|error| unreadable(&error))
    }

    fn namespace(&self, name: &ArcStr) -> Option<ReadResult<Namespace>> {
        let found = self.view.namespace_of(name).cloned().map(ReadResult::Found);
        match self.reach {
            ObjectSource::ClusterClient(_) => None,
            ObjectSource::Input | ObjectSource::Dump => {
                found.or(self.listed.has(Collection::Namespaces).then_some(ReadResult::NotFound))
            }
        }
    }

    fn any_node(&self, term: &NodeTerm) -> Option<ReadResult<()>> {
        let is_one = self.nodes.iter().any(|(node, _)| term.admits(node));
        let found = is_one.then(|| ReadResult::Found(Arc::new(())));
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
        let asks =
            matches!(self.reach, ObjectSource::ClusterClient(_)) && !self.changed.contains(key);
        match found {
            _ if asks => None,
            Some(object) => Some(ReadResult::Found(Arc::clone(object))),
            None if self.may_have(key) => None,
            None => Some(ReadResult::NotFound),
        }
    }
}

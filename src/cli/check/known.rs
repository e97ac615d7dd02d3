//! What is known of the cluster while a change is judged: what is stored, what the input has
//! changed so far, and how far a missing object proves anything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arcstr::ArcStr;
use serde_json::{Value, json};

use super::api::Growth;
use super::live::Cluster;
use super::objects::{Kind, ObjectKey};
use crate::binding::{Answer, LiveReads, Observed, OwnerFate, PodUse, Read, View};
use crate::k8s::pods::pod_use;
use crate::k8s::volume::Wanted;
use crate::k8s::{claim, class, namespace, node, volume};
use crate::model::{ClaimKey, Class, ClassName, Expansion, Namespace, Node, NodeTerm, Owner, Uid};

/// How far what is known reaches.
#[derive(Debug)]
pub enum Reach {
    /// The input alone: that an object is missing proves nothing.
    Input,
    /// A dump: what is not in it does not exist.
    Dump,
    /// A cluster that can be asked.
    Cluster(Cluster),
}

/// Objects as they are stored, and as the input leaves them.
#[derive(Debug)]
pub struct Known {
    /// How far it reaches.
    pub reach: Reach,
    view: View,
    objects: BTreeMap<ObjectKey, Value>,
    changed: BTreeSet<ObjectKey>,
    expected: BTreeSet<ObjectKey>,
    /// Pods by namespace; absent if nobody listed pods.
    pods: Option<BTreeMap<String, Vec<Value>>>,
    /// Claims of which a snapshot says that pods use them.
    used: BTreeSet<ClaimKey>,
    /// Nodes; absent if nobody listed nodes.
    nodes: Option<Vec<Node>>,
}

impl Known {
    /// Nothing known yet.
    pub fn new(reach: Reach) -> Self {
        let (view, objects) = (View::default(), BTreeMap::new());
        let (changed, expected) = (BTreeSet::new(), BTreeSet::new());
        let used = BTreeSet::new();
        Self { reach, view, objects, changed, expected, pods: None, used, nodes: None }
    }

    /// What is known, for the rules.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The object of this key as it is stored now.
    pub fn object(&self, key: &ObjectKey) -> Option<&Value> {
        self.objects.get(key)
    }

    /// All classes.
    pub fn classes(&self) -> Vec<Value> {
        let classes = self.objects.iter().filter(|(key, _)| key.kind == Kind::Class);
        classes.map(|(_, class)| class.clone()).collect()
    }

    /// Whether a missing object is unknown rather than absent.
    pub fn is_input_alone(&self) -> bool {
        matches!(self.reach, Reach::Input)
    }

    /// Whether an object that nobody has shown may be there all the same: a dump need not have namespaces.
    pub fn may_have(&self, key: &ObjectKey) -> bool {
        self.is_input_alone() || key.kind == Kind::Namespace
    }

    /// Whether the claims of this class may grow.
    pub(super) fn growth(&self, class: &ClassName) -> Growth {
        match self.view.class(class).map(|class| class.expansion) {
            Some(Expansion::Allowed) => Growth::Allowed,
            None if self.is_input_alone() => Growth::Unknown,
            Some(Expansion::Refused) | None => Growth::Refused,
        }
    }

    /// Takes in an object as it is stored.
    pub fn store(&mut self, key: ObjectKey, object: Value) -> Result<(), serde_json::Error> {
        let text = object.to_string();
        match key.kind {
            Kind::Volume => {
                let volume = volume::volume(&text, Wanted::Both)?.value.volume;
                self.view.apply(Observed::Volume(Arc::new(volume)));
            }
            Kind::Claim => {
                let claim = claim::claim(&text, &key.namespace)?.value;
                self.view.apply(Observed::Claim(Arc::new(claim)));
            }
            Kind::Class => self.view.apply(Observed::Class(Arc::new(class::class(&text)?))),
            Kind::Namespace => {
                self.view.apply(Observed::Namespace(Arc::new(namespace::namespace(&text)?)));
            }
            Kind::Node => {
                self.nodes.get_or_insert_default().push(node::node(&text)?);
                return Ok(());
            }
            Kind::Pod => {
                let pods = self.pods.get_or_insert_default();
                pods.entry(key.namespace).or_default().push(object);
                return Ok(());
            }
        }
        self.objects.insert(key, object);
        Ok(())
    }

    /// Notes that the input has this object, now or later: a pair is judged when its second half
    /// comes.
    pub fn expect(&mut self, key: ObjectKey) {
        self.expected.insert(key);
    }

    /// Whether the input has this object.
    pub fn is_expected(&self, key: &ObjectKey) -> bool {
        self.expected.contains(key)
    }

    /// Notes that objects of a kind were listed, be there any or none. It matters to those of which a dump need
    /// not have any.
    pub fn mark_listed(&mut self, kind: Kind) {
        match kind {
            Kind::Pod => {
                self.pods.get_or_insert_default();
            }
            Kind::Node => {
                self.nodes.get_or_insert_default();
            }
            Kind::Volume | Kind::Claim | Kind::Class | Kind::Namespace => {}
        }
    }

    /// Notes that a pod uses a claim.
    pub fn note_use(&mut self, key: ClaimKey) {
        self.used.insert(key);
    }

    /// Takes in an object as the input leaves it.
    pub fn change(&mut self, key: &ObjectKey, object: Value) -> Result<(), serde_json::Error> {
        self.changed.insert(key.clone());
        self.store(key.clone(), object)
    }

    /// Notes that the input deletes an object. One that is protected stays until its holder is
    /// gone; nobody can tell from here when that is, so it is taken for going, not gone.
    pub fn delete(&mut self, key: &ObjectKey) -> Result<(), serde_json::Error> {
        let Some(mut object) = self.objects.get(key).cloned() else { return Ok(()) };
        object["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
        self.change(key, object)
    }

    /// Answers `reads` as far as possible; those that nobody can answer stay open.
    pub fn answer(&self, reads: &[Read], live: &mut LiveReads) {
        let open = reads.iter().filter(|read| !self.settle(read, live));
        let open: Vec<Read> = open.cloned().collect();
        match &self.reach {
            Reach::Cluster(cluster) => cluster.read(&open, live),
            Reach::Input | Reach::Dump => {}
        }
    }

    /// Puts the answer to one read, if there is one without asking a cluster.
    fn settle(&self, read: &Read, live: &mut LiveReads) -> bool {
        fn put<K: Ord + Clone, T>(
            answers: &mut BTreeMap<K, Answer<T>>,
            key: &K,
            answer: Option<Answer<T>>,
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
            // No rule asks for these.
            Read::LivePods(_) | Read::Node(_) => false,
        }
    }

    fn pod_use(&self, key: &ClaimKey) -> Option<Answer<PodUse>> {
        if self.used.contains(key) {
            return Some(Answer::Found(Arc::new(PodUse::Used)));
        }
        let items = self.pods.as_ref()?.get(&*key.namespace).cloned().unwrap_or_default();
        let used = pod_use(&json!({"items": items}).to_string(), key);
        Some(used.map_or(Answer::Failed, |used| Answer::Found(Arc::new(used))))
    }

    /// A dump shows owners of the kinds that it lists whole.
    fn owner(&self, namespace: &ArcStr, owner: &Owner) -> Option<Answer<OwnerFate>> {
        let of_uid = |uid: Option<&Uid>| {
            let is_same = uid == Some(&owner.uid);
            let fate = if is_same { OwnerFate::Alive } else { OwnerFate::Replaced };
            Answer::Found(Arc::new(fate))
        };
        match (&*owner.api_version, &*owner.kind) {
            ("v1", "PersistentVolumeClaim") => {
                let key = ClaimKey::new(namespace.clone(), &*owner.name);
                let found =
                    self.object_of(&claim_key(&key.namespace, &key.name), self.view.claim(&key))?;
                Some(match found {
                    Answer::Found(claim) => of_uid(claim.uid.as_ref()),
                    Answer::NotFound => Answer::NotFound,
                    Answer::Unreadable | Answer::Failed => Answer::Failed,
                })
            }
            ("v1", "Pod") => {
                let pods = self.pods.as_ref()?.get(&**namespace).map_or(&[][..], Vec::as_slice);
                let is_it = |pod: &&Value| pod["metadata"]["name"] == *owner.name;
                Some(pods.iter().find(is_it).map_or(Answer::NotFound, |pod| {
                    of_uid(pod["metadata"]["uid"].as_str().map(Uid::new).as_ref())
                }))
            }
            _ => None,
        }
    }

    /// A dump need not have the namespaces.
    fn namespace(&self, name: &ArcStr) -> Option<Answer<Namespace>> {
        match self.reach {
            Reach::Cluster(_) => None,
            Reach::Input | Reach::Dump => self.view.namespace_of(name).cloned().map(Answer::Found),
        }
    }

    fn any_node(&self, term: &NodeTerm) -> Option<Answer<()>> {
        let is_one = self.nodes.as_ref()?.iter().any(|node| term.admits(node));
        Some(if is_one { Answer::Found(Arc::new(())) } else { Answer::NotFound })
    }

    fn default_class(&self) -> Option<Answer<Class>> {
        let found = self.view.default_class().cloned().map(Answer::Found);
        match self.reach {
            Reach::Dump => Some(found.unwrap_or(Answer::NotFound)),
            Reach::Input => found,
            Reach::Cluster(_) => None,
        }
    }

    /// The answer about one object, if there is one without asking a cluster.
    fn object_of<T>(&self, key: &ObjectKey, found: Option<&Arc<T>>) -> Option<Answer<T>> {
        let asks = matches!(self.reach, Reach::Cluster(_)) && !self.changed.contains(key);
        match found {
            _ if asks => None,
            Some(object) => Some(Answer::Found(Arc::clone(object))),
            None if self.is_input_alone() => None,
            None => Some(Answer::NotFound),
        }
    }
}

/// The key of a volume.
pub fn volume_key(name: &str) -> ObjectKey {
    ObjectKey { kind: Kind::Volume, namespace: String::new(), name: name.to_owned() }
}

/// The key of a claim.
pub fn claim_key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey { kind: Kind::Claim, namespace: namespace.to_owned(), name: name.to_owned() }
}

/// The key of a namespace.
pub fn namespace_key(name: &str) -> ObjectKey {
    ObjectKey { kind: Kind::Namespace, namespace: String::new(), name: name.to_owned() }
}

fn class_key(name: &str) -> ObjectKey {
    ObjectKey { kind: Kind::Class, namespace: String::new(), name: name.to_owned() }
}

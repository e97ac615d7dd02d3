//! What is known of the cluster while a change is judged: what is stored, what the input has
//! changed so far, and how far a missing object proves anything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::live::Cluster;
use super::objects::{Kind, ObjectKey};
use crate::binding::{Answer, LiveReads, Observed, Read, View};
use crate::k8s::bounded::LabelUse;
use crate::k8s::pods::pod_use;
use crate::k8s::{claim, class, volume};

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
}

impl Known {
    /// Nothing known yet.
    pub fn new(reach: Reach) -> Self {
        let (view, objects) = (View::default(), BTreeMap::new());
        let (changed, expected) = (BTreeSet::new(), BTreeSet::new());
        Self { reach, view, objects, changed, expected, pods: None }
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

    /// Takes in an object as it is stored.
    pub fn store(&mut self, key: ObjectKey, object: Value) -> Result<(), serde_json::Error> {
        let text = object.to_string();
        match key.kind {
            Kind::Volume => {
                let volume = volume::volume(&text, LabelUse::Collect)?.value.volume;
                self.view.apply(Observed::Volume(Arc::new(volume)));
            }
            Kind::Claim => {
                let claim = claim::claim(&text, &key.namespace)?.value;
                self.view.apply(Observed::Claim(Arc::new(claim)));
            }
            Kind::Class => self.view.apply(Observed::Class(Arc::new(class::class(&text)?))),
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

    /// Notes that pods were listed, be there any or none.
    pub fn mark_pods_listed(&mut self) {
        self.pods.get_or_insert_default();
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
        let mut open = Vec::new();
        for read in reads {
            let is_settled = match read {
                Read::Volume(name) => {
                    let found = self.view.volume(name).cloned();
                    let key = volume_key(name.as_str());
                    self.settle(&key, found)
                        .map(|answer| live.volumes.insert(name.clone(), answer))
                        .is_some()
                }
                Read::Claim(claim) => {
                    let found = self.view.claim(claim).cloned();
                    let key = claim_key(&claim.namespace, &claim.name);
                    self.settle(&key, found)
                        .map(|answer| live.claims.insert(claim.clone(), answer))
                        .is_some()
                }
                Read::Class(name) => {
                    let found = self.view.class(name).cloned();
                    let key = class_key(name.as_str());
                    self.settle(&key, found)
                        .map(|answer| live.classes.insert(name.clone(), answer))
                        .is_some()
                }
                // No rule asks for these.
                Read::LivePods(_) | Read::Node(_) => false,
                Read::PodsUsing(claim) => {
                    let listed = self.pods.as_ref().map(|pods| {
                        let items = pods.get(&*claim.namespace).cloned().unwrap_or_default();
                        pod_use(&json!({"items": items}).to_string(), claim)
                    });
                    listed
                        .map(|used| {
                            let answer =
                                used.map_or(Answer::Failed, |used| Answer::Found(Arc::new(used)));
                            live.pods.insert(claim.clone(), answer)
                        })
                        .is_some()
                }
            };
            if !is_settled {
                open.push(read.clone());
            }
        }
        match &self.reach {
            Reach::Cluster(cluster) => cluster.read(&open, live),
            Reach::Input | Reach::Dump => {}
        }
    }

    /// The answer about one object, if there is one without asking a cluster.
    fn settle<T>(&self, key: &ObjectKey, found: Option<Arc<T>>) -> Option<Answer<T>> {
        let asks = matches!(self.reach, Reach::Cluster(_)) && !self.changed.contains(key);
        match found {
            _ if asks => None,
            Some(object) => Some(Answer::Found(object)),
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

fn class_key(name: &str) -> ObjectKey {
    ObjectKey { kind: Kind::Class, namespace: String::new(), name: name.to_owned() }
}

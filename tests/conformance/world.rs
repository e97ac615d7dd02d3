//! What the API holds and what the cache shows of it, and one call of the binder on it.
//!
//! A call decides about one object, answers its reads from the API, makes its writes there as the
//! patches that would be sent, and decides again until nothing is left to do. The cache takes each
//! write for done, as the core says it may; that this is what the patch makes of the object is checked
//! with every write. Not here: what a case calls (`calls`).

use std::collections::BTreeMap;
use std::sync::Arc;

use bindery::api::pods;
use bindery::api::write::write_patch;
use bindery::binding::{
    ClaimOutcome, Evidence, ListedCollections, LiveReads, Next, ObjectEvent, Observed, Reclaim,
    Recycling, View, VolumeOutcome, Write, after_recycling, claim_event, decide_claim,
    decide_volume, recycling_event, volume_events,
};
use bindery::client::resource::ResourceKind;
use bindery::model::{Claim, ClaimKey, Volume, VolumeName};
use serde_json::{Value, json};

/// More steps than any call of any case needs: four writes of a binding, a read before each.
const STEPS_COUNT_MAX: usize = 20;

/// An object that is decided about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Object {
    Volume(VolumeName),
    Claim(ClaimKey),
}

/// Why a call ended as it did.
#[derive(Clone, Debug)]
pub(crate) enum Why {
    Volume(VolumeOutcome),
    Claim(ClaimOutcome),
}

/// The API server and the binder's cache.
#[derive(Debug, Default)]
pub(crate) struct World {
    objects: BTreeMap<Object, Value>,
    others: Vec<Observed>,
    cache: View,
    /// How storage is to be reclaimed, as the last call left it.
    pub(crate) reclaim: Option<Reclaim>,
    /// How the last call ended.
    pub(crate) why: Option<Why>,
    /// The recorded events, in order; nothing of an object twice in a row.
    pub(crate) reported: Vec<ObjectEvent>,
}

impl World {
    /// Puts a volume into the API and the cache.
    pub(crate) fn put_volume(&mut self, volume: Value) {
        self.cache.apply(seen(ResourceKind::Volumes, &volume));
        self.objects.insert(Object::of(&volume), volume);
    }

    /// Puts a claim into the API and the cache.
    pub(crate) fn put_claim(&mut self, claim: Value) {
        self.cache.apply(seen(ResourceKind::Claims, &claim));
        self.put_unseen_claim(claim);
    }

    /// Puts a claim into the API alone.
    pub(crate) fn put_unseen_claim(&mut self, claim: Value) {
        self.objects.insert(Object::of(&claim), claim);
    }

    /// Puts a class into the API and the cache.
    pub(crate) fn put_class(&mut self, class: &Value) {
        self.put(seen(ResourceKind::Classes, class));
    }

    /// Puts a pod into the API and the cache, where it is only kept until it has finished.
    pub(crate) fn put_pod(&mut self, pod: &Value) {
        let pod = pods::pod(&pod.to_string()).expect("a pod");
        if let Some(pod) = pod {
            self.put(Observed::Pod(Arc::new(pod)));
        }
    }

    fn put(&mut self, seen: Observed) {
        self.cache.apply(seen.clone());
        self.others.push(seen);
    }

    /// Takes an object out of the API; the watch shows it.
    pub(crate) fn delete(&mut self, object: &Object) {
        self.objects.remove(object).expect("the object that goes is there");
        self.cache.apply(match object {
            Object::Volume(name) => Observed::VolumeGone(name.clone()),
            Object::Claim(key) => Observed::ClaimGone(key.clone()),
        });
    }

    /// All objects that are decided about.
    pub(crate) fn names(&self) -> Vec<Object> {
        self.objects.keys().cloned().collect()
    }

    /// Returns what the API holds of an object.
    pub(crate) fn get(&self, object: &Object) -> Option<&Value> {
        self.objects.get(object)
    }

    /// The volumes that the API holds.
    pub(crate) fn volumes(&self) -> impl Iterator<Item = &Value> {
        let volumes = self.objects.iter().filter(|(name, _)| matches!(name, Object::Volume(_)));
        volumes.map(|(_, volume)| volume)
    }

    /// The claims that the API holds.
    pub(crate) fn claims(&self) -> impl Iterator<Item = &Value> {
        let claims = self.objects.iter().filter(|(name, _)| matches!(name, Object::Claim(_)));
        claims.map(|(_, claim)| claim)
    }

    /// The cache.
    pub(crate) fn cache(&self) -> &View {
        &self.cache
    }

    /// One call; whether it wrote anything.
    pub(crate) fn sync(&mut self, object: &Object) -> bool {
        let mut live = LiveReads::default();
        let mut writes = 0;
        for _ in 0..STEPS_COUNT_MAX {
            let (next, why) = self.decide(object, &live);
            match next {
                Next::Read(reads) => {
                    live.answer_from(&self.whole(), ListedCollections::everything(), &reads);
                }
                Next::Write(write) => {
                    self.write(&write);
                    writes += 1;
                    live = LiveReads::default();
                }
                Next::Settled => return self.end(object, why, None, writes),
                Next::Reclaim(reclaim) => return self.end(object, why, Some(reclaim), writes),
            }
        }
        panic!("{object:?} is not settled after {STEPS_COUNT_MAX} steps");
    }

    /// A recycler reports about a volume that is to be recycled.
    pub(crate) fn recycled(&mut self, object: &Object, end: &Recycling) {
        assert_eq!(self.reclaim.take(), Some(Reclaim::Recycle), "{object:?} is not to be recycled");
        let Object::Volume(name) = object else { panic!("{object:?} is no volume") };
        let volume = Arc::clone(self.cache.volume(name).expect("it is there"));
        let write = after_recycling(&volume, end).expect("it is to be recycled");
        self.write(&write);
        self.report([recycling_event(&volume, end)]);
    }

    /// Makes a write, in the API and in the cache.
    pub(crate) fn write(&mut self, write: &Write) {
        let patch = write_patch(write);
        let path = patch.path.trim_end_matches("/status");
        let (watched, object) = match path.split('/').collect::<Vec<_>>()[..] {
            [.., "persistentvolumes", name] => (ResourceKind::Volumes, Object::volume(name)),
            [.., namespace, "persistentvolumeclaims", name] => {
                (ResourceKind::Claims, Object::Claim(ClaimKey::new(namespace, name)))
            }
            _ => panic!("{path} is no volume's and no claim's"),
        };
        let stored = self.objects.get_mut(&object).expect("what is written is there");
        let version = stored["metadata"]["resourceVersion"].clone();
        assert_eq!(patch.body["metadata"]["resourceVersion"], version, "{write:?} is too late");
        patch_object(stored, patch.body);
        let version: u32 = version.as_str().expect("a text").parse().expect("a number");
        stored["metadata"]["resourceVersion"] = json!((version + 1).to_string());
        let written = seen(watched, stored);
        self.cache.assume(write);
        let assumed = self.cached(&object);
        self.cache.apply(written);
        assert!(assumed.is_none() || assumed == self.cached(&object), "{write:?}: {assumed:?}");
    }

    fn decide(&self, object: &Object, live: &LiveReads) -> (Next, Why) {
        let evidence = Evidence::new(&self.cache, live);
        match object {
            Object::Volume(name) => {
                let decision = decide_volume(&evidence, name);
                (decision.next, Why::Volume(decision.why))
            }
            Object::Claim(key) => {
                let decision = decide_claim(&evidence, key);
                (decision.next, Why::Claim(decision.why))
            }
        }
    }

    fn end(&mut self, object: &Object, why: Why, reclaim: Option<Reclaim>, writes: usize) -> bool {
        match (object, &why) {
            (Object::Volume(name), Why::Volume(outcome)) => {
                let volume = self.cache.volume(name);
                let reported = volume.map(|volume| volume_events(volume, outcome));
                self.report(reported.into_iter().flatten());
            }
            (Object::Claim(key), Why::Claim(outcome)) => {
                let claim = self.cache.claim(key);
                let reported = claim.and_then(|claim| claim_event(&self.cache, claim, outcome));
                self.report(reported);
            }
            (Object::Volume(_), Why::Claim(_)) | (Object::Claim(_), Why::Volume(_)) => {
                panic!("{why:?} was not decided about {object:?}")
            }
        }
        self.why = Some(why);
        self.reclaim = reclaim;
        writes > 0
    }

    fn report(&mut self, events: impl IntoIterator<Item = ObjectEvent>) {
        for event in events {
            let last = self.reported.iter().rev().find(|reported| reported.on == event.on);
            if last != Some(&event) {
                self.reported.push(event);
            }
        }
    }

    /// Everything that the API holds.
    fn whole(&self) -> View {
        let mut whole = View::default();
        for (name, object) in &self.objects {
            whole.apply(match name {
                Object::Volume(_) => seen(ResourceKind::Volumes, object),
                Object::Claim(_) => seen(ResourceKind::Claims, object),
            });
        }
        for other in &self.others {
            whole.apply(other.clone());
        }
        whole
    }

    /// The cache's view of an object. The version is left out: it is unknown before the reply.
    fn cached(&self, object: &Object) -> Option<String> {
        match object {
            Object::Volume(name) => {
                let volume = self.cache.volume(name)?;
                Some(format!("{:?}", Volume { version: None, ..(**volume).clone() }))
            }
            Object::Claim(key) => {
                let claim = self.cache.claim(key)?;
                Some(format!("{:?}", Claim { version: None, ..(**claim).clone() }))
            }
        }
    }
}

impl Object {
    /// The volume of this name.
    pub(crate) fn volume(name: &str) -> Self {
        Self::Volume(VolumeName::new(name))
    }

    fn of(object: &Value) -> Self {
        let text = |key: &str| object["metadata"][key].as_str().expect("a text");
        match object["kind"].as_str() {
            Some("PersistentVolume") => Self::volume(text("name")),
            Some("PersistentVolumeClaim") => {
                Self::Claim(ClaimKey::new(text("namespace"), text("name")))
            }
            kind => panic!("{kind:?} is not decided about"),
        }
    }
}

/// Merges `patch` into the object, and its finalizers one by one where it is a strategic merge patch.
fn patch_object(object: &mut Value, mut patch: Value) {
    let mut names = |key: &str| -> Vec<Value> {
        let metadata = patch["metadata"].as_object_mut().expect("a map");
        metadata.remove(key).and_then(|names| names.as_array().cloned()).unwrap_or_default()
    };
    let (added, removed) = (names("finalizers"), names("$deleteFromPrimitiveList/finalizers"));
    json_patch::merge(object, &patch);
    let mut kept = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    kept.retain(|name| !removed.contains(name));
    kept.extend(added);
    object["metadata"]["finalizers"] = json!(kept);
}

fn seen(watched: ResourceKind, object: &Value) -> Observed {
    watched.observed(&object.to_string()).unwrap_or_else(|error| panic!("{object}: {error}"))
}

//! The objects, their versions and their history.
//!
//! One counter stamps every write, as etcd's revision does; the log of writes answers watches and
//! reads of an older state. What may be written is decided before it comes here.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::resource::ResourceType;
use bindery::api::server::fields::{set, text};

/// Where an object lives: its resource and `namespace/name`, or `name` for cluster scope. Ordered
/// as the keys of a real server are, which is the order of its lists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) group: &'static str,
    pub(super) plural: &'static str,
    pub(super) path: String,
}

/// One write.
#[derive(Debug, Clone)]
pub(super) struct StoredChange {
    pub(super) version: u64,
    pub(super) key: Key,
    pub(super) before: Option<Arc<Value>>,
    /// `None` for a delete.
    pub(super) after: Option<Arc<Value>>,
}

/// All objects, newest state and history.
#[derive(Debug)]
pub(super) struct Store {
    objects: BTreeMap<Key, Arc<Value>>,
    log: Vec<StoredChange>,
    version: u64,
    compacted: u64,
}

/// The version before the first write: high enough that a small number in a test is always the
/// past, as on any server that has run for a second.
const FIRST_VERSION: u64 = 100;

impl Key {
    /// The key of a name; `namespace` is ignored for cluster scope.
    pub(super) fn new(resource: &ResourceType, namespace: &str, name: &str) -> Self {
        let path =
            if resource.namespaced { format!("{namespace}/{name}") } else { name.to_owned() };
        Self { group: resource.group, plural: resource.plural, path }
    }

    /// Returns whether it belongs to the resource and, if one is named, to the namespace.
    pub(super) fn is_in(&self, resource: &ResourceType, namespace: &str) -> bool {
        self.group == resource.group
            && self.plural == resource.plural
            && (namespace.is_empty()
                || self.path.strip_prefix(namespace).is_some_and(|rest| rest.starts_with('/')))
    }
}

impl Store {
    pub(super) fn new() -> Self {
        Self {
            objects: BTreeMap::new(),
            log: Vec::new(),
            version: FIRST_VERSION,
            compacted: FIRST_VERSION,
        }
    }

    /// The version of the latest write.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The oldest version whose successors are still known.
    pub(super) fn compacted(&self) -> u64 {
        self.compacted
    }

    /// The version of a cache that is `lag` versions behind, for a read that must not be older than `asked`.
    pub(super) fn cached(&self, lag: u64, asked: u64) -> u64 {
        self.version.saturating_sub(lag).max(asked).max(self.compacted).min(self.version)
    }

    /// Forgets every write up to and including `version`.
    pub(super) fn compact(&mut self, version: u64) {
        self.compacted = self.compacted.max(version.min(self.version));
        let compacted = self.compacted;
        self.log.retain(|change| change.version > compacted);
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// Stores `object` under a new version, which it then carries.
    pub(super) fn put(&mut self, key: Key, mut object: Value) -> Arc<Value> {
        self.version += 1;
        set(&mut object, &["metadata", "resourceVersion"], json!(self.version.to_string()));
        let object = Arc::new(object);
        let before = self.objects.insert(key.clone(), Arc::clone(&object));
        let after = Some(Arc::clone(&object));
        self.log.push(StoredChange { version: self.version, key, before, after });
        object
    }

    /// Removes an object. Returns its last state under the version of the removal.
    pub(super) fn remove(&mut self, key: &Key) -> Option<Value> {
        let before = self.objects.remove(key)?;
        self.version += 1;
        let mut last = (*before).clone();
        set(&mut last, &["metadata", "resourceVersion"], json!(self.version.to_string()));
        let change = StoredChange {
            version: self.version,
            key: key.clone(),
            before: Some(before),
            after: None,
        };
        self.log.push(change);
        Some(last)
    }

    /// The writes after `version`, oldest first.
    pub(super) fn since(&self, version: u64) -> &[StoredChange] {
        let first = self.log.partition_point(|change| change.version <= version);
        self.log.get(first..).unwrap_or_default()
    }

    /// The objects of a resource, and of a namespace unless it is empty, in key order.
    pub(super) fn objects(&self, resource: &ResourceType, namespace: &str) -> Vec<Arc<Value>> {
        let path = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        let from = Key { group: resource.group, plural: resource.plural, path };
        let range = self.objects.range(from..);
        range
            .take_while(|(key, _)| key.is_in(resource, namespace))
            .map(|(_, object)| Arc::clone(object))
            .collect()
    }

    /// The same as they were at `version`, which must not be older than [`Self::compacted`].
    pub(super) fn objects_at(
        &self,
        resource: &ResourceType,
        namespace: &str,
        version: u64,
    ) -> Vec<Arc<Value>> {
        let now = self.objects(resource, namespace);
        let key = |object: &Arc<Value>| {
            let (space, name) = (["metadata", "namespace"], ["metadata", "name"]);
            Key::new(resource, text(object, &space), text(object, &name))
        };
        let mut then: BTreeMap<Key, Arc<Value>> =
            now.into_iter().map(|object| (key(&object), object)).collect();
        for change in self.since(version).iter().rev() {
            if !change.key.is_in(resource, namespace) {
                continue;
            }
            match &change.before {
                Some(before) => then.insert(change.key.clone(), Arc::clone(before)),
                None => then.remove(&change.key),
            };
        }
        then.into_values().collect()
    }
}

//! What a case makes on a plane, and its removal.
//!
//! It exists so that cases share a plane without meeting: a namespace and a name prefix of their own,
//! defaults that match nothing of another case, and everything gone at the end, finalizers or not. All
//! writes are the admin's. Not here: what a case is about; it sends that as some persona.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use super::api::{Body, Reply};
use super::{Plane, persona};
use crate::eventually::{eventually, poll};

/// How long the server may take to agree on a pair, or to let objects go: controllers retry within
/// seconds, and the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

const VOLUMES: &str = "/api/v1/persistentvolumes";

/// A namespace and a prefix for names. Dropping it removes what is in the one and begins with the other,
/// and what was made by [`Objects::create`]; it panics about what stays.
#[derive(Debug)]
pub(crate) struct Objects<'a> {
    plane: &'a Plane,
    prefix: String,
    tracked: Mutex<Vec<String>>,
}

/// A volume and a claim that are bound to each other, as last read.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// The volume.
    pub(crate) volume: Value,
    /// The claim.
    pub(crate) claim: Value,
}

/// The path of a volume.
pub(crate) fn volume_path(name: &str) -> String {
    format!("{VOLUMES}/{name}")
}

/// The path of a claim.
pub(crate) fn claim_path(namespace: &str, name: &str) -> String {
    format!("{}/{name}", claims_path(namespace))
}

fn claims_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims")
}

impl<'a> Objects<'a> {
    /// Makes the namespace. `case` is the readable part of its name: lower case, digits, dashes.
    #[track_caller]
    pub(crate) fn new(plane: &'a Plane, case: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // The number comes first, so that no prefix begins with another one.
        let prefix = format!("e{}-{case}", COUNT.fetch_add(1, Ordering::Relaxed));
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": prefix}});
        let objects = Self { plane, prefix, tracked: Mutex::default() };
        objects.write(Method::POST, "/api/v1/namespaces", Body::json(&namespace));
        objects
    }

    /// The namespace of the case. It is also the name of the class that its volumes and claims have by
    /// default, for which no object exists: they match each other and nothing else.
    pub(crate) fn namespace(&self) -> &str {
        &self.prefix
    }

    /// The name of a cluster-scoped object of the case.
    pub(crate) fn name(&self, suffix: &str) -> String {
        format!("{}-{suffix}", self.prefix)
    }

    /// Creates any object in `collection` (a path) and removes it at the end, the last one first.
    #[track_caller]
    pub(crate) fn create(&self, collection: &str, object: &Value) -> Value {
        let created = self.write(Method::POST, collection, Body::json(object));
        let name = created["metadata"]["name"].as_str().unwrap_or_default();
        self.lock_tracked().push(format!("{collection}/{name}"));
        created
    }

    /// Creates a volume: 1Gi, `ReadWriteOnce`, Retain, NFS, the case's class; `overlay` is merged into it.
    /// Its name is [`Objects::name`] of the suffix.
    #[track_caller]
    pub(crate) fn volume(&self, suffix: &str, overlay: &Value) -> Value {
        let name = self.name(suffix);
        let mut volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain", "storageClassName": self.prefix,
                // An address for documentation: no host has it, and nothing ever mounts it.
                "nfs": {"server": "192.0.2.1", "path": format!("/{name}")},
            },
        });
        json_patch::merge(&mut volume, overlay);
        self.write(Method::POST, VOLUMES, Body::json(&volume))
    }

    /// Creates a volume as [`Objects::volume`] and writes its phase.
    #[track_caller]
    pub(crate) fn volume_in_phase(&self, suffix: &str, phase: &str, overlay: &Value) -> Value {
        self.volume(suffix, overlay);
        self.patch_status(&volume_path(&self.name(suffix)), &json!({"phase": phase}))
    }

    /// Creates a claim in the case's namespace: 1Gi, `ReadWriteOnce`, the case's class; `overlay` is merged
    /// into it. Its name is `name` as it is.
    #[track_caller]
    pub(crate) fn claim(&self, name: &str, overlay: &Value) -> Value {
        let mut claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": self.prefix},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": self.prefix,
                "resources": {"requests": {"storage": "1Gi"}},
            },
        });
        json_patch::merge(&mut claim, overlay);
        self.write(Method::POST, &claims_path(&self.prefix), Body::json(&claim))
    }

    /// Makes a bound pair by the writes of a bind (both pointers, uids, annotations, statuses): on any
    /// plane, for any pair that the API server accepts, matching or not. The volume is named
    /// [`Objects::name`] of `name`, the claim `name`.
    ///
    /// Where the in-tree binder runs it sees a bind begun and makes the same writes: the first one wins,
    /// both end here. The claim names the volume only once that binder has stored it: it sets a claim that
    /// names a volume which it has not stored to Lost (`pv_controller.go`, `syncBoundClaim`), and where it has
    /// many others to do, that comes after the pair was Bound.
    #[track_caller]
    pub(crate) fn bound_pair(&self, name: &str, volume: &Value, claim: &Value) -> Pair {
        let claim = self.claim(name, claim);
        let mut reserved = json!({
            "metadata": {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}},
            "spec": {"claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": self.prefix,
                "name": name, "uid": claim["metadata"]["uid"],
                "resourceVersion": claim["metadata"]["resourceVersion"],
            }},
        });
        json_patch::merge(&mut reserved, volume);
        // The merge has dropped the null that removes the default storage.
        if volume["spec"].get("nfs").is_some_and(Value::is_null) {
            reserved["spec"]["nfs"] = Value::Null;
        }
        if self.plane.peers.has_in_tree_binder() {
            self.known_volume(name, &reserved);
        } else {
            self.volume(name, &reserved);
        }
        let volume = self.patch_status(&volume_path(&self.name(name)), &json!({"phase": "Bound"}));
        let pointer = json!({
            "metadata": {"annotations": {
                "pv.kubernetes.io/bind-completed": "yes",
                "pv.kubernetes.io/bound-by-controller": "yes",
            }},
            "spec": {"volumeName": volume["metadata"]["name"]},
        });
        let path = claim_path(&self.prefix, name);
        self.write(Method::PATCH, &path, Body::merge_patch(&pointer));
        let spec = &volume["spec"];
        let status = json!({
            "phase": "Bound", "accessModes": spec["accessModes"], "capacity": spec["capacity"],
        });
        self.patch_status(&path, &status);
        self.await_bound(name)
    }

    /// Creates a volume that is reserved for a claim, and returns once the in-tree binder has stored it. As long
    /// as it is reserved by name only, that binder sets its phase whether or not the two match: Available, or
    /// Bound if it binds them itself.
    #[track_caller]
    fn known_volume(&self, name: &str, reserved: &Value) {
        let mut by_name = reserved.clone();
        by_name["spec"]["claimRef"]["uid"] = Value::Null;
        self.volume(name, &by_name);
        let path = volume_path(&self.name(name));
        eventually(&format!("the binder has seen volume {name:?}"), PATIENCE, || {
            let volume = self.plane.get(persona::ADMIN, &path).expect_ok();
            if volume["status"]["phase"] == "Pending" { Err(volume.to_string()) } else { Ok(()) }
        });
        let reference = json!({"spec": {"claimRef": reserved["spec"]["claimRef"]}});
        self.write(Method::PATCH, &path, Body::merge_patch(&reference));
    }

    /// Waits until the volume [`Objects::name`] of `name` and the claim `name` are bound to each other.
    #[track_caller]
    pub(crate) fn await_bound(&self, name: &str) -> Pair {
        let (volume, claim) = (volume_path(&self.name(name)), claim_path(&self.prefix, name));
        eventually(&format!("claim {name:?} and its volume are bound"), PATIENCE, || {
            let read = |path: &str| self.plane.get(persona::ADMIN, path).expect_ok();
            let pair = Pair { volume: read(&volume), claim: read(&claim) };
            let bound = pair.volume["status"]["phase"] == "Bound"
                && pair.claim["status"]["phase"] == "Bound"
                && pair.claim["spec"]["volumeName"] == pair.volume["metadata"]["name"]
                && pair.volume["spec"]["claimRef"]["uid"] == pair.claim["metadata"]["uid"];
            if bound { Ok(pair) } else { Err(format!("{} {}", pair.volume, pair.claim)) }
        })
    }

    #[track_caller]
    fn patch_status(&self, path: &str, status: &Value) -> Value {
        let body = Body::merge_patch(&json!({"status": status}));
        self.write(Method::PATCH, &format!("{path}/status"), body)
    }

    #[track_caller]
    fn write(&self, method: Method, path: &str, body: Body) -> Value {
        self.plane.request(persona::ADMIN, method, path, body).expect_ok()
    }

    fn lock_tracked(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.tracked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removal. It must not panic while a failed case unwinds, so it works with results.
impl Objects<'_> {
    /// Removes what is there now; the error says what still is. What was tracked goes first: a webhook
    /// among it would reject the rest.
    fn remove_all(&self) -> Result<(), String> {
        let mut paths: Vec<String> = self.lock_tracked().iter().rev().cloned().collect();
        let namespace = format!("/api/v1/namespaces/{}", self.prefix);
        paths.extend(self.listed(&format!("{namespace}/pods"))?);
        paths.extend(self.listed(&claims_path(&self.prefix))?);
        paths.extend(self.listed(VOLUMES)?);
        let mut left = Vec::new();
        for path in paths {
            let reply = self.remove(&path)?;
            if reply.code != 404 {
                left.push(format!("{path}: {reply}"));
            }
        }
        if left.is_empty() { Ok(()) } else { Err(left.join("\n")) }
    }

    /// The paths of the case's objects in a collection.
    fn listed(&self, collection: &str) -> Result<Vec<String>, String> {
        let list = self.send(Method::GET, collection, Body::none())?;
        let items = list.json["items"].as_array().ok_or_else(|| list.to_string())?;
        let names = items.iter().filter_map(|item| item["metadata"]["name"].as_str());
        let prefix = if collection == VOLUMES { self.name("") } else { String::new() };
        let ours = names.filter(|name| name.starts_with(&prefix));
        Ok(ours.map(|name| format!("{collection}/{name}")).collect())
    }

    /// Deletes, then takes the finalizers off: the controllers put protection back on an object that is
    /// not being deleted. Returns the last answer; 404 is what is wanted.
    fn remove(&self, path: &str) -> Result<Reply, String> {
        let now = Body::json(&json!({"gracePeriodSeconds": 0}));
        let deleted = self.send(Method::DELETE, path, now)?;
        if deleted.code == 404 {
            return Ok(deleted);
        }
        let bare = json!({"metadata": {"finalizers": null}});
        self.send(Method::PATCH, path, Body::merge_patch(&bare))?;
        self.send(Method::GET, path, Body::none())
    }

    fn send(&self, method: Method, path: &str, body: Body) -> Result<Reply, String> {
        self.plane.try_request(persona::ADMIN, method, path, body)
    }
}

impl Drop for Objects<'_> {
    fn drop(&mut self) {
        let removed = poll(PATIENCE, || self.remove_all());
        // The namespace controller removes it later; no case waits for that, as no name comes twice.
        let namespace = format!("/api/v1/namespaces/{}", self.prefix);
        let removed =
            removed.and_then(|()| self.send(Method::DELETE, &namespace, Body::none()).map(drop));
        if let Err(left) = removed {
            let sentence = format!("{} could not remove what it made: {left}", self.prefix);
            if thread::panicking() {
                eprintln!("{sentence}");
            } else {
                panic!("{sentence}");
            }
        }
    }
}

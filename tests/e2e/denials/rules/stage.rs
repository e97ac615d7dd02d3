//! Examples on a real cluster: their objects, their targets, and what is true afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bindery::api::fixture::{DEAD_UID, FixtureObject, parse, with_uids};
use bindery::model::annotations::TENANT;
use bindery::rules::{Fact, Persona as Who};
use hyper::Method;
use serde_json::{Value, json};

use super::routes::Shot;
use crate::plane::persona::{self, ARRANGER};
use crate::plane::{Body, Persona, Plane, Reply};

/// Keeps an object that is being deleted until the case is over.
const HOLD: &str = "tests.example.com/hold";

/// A plane on which one example at a time is put.
pub(crate) struct Stage<'a> {
    pub(crate) plane: &'a Plane,
    uids: BTreeMap<String, String>,
    /// The kinds of what this example began with.
    used: BTreeSet<String>,
}

/// Pauses of 25 ms between two looks: half a second, in which every event has long arrived.
const SETTLE_PAUSES: usize = 20;

/// A stage that has not come to rest after so many looks never does.
const SETTLE_LOOKS_MAX: usize = 20;

/// The namespaces that examples use.
const NAMESPACES: [&str; 2] = ["db", "qa"];

/// Those that examples create.
const CREATED: [&str; 1] = ["red"];

impl<'a> Stage<'a> {
    pub(crate) fn on(plane: &'a Plane) -> Self {
        let stage = Self { plane, uids: BTreeMap::new(), used: BTreeSet::new() };
        stage.serve_snapshots();
        for name in NAMESPACES {
            stage.make_namespace(name);
        }
        stage
    }

    /// Makes the kind of snapshots, as the snapshot controller's manifests do, but that it takes any field.
    fn serve_snapshots(&self) {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let kind = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {
                "name": "volumesnapshotcontents.snapshot.storage.k8s.io",
                "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-csi/external-snapshotter/pull/1"},
            },
            "spec": {
                "group": "snapshot.storage.k8s.io", "scope": "Cluster",
                "names": {"kind": "VolumeSnapshotContent", "plural": "volumesnapshotcontents"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                              "schema": {"openAPIV3Schema": schema}}],
            },
        });
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        self.plane.request(ARRANGER, Method::POST, path, Body::json(&kind)).expect_ok();
        crate::eventually::eventually("snapshots are served", Duration::from_secs(20), || {
            let reply = self.plane.get(ARRANGER, CONTENTS);
            if reply.code == 200 { Ok(()) } else { Err(reply.to_string()) }
        });
    }

    fn make_namespace(&self, name: &str) {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let path = "/api/v1/namespaces";
        self.plane.request(ARRANGER, Method::POST, path, Body::json(&object)).expect_ok();
    }

    /// Ends a namespace, as the controller that ends it may not run.
    fn end_namespace(&self, name: &str) {
        let path = path(&format!("ns/{name}"));
        let end = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        crate::eventually::eventually("a namespace goes", Duration::from_secs(20), || {
            let stored = self.plane.get(ARRANGER, &path);
            if stored.code == 404 {
                return Ok(());
            }
            let finalize = format!("{path}/finalize");
            self.plane.request(ARRANGER, Method::PUT, &finalize, Body::json(&end));
            self.plane.request(ARRANGER, Method::DELETE, &path, Body::none());
            Err(stored.to_string())
        });
    }

    /// Removes what the last example left and puts this one's objects.
    #[track_caller]
    pub(crate) fn set(&mut self, given: &str) {
        self.clear();
        for item in items(given) {
            self.put(&item);
        }
    }

    /// The text with uids of claims filled in.
    pub(crate) fn fill(&self, text: &str) -> String {
        with_uids(text, |key| self.uids.get(key).cloned())
    }

    /// The object at `target`, or none.
    pub(crate) fn get(&self, target: &str) -> Option<Value> {
        let reply = self.plane.get(ARRANGER, &path(&self.fill(target)));
        (reply.code == 200).then_some(reply.json)
    }

    /// Returns whether a fact holds; else what is there instead.
    pub(crate) fn holds(&self, fact: Fact) -> Result<(), String> {
        match (fact, self.get(target_of(fact))) {
            (Fact::Gone(_), None) => Ok(()),
            (_, None) => Err(format!("{fact:?}: the object is gone")),
            (_, Some(object)) => self.holds_in(fact, &object),
        }
    }

    /// Returns whether a fact holds in `object`, if that is the object of the fact.
    pub(crate) fn holds_in(&self, fact: Fact, object: &Value) -> Result<(), String> {
        let target = self.fill(target_of(fact));
        let name = target.rsplit('/').next().unwrap_or_default();
        if object["metadata"]["name"] != json!(name) {
            return Err(format!("{fact:?}: not in {object}"));
        }
        let (holds, value) = match fact {
            Fact::Is(_, pointer, text) => {
                let expected: Value = serde_json::from_str(&self.fill(text)).unwrap();
                let value = object.pointer(pointer);
                (value == Some(&expected), value)
            }
            Fact::Has(_, pointer) => (object.pointer(pointer).is_some(), None),
            Fact::Lacks(_, pointer) => (object.pointer(pointer).is_none(), object.pointer(pointer)),
            Fact::Gone(_) => (false, None),
        };
        if holds { Ok(()) } else { Err(format!("{fact:?}: there is {value:?} in {object}")) }
    }

    /// Waits until the controllers have nothing more to do: nothing changes for a while in which
    /// the binder looks at everything once more.
    pub(crate) fn settle(&self) {
        let mut last = self.dump();
        for _ in 0..SETTLE_LOOKS_MAX {
            for _ in 0..SETTLE_PAUSES {
                crate::eventually::pause();
            }
            let now = self.dump();
            if now == last {
                return;
            }
            last = now;
        }
        panic!("the stage does not come to rest: {last}");
    }

    /// Everything on the stage: a list of each kind, and the namespaces.
    pub(crate) fn dump(&self) -> Value {
        let mut lists = Vec::new();
        for (collection, kind) in COLLECTIONS {
            let list = self.plane.get(ARRANGER, collection).expect_ok();
            let group = match collection.split('/').collect::<Vec<_>>()[..] {
                ["", "apis", group, version, _] => format!("{group}/{version}"),
                _ => "v1".to_owned(),
            };
            let mut items = list["items"].as_array().cloned().unwrap_or_default();
            for item in &mut items {
                item["apiVersion"] = json!(group);
                item["kind"] = json!(kind);
            }
            lists.push(json!({"apiVersion": group, "kind": format!("{kind}List"), "items": items}));
        }
        let namespaces = NAMESPACES.iter().filter_map(|name| self.get(&format!("ns/{name}")));
        lists.extend(namespaces);
        json!(lists)
    }

    #[track_caller]
    fn put(&mut self, item: &FixtureObject) {
        let target = self.fill(&item.target);
        let text = self.fill(&item.object.to_string());
        let mut object: Value = serde_json::from_str(&text).unwrap();
        let is_pair =
            object.pointer("/status/phase") == Some(&json!("Bound")) && target.starts_with("pv/");
        if item.is_terminating
            && !is_pair
            && let Some(finalizers) = object["metadata"]["finalizers"].as_array_mut()
        {
            finalizers.push(json!(HOLD));
        }
        let path = path(&target);
        self.used.insert(object["kind"].as_str().unwrap_or_default().to_owned());
        if target.starts_with("ns/") {
            self.label(&target, &object["metadata"]["labels"]);
            return;
        }
        let (collection, _) = path.rsplit_once('/').unwrap();
        let request =
            |method, path: &str, body| self.plane.request(ARRANGER, method, path, body).expect_ok();
        let stored = request(Method::POST, collection, Body::json(&object));
        if !target.starts_with("pod/") && object.get("status").is_some() {
            let status = json!({"status": object["status"]});
            request(Method::PATCH, &format!("{path}/status"), Body::merge_patch(&status));
        }
        if item.is_terminating {
            request(Method::DELETE, &path, Body::none());
        }
        if let Some(key) = target.strip_prefix("pvc/") {
            let uid = stored["metadata"]["uid"].as_str().unwrap_or(DEAD_UID);
            self.uids.insert(key.to_owned(), uid.to_owned());
        }
    }

    /// Gives a namespace, which is there for all examples, the labels of this one.
    fn label(&self, target: &str, labels: &Value) {
        let patch = json!({"metadata": {"labels": labels}});
        let body = Body::merge_patch(&patch);
        self.plane.request(ARRANGER, Method::PATCH, &path(target), body).expect_ok();
    }

    /// Deletes every object of an example, finalizers first.
    fn clear(&mut self) {
        for (collection, kind) in COLLECTIONS {
            // Requests make volumes, claims and namespaces only: of the rest there is what an example began with.
            if !self.used.contains(kind) && !kind.starts_with("PersistentVolume") {
                continue;
            }
            let list = self.plane.get(ARRANGER, collection).expect_ok();
            for item in list["items"].as_array().into_iter().flatten() {
                self.remove(collection, item);
            }
        }
        // Last: a namespace does not go before what is in it.
        for name in NAMESPACES {
            let target = format!("ns/{name}");
            let stored = self.get(&target).unwrap_or_default();
            if stored.pointer("/metadata/deletionTimestamp").is_some() {
                self.end_namespace(name);
                self.make_namespace(name);
            } else if [TENANT, "team"]
                .iter()
                .any(|label| !stored["metadata"]["labels"][label].is_null())
            {
                self.label(&target, &json!({TENANT: null, "team": null}));
            }
        }
        for name in CREATED {
            self.end_namespace(name);
        }
        self.uids.clear();
        self.used.clear();
    }

    fn remove(&self, collection: &str, item: &Value) {
        let name = item["metadata"]["name"].as_str().unwrap_or_default();
        let path = match item["metadata"]["namespace"].as_str() {
            None => format!("{collection}/{name}"),
            Some(namespace) => {
                let (_, resource) = collection.rsplit_once('/').unwrap();
                format!("/api/v1/namespaces/{namespace}/{resource}/{name}")
            }
        };
        let free = Body::merge_patch(&json!({"metadata": {"finalizers": null}}));
        let now = Body::json(&json!({"gracePeriodSeconds": 0, "propagationPolicy": "Background"}));
        let mut is_held = !item["metadata"]["finalizers"].is_null();
        // A controller may put a finalizer back in between.
        crate::eventually::eventually("an object goes", Duration::from_secs(10), || {
            if is_held {
                self.plane.request(ARRANGER, Method::PATCH, &path, free.clone());
            }
            let reply = self.plane.request(ARRANGER, Method::DELETE, &path, now.clone());
            is_held = !reply.json["metadata"]["finalizers"].is_null();
            let is_gone = reply.code == 404 || reply.code == 200 && !is_held;
            if is_gone { Ok(()) } else { Err(reply.to_string()) }
        });
    }
}

/// Where snapshots are served, of which the plane knows nothing by itself.
const CONTENTS: &str = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents";

const COLLECTIONS: [(&str, &str); 8] = [
    ("/api/v1/pods", "Pod"),
    (CONTENTS, "VolumeSnapshotContent"),
    ("/apis/storage.k8s.io/v1/volumeattachments", "VolumeAttachment"),
    ("/apis/storage.k8s.io/v1/csidrivers", "CSIDriver"),
    ("/api/v1/persistentvolumes", "PersistentVolume"),
    ("/api/v1/persistentvolumeclaims", "PersistentVolumeClaim"),
    ("/apis/storage.k8s.io/v1/storageclasses", "StorageClass"),
    ("/api/v1/nodes", "Node"),
];

fn target_of(fact: Fact) -> &'static str {
    match fact {
        Fact::Is(target, ..)
        | Fact::Has(target, _)
        | Fact::Lacks(target, _)
        | Fact::Gone(target) => target,
    }
}

/// The objects of a fixture.
#[track_caller]
pub(crate) fn items(given: &str) -> Vec<FixtureObject> {
    parse(given).unwrap_or_else(|error| panic!("{error}"))
}

/// The path of a target such as `pv/NAME` or `pvc/NAMESPACE/NAME`.
pub(crate) fn path(target: &str) -> String {
    let parts: Vec<&str> = target.split('/').collect();
    match parts.as_slice() {
        ["pv", name] => format!("/api/v1/persistentvolumes/{name}"),
        ["pvc", namespace, name] => {
            format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}")
        }
        ["pod", namespace, name] => format!("/api/v1/namespaces/{namespace}/pods/{name}"),
        ["sc", name] => format!("/apis/storage.k8s.io/v1/storageclasses/{name}"),
        ["node", name] => format!("/api/v1/nodes/{name}"),
        ["volumeattachment", name] => format!("/apis/storage.k8s.io/v1/volumeattachments/{name}"),
        ["volumesnapshotcontent", name] => format!("{CONTENTS}/{name}"),
        ["csidriver", name] => format!("/apis/storage.k8s.io/v1/csidrivers/{name}"),
        ["ns", name] => format!("/api/v1/namespaces/{name}"),
        _ => panic!("{target} is no target of an example"),
    }
}

/// Whether a request stores anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    Dry,
    Real,
}

/// Sends a request.
pub(crate) fn fire(stage: &Stage<'_>, who: Persona, shot: Shot, run: Run) -> Reply {
    let Shot { method, mut path, body } = shot;
    if run == Run::Dry {
        path.push(if path.contains('?') { '&' } else { '?' });
        path.push_str("dryRun=All");
    }
    stage.plane.request(who, method, &path, body)
}

/// The plane's persona for an example's.
pub(crate) fn persona(who: Who) -> Persona {
    match who {
        Who::Admin => persona::ADMIN,
        Who::Tenant => persona::TENANT,
        Who::VolumeViewer => persona::VOLUME_VIEWER,
        Who::NamespaceAdmin => persona::NAMESPACE_ADMIN,
        Who::Binder => persona::BINDER,
        Who::Scheduler => persona::SCHEDULER,
        Who::VolumeProtection => persona::VOLUME_PROTECTION,
        Who::ClaimProtection => persona::CLAIM_PROTECTION,
        Who::GarbageCollector => persona::GARBAGE_COLLECTOR,
        Who::AttachDetach => persona::ATTACH_DETACH,
        Who::Driver => persona::PROVISIONER,
    }
}

//! A cluster on which a test plays everybody, so that it can make any history.

use std::collections::BTreeSet;

use bindery_sim::{ApiRequest, ClusterState, Method, RequestUser};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::invariants::{BIND_COMPLETED, BOUND_BY_CONTROLLER, Invariant, Monitor, Terms, ending};

pub(super) const US: &str = "binder";
pub(super) const VOLUMES: &str = "/api/v1/persistentvolumes";
pub(super) const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
pub(super) const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

/// A cluster on which a test plays everybody.
pub(super) struct Play {
    pub(super) cluster: ClusterState,
    now: Timestamp,
}

impl Play {
    pub(super) fn new() -> Self {
        let now = "2026-11-21T05:00:00Z".parse().expect("a time");
        let mut cluster = ClusterState::new(5, now);
        cluster.keep_history();
        Self { cluster, now }
    }

    pub(super) fn pass(&mut self, seconds: i64) {
        self.now = self.now.checked_add(SignedDuration::from_secs(seconds)).expect("a time");
        self.cluster.set_now(self.now);
    }

    pub(super) fn send(&mut self, user: &str, method: Method, path: &str, body: Value) -> Value {
        let mut request = ApiRequest::new(method, path, body).by(RequestUser::named(user, &[]));
        if method == Method::Patch {
            "application/merge-patch+json".clone_into(&mut request.content_type);
        }
        let response = self.cluster.handle(request);
        assert!(response.code < 300, "{user} {method:?} {path}: {:?}", response.object());
        response.object().cloned().expect("an object")
    }

    pub(super) fn get(&mut self, path: &str) -> Value {
        self.send("reader", Method::Get, path, Value::Null)
    }

    /// A volume of 10Gi.
    pub(super) fn volume(&mut self, name: &str, spec: &Value) {
        let mut volume = json!({
            "metadata": {"name": name, "labels": {"theirs": "stays"}},
            "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
                     "nfs": {"server": "a", "path": "/"}},
        });
        json_patch::merge(&mut volume["spec"], spec);
        self.send("admin", Method::Post, VOLUMES, volume);
    }

    /// A claim of 5Gi.
    pub(super) fn claim(&mut self, name: &str) -> Value {
        let claim = json!({
            "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "",
                     "resources": {"requests": {"storage": "5Gi"}}},
        });
        self.send("tenant", Method::Post, CLAIMS, claim)
    }

    /// The controller patches the newest version of an object or of its status.
    pub(super) fn write(&mut self, path: &str, mut patch: Value) -> Value {
        let object = self.get(path.trim_end_matches("/status"));
        for field in ["uid", "resourceVersion"] {
            patch["metadata"][field] = object["metadata"][field].clone();
        }
        self.send(US, Method::Patch, path, patch)
    }

    pub(super) fn reserve(&mut self, volume: &str, claim: &str) {
        let path = format!("{CLAIMS}/{claim}");
        let claim = self.get(&path)["metadata"].clone();
        let reference = json!({
            "kind": "PersistentVolumeClaim", "namespace": "default", "name": claim["name"],
            "uid": claim["uid"], "resourceVersion": claim["resourceVersion"],
        });
        let mark = json!({BOUND_BY_CONTROLLER: "yes"});
        let patch = json!({"spec": {"claimRef": reference}, "metadata": {"annotations": mark}});
        self.write(&format!("{VOLUMES}/{volume}"), patch);
    }

    pub(super) fn phase(&mut self, volume: &str, phase: &str) {
        let patch = json!({"status": {"phase": phase}});
        self.write(&format!("{VOLUMES}/{volume}/status"), patch);
    }

    pub(super) fn name(&mut self, claim: &str, volume: &str) {
        let marks = json!({BIND_COMPLETED: "yes", BOUND_BY_CONTROLLER: "yes"});
        let patch = json!({"spec": {"volumeName": volume}, "metadata": {"annotations": marks}});
        self.write(&format!("{CLAIMS}/{claim}"), patch);
    }

    pub(super) fn status(&mut self, claim: &str, phase: &str) {
        let patch = json!({"status": {"phase": phase}});
        self.write(&format!("{CLAIMS}/{claim}/status"), patch);
    }

    /// All four steps.
    pub(super) fn bind(&mut self, volume: &str, claim: &str) {
        self.reserve(volume, claim);
        self.phase(volume, "Bound");
        self.name(claim, volume);
        self.status(claim, "Bound");
    }

    /// A bound pair, `pv` and `data`.
    pub(super) fn pair(&mut self) {
        self.volume("pv", &json!({}));
        self.claim("data");
        self.bind("pv", "data");
    }

    /// The claim goes, as its owner wants and its protection allows.
    pub(super) fn drop_claim(&mut self, claim: &str) {
        let path = format!("{CLAIMS}/{claim}");
        let bare = json!({"metadata": {"finalizers": null}});
        self.send("protection", Method::Patch, &path, bare);
        self.send("tenant", Method::Delete, &path, Value::Null);
    }

    pub(super) fn broken(&self) -> Vec<Invariant> {
        self.broken_under(Terms::of(US))
    }

    pub(super) fn broken_under(&self, terms: Terms) -> Vec<Invariant> {
        let mut monitor = Monitor::new(terms);
        self.cluster.history().iter().for_each(|write| monitor.judge(write));
        let mut found: Vec<Invariant> =
            monitor.breaches().iter().map(|breach| breach.invariant).collect();
        found.dedup();
        found
    }

    pub(super) fn at_rest(&self) -> Vec<String> {
        let found = ending::at_rest(&self.cluster.objects(), &BTreeSet::new());
        found.iter().map(ToString::to_string).collect()
    }
}

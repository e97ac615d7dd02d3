//! A server on which scenarios are played, with one binder, and when something last changed in a scenario.
//!
//! Not here: what happens (`step`), and what is compared (`scene`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bindery::binding::{ObjectKey, Observed};
use bindery::client::connect::{Address, connect};
use bindery::client::resource::ResourceKind;
use bindery::client::watch::{EventHandler, Unreadable, watch_collection};
use bindery::model::ResourceVersion;
use hyper::Method;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::scenario::Scenario;
use super::scene::{Scene, name_of};
use super::step::{Act, CLASSES};
use crate::controller::{Controller, Election};
use crate::eventually::{eventually, wait};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};

/// How long the machine may take to do what takes milliseconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Who binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binder {
    /// Kubernetes' own.
    InTree,
    /// The controller under test.
    Ours,
    /// None yet.
    None,
}

/// A server, its binder and a watch on both kinds of objects.
pub(super) struct Stage {
    plane: Plane,
    changes: Arc<Changes>,
    /// Every volume of a scenario as it was seen last, by the scenario's tag and its own name.
    met: Mutex<BTreeMap<String, BTreeMap<String, Value>>>,
    _controller: Option<Controller>,
    _runtime: Runtime,
}

impl Stage {
    /// Starts all of it.
    pub(super) fn new(binder: Binder) -> Self {
        let peers = if binder == Binder::InTree { Peers::WithBinder } else { Peers::WithoutBinder };
        let plane = Plane::start(peers).unwrap_or_else(|sentence| panic!("{sentence}"));
        let controller =
            (binder == Binder::Ours).then(|| Controller::start(&plane, Election::None));
        let (changes, runtime) = (Arc::new(Changes::default()), Runtime::new().unwrap());
        let address = Address { kubeconfig: Some(plane.kubeconfig(ADMIN)), ..Address::default() };
        let client = runtime.block_on(connect(&address)).unwrap();
        for watched in [ResourceKind::Volumes, ResourceKind::Claims] {
            let (client, sink) = (client.clone(), Arc::clone(&changes));
            runtime.spawn(watch_collection(client, watched, sink, tokio::time::Instant::now()));
        }
        let met = Mutex::default();
        Self { plane, changes, met, _controller: controller, _runtime: runtime }
    }

    /// The server.
    pub(super) fn plane(&self) -> &Plane {
        &self.plane
    }

    /// Makes the namespace and the classes of a scenario.
    pub(super) fn prepare(&self, scenario: &Scenario) {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": scenario.tag}});
        self.write(Method::POST, "/api/v1/namespaces", Body::json(&namespace));
        for class in &scenario.classes {
            self.write(Method::POST, CLASSES, Body::json(class));
        }
    }

    /// Does what a step takes. An error of the server is returned, as it says that the step cannot happen.
    pub(super) fn act(&self, tag: &str, acts: &[Act]) -> Result<(), String> {
        self.changes.note(tag);
        for act in acts {
            let reply = match act {
                Act::Create(object) => {
                    let path = match object["kind"].as_str() {
                        Some("PersistentVolume") => volume_path(""),
                        _ => claim_path(tag, ""),
                    };
                    let path = path.trim_end_matches('/');
                    self.plane.request(ADMIN, Method::POST, path, Body::json(object))
                }
                Act::Patch(path, patch) => {
                    self.plane.request(ADMIN, Method::PATCH, path, Body::merge_patch(patch))
                }
                Act::Delete(path) => self.plane.request(ADMIN, Method::DELETE, path, Body::none()),
                Act::Gone(path) => {
                    self.await_gone(path);
                    continue;
                }
            };
            // What is to be patched may be gone by its own protection's end.
            if reply.code >= 300 && reply.code != 404 {
                return Err(reply.to_string());
            }
        }
        self.changes.note(tag);
        Ok(())
    }

    /// Since when nothing changed in a scenario.
    pub(super) fn quiet_since(&self, tag: &str) -> Instant {
        self.changes.last(tag)
    }

    /// Everything of a scenario, read now.
    pub(super) fn scene(&self, scenario: &Scenario) -> Scene {
        let selector =
            format!("/api/v1/persistentvolumes?labelSelector=scenario%3D{}", scenario.tag);
        let claims = format!("/api/v1/namespaces/{}/persistentvolumeclaims", scenario.tag);
        let class = |class: &Value| format!("{CLASSES}/{}", name_of(class));
        let classes = scenario.classes.iter().map(|made| self.plane.get(ADMIN, &class(made)).json);
        let classes = classes.filter(|class| class["kind"] == "StorageClass");
        let volumes = self.listed(&selector);
        Scene {
            tag: scenario.tag.clone(),
            classes: classes.map(|class| (name_of(&class).to_owned(), class)).collect(),
            gone: self.gone(&scenario.tag, &volumes),
            volumes,
            claims: self.listed(&claims),
        }
    }

    /// Remembers these volumes of a scenario; the others of which it knows are gone.
    fn gone(&self, tag: &str, volumes: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let met = met.entry(tag.to_owned()).or_default();
        met.extend(volumes.clone());
        let gone = met.iter().filter(|(name, _)| !volumes.contains_key(*name));
        gone.map(|(name, volume)| (name.clone(), volume.clone())).collect()
    }

    /// Removes everything of a scenario, so that no binder looks at it any more.
    pub(super) fn clear(&self, scenario: &Scenario) {
        let volumes = volume_path("");
        let selector =
            format!("{}?labelSelector=scenario%3D{}", volumes.trim_end_matches('/'), scenario.tag);
        let claims = format!("/api/v1/namespaces/{}/persistentvolumeclaims", scenario.tag);
        let now = || Body::json(&json!({"gracePeriodSeconds": 0}));
        for class in &scenario.classes {
            let path = format!("{CLASSES}/{}", name_of(class));
            self.plane.request(ADMIN, Method::DELETE, &path, now());
        }
        let bare = json!({"metadata": {"finalizers": null}});
        eventually("the scenario's objects go", PATIENCE, || {
            let mut left = 0;
            for (collection, prefix) in
                [(&claims, format!("{claims}/")), (&selector, volumes.clone())]
            {
                self.plane.request(ADMIN, Method::DELETE, collection, now());
                for name in self.listed(collection).keys() {
                    left += 1;
                    let path = format!("{prefix}{name}");
                    self.plane.request(ADMIN, Method::PATCH, &path, Body::merge_patch(&bare));
                }
            }
            if left == 0 { Ok(()) } else { Err(format!("{left} objects")) }
        });
    }

    /// Writes as the administrator; panics if it is rejected.
    pub(super) fn write(&self, method: Method, path: &str, body: Body) -> Value {
        self.plane.request(ADMIN, method, path, body).expect_ok()
    }

    fn await_gone(&self, path: &str) {
        eventually(&format!("{path} is gone"), PATIENCE, || match self.plane.get(ADMIN, path) {
            reply if reply.code == 404 => Ok(()),
            reply => Err(reply.to_string()),
        });
    }

    fn listed(&self, path: &str) -> BTreeMap<String, Value> {
        let list = self.plane.get(ADMIN, path).expect_ok();
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let kind = list["kind"].as_str().unwrap_or_default().trim_end_matches("List").to_owned();
        let named = items.into_iter().map(|mut item| {
            item["kind"] = json!(kind);
            (name_of(&item).to_owned(), item)
        });
        named.collect()
    }
}

/// Waits until nothing has changed in a scenario for a while.
pub(super) fn await_quiet(stages: &[&Stage], tag: &str, quiet: Duration) {
    loop {
        let last = stages.iter().map(|stage| stage.quiet_since(tag)).max();
        let elapsed = last.map_or(quiet, |last| last.elapsed());
        match quiet.checked_sub(elapsed) {
            None => return,
            Some(left) => wait(left + Duration::from_millis(5)),
        }
    }
}

/// When something last changed, by scenario.
#[derive(Default)]
struct Changes(Mutex<BTreeMap<String, Instant>>);

impl Changes {
    fn note(&self, tag: &str) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.insert(tag.to_owned(), Instant::now());
    }

    fn last(&self, tag: &str) -> Instant {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.get(tag).copied().unwrap_or_else(Instant::now)
    }

    fn note_object(&self, key: &ObjectKey) {
        match key {
            ObjectKey::Claim(key) => self.note(&key.namespace),
            ObjectKey::Volume(name) => {
                self.note(name.as_str().split('-').next().unwrap_or_default());
            }
        }
    }
}

impl EventHandler for Changes {
    fn on_object(&self, _: ResourceKind, observed: Observed, _: ResourceVersion, _: &str) {
        match observed {
            Observed::Volume(volume) => self.note_object(&ObjectKey::Volume(volume.name.clone())),
            Observed::VolumeGone(name) => self.note_object(&ObjectKey::Volume(name)),
            Observed::Claim(claim) => self.note_object(&ObjectKey::Claim(claim.key.clone())),
            Observed::ClaimGone(key) => self.note_object(&ObjectKey::Claim(key)),
            Observed::Class(_)
            | Observed::ClassGone(_)
            | Observed::Pod(_)
            | Observed::PodGone(_)
            | Observed::Namespace(_)
            | Observed::NamespaceGone(_) => {}
        }
    }

    fn on_list_started(&self, _: ResourceKind) {}

    fn on_listed(&self, _: ResourceKind, _: ResourceVersion) {}

    fn on_unreadable(&self, _: ResourceKind, unreadable: Unreadable) {
        panic!("the product cannot read {unreadable:?}");
    }

    fn on_activity(&self, _: ResourceKind, _: u64) {}
}

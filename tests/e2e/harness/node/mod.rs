//! A node that runs pods as plain processes: what a kubelet does, as far as an installation of Bindery notices it.
//!
//! Every pod has a network and a file system of its own, into which its volumes are mounted as a kubelet does:
//! tokens by the API server, configuration and Secrets that follow their objects. Containers run as the numbers, with
//! the arguments and without the rights that their pod asks for; probes decide when they are ready; terminated
//! they have their time. So what is proven is what the chart renders and the API server stores, not a copy of it.
//!
//! Not here: images (every image is the binary under test), scheduling, limits of memory or time.

mod container;
mod pod;
mod sandbox;
mod volumes;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use self::pod::Pod;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Plane};

/// Between two looks at the pods.
const LOOK: Duration = Duration::from_millis(100);

/// The name under which pods are bound.
const NAME: &str = "player";

/// How a node treats pods; a case changes it while it runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    /// How long after a change of readiness it is reported: endpoints learn of it that much later.
    pub(crate) reports_after: Duration,
    /// How long after a change of a `ConfigMap` or Secret it is mounted.
    pub(crate) mounts_after: Duration,
}

/// A node at work. Dropping it kills every container.
pub(crate) struct Node {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    plane: &'static Plane,
    namespace: String,
    habits: Mutex<Habits>,
    pods: Mutex<BTreeMap<String, Pod>>,
    stop: AtomicBool,
}

impl Node {
    /// Runs the pods of one namespace.
    pub(crate) fn start(plane: &'static Plane, namespace: &str) -> Self {
        let shared = Arc::new(Shared {
            plane,
            namespace: namespace.to_owned(),
            habits: Mutex::default(),
            pods: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        // Kubernetes: no endpoint is made for a pod whose node does not exist.
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME}});
        let made = plane.request(ADMIN, Method::POST, "/api/v1/nodes", Body::json(&node));
        assert!(matches!(made.code, 201 | 409), "{made}");
        let at_work = Arc::clone(&shared);
        let thread = thread::Builder::new().name("node".to_owned()).spawn(move || at_work.run());
        Self { shared, thread: Some(thread.expect("a thread")) }
    }

    /// From now on.
    pub(crate) fn set_habits(&self, habits: Habits) {
        *lock(&self.shared.habits) = habits;
    }

    /// The pods that run, in the order of their names.
    pub(crate) fn running(&self) -> Vec<Running> {
        lock(&self.shared.pods).values().filter_map(Pod::running).collect()
    }

    /// The processes of all containers.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let pods = self.running();
        pods.iter().flat_map(|pod| pod.processes.iter().map(|(_, id)| *id)).collect()
    }

    /// Ends every container, as when the node is unplugged.
    pub(crate) fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
        lock(&self.shared.pods).clear();
    }

    /// Returns what every container of every pod has ever logged.
    pub(crate) fn logs(&self) -> String {
        lock(&self.shared.pods).values().map(Pod::logs).collect()
    }
}

/// A pod that runs.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) address: String,
    /// The process whose network it has.
    pub(crate) network: u32,
    /// Of each container, in order: its name and process.
    pub(crate) processes: Vec<(String, u32)>,
}

impl Running {
    /// Returns what it answers on a plain port, if it does within a second.
    pub(crate) fn get(&self, port: u16, path: &str) -> Option<(u16, String)> {
        container::get(&self.address, port, path)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            // The API server may be away: pods go on.
            if let Ok(objects) = self.list() {
                self.reconcile(&objects);
            }
            thread::park_timeout(LOOK);
        }
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/pods{rest}", self.namespace)
    }

    fn list(&self) -> Result<Vec<Value>, String> {
        let reply = self.plane.try_request(ADMIN, Method::GET, &self.path(""), Body::none())?;
        match reply.json["items"].as_array() {
            Some(items) if reply.code == 200 => Ok(items.clone()),
            Some(_) | None => Err(reply.to_string()),
        }
    }

    fn reconcile(&self, objects: &[Value]) {
        let mut pods = lock(&self.pods);
        let name =
            |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        pods.retain(|known, _| objects.iter().any(|object| name(object) == *known));
        let habits = *lock(&self.habits);
        for object in objects {
            let name = name(object);
            let is_over =
                matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
            if !pods.contains_key(&name)
                && object["metadata"]["deletionTimestamp"].is_null()
                && !is_over
            {
                self.bind(object, &name);
                pods.insert(name.clone(), Pod::new(self.plane, object));
            }
            let is_gone = match pods.get_mut(&name) {
                Some(pod) => self.turn(pod, object, &name, habits),
                // It was terminated before it had begun.
                None => !is_over,
            };
            if is_gone {
                self.remove(&name);
            }
        }
    }

    /// One look at a pod; whether its object may go.
    fn turn(&self, pod: &mut Pod, object: &Value, name: &str, habits: Habits) -> bool {
        pod.look(object, habits);
        if let Some(status) = pod.news(habits) {
            let patch = Body::merge_patch(&json!({"status": status}));
            let path = self.path(&format!("/{name}/status"));
            let reported = self.plane.try_request(ADMIN, Method::PATCH, &path, patch);
            if reported.is_ok_and(|reply| reply.code == 200) {
                pod.reported();
            }
        }
        pod.is_gone()
    }

    fn bind(&self, object: &Value, name: &str) {
        if object["spec"]["nodeName"].is_string() {
            return;
        }
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": NAME},
        });
        let path = self.path(&format!("/{name}/binding"));
        // Rejected only if it is gone meanwhile.
        drop(self.plane.try_request(ADMIN, Method::POST, &path, Body::json(&binding)));
    }

    fn remove(&self, name: &str) {
        let now = Body::json(&json!({"gracePeriodSeconds": 0}));
        let path = self.path(&format!("/{name}"));
        drop(self.plane.try_request(ADMIN, Method::DELETE, &path, now));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! From the start of the process to readiness, with 20,000 objects in the cluster.

use std::thread;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::poll;
use crate::floors::{Row, median};
use crate::measured::Measured;
use crate::plane::{Body, Peers, Plane, persona};
use crate::serving::{Keys, Pinning, Server};
use crate::webhook;

/// Volumes, and as many claims.
const PAIRS: usize = 10_000;

/// Requests at once while they are made.
const WORKERS: usize = 16;

/// Starts; odd, so that the median is one of them.
const STARTS: usize = 5;

/// When a start counts as failed.
const READY: Duration = Duration::from_secs(30);

/// Makes the objects, then starts the webhook again and again.
pub(crate) fn measure() -> Result<Measured, String> {
    let plane = Plane::start(Peers::Alone)?;
    let keys = Keys::create(&plane)?;
    make_objects(&plane)?;
    let mut seconds = Vec::new();
    for _ in 0..STARTS {
        let begun = Instant::now();
        let server = Server::bindery(&keys, &plane.kubeconfig(persona::BINDERY), Pinning::Free)?;
        poll(READY, || webhook::is_ready(server.ports))?;
        seconds.push(begun.elapsed().as_secs_f64());
        eprintln!("  ready after {:.2} s", begun.elapsed().as_secs_f64());
    }
    let middle = median(seconds);
    Ok(vec![Row {
        id: "start-to-ready",
        what: format!("s from start to ready with {} objects", 2 * PAIRS),
        ours: format!("{middle:.2} s"),
        other: String::new(),
        figure: middle,
    }]
    .into())
}

fn make_objects(plane: &Plane) -> Result<(), String> {
    eprintln!("  making {} objects", 2 * PAIRS);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                scope.spawn(move || {
                    (worker..PAIRS).step_by(WORKERS).try_for_each(|number| make_pair(plane, number))
                })
            })
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| "a worker panicked".to_owned())?)
    })
}

fn make_pair(plane: &Plane, number: usize) -> Result<(), String> {
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": format!("c-{number}"), "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "many",
            "volumeName": format!("v-{number}"), "resources": {"requests": {"storage": "1Gi"}},
        },
    });
    let stored = create(plane, claims, &claim)?;
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": format!("v-{number}")},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "many",
            "nfs": {"server": "192.0.2.1", "path": format!("/v-{number}")},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default",
                "name": format!("c-{number}"), "uid": stored["metadata"]["uid"],
            },
        },
    });
    create(plane, "/api/v1/persistentvolumes", &volume).map(drop)
}

fn create(plane: &Plane, collection: &str, object: &Value) -> Result<Value, String> {
    let reply = plane.try_request(persona::ADMIN, Method::POST, collection, Body::json(object))?;
    if reply.code == 201 { Ok(reply.json) } else { Err(reply.to_string()) }
}

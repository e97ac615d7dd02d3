//! Writes through the API server that a webhook has to answer in one way: whatever else comes back has failed.
//!
//! Dry runs, so that nothing changes: a change of a bound volume, which guard must deny; a volume without a claim, which
//! advise must deny; and a claim that says of itself that it is bound, which must be put right.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use super::site::unclaimed_volume;
use crate::eventually::{eventually, wait};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Plane, Reply};
use crate::runner::extent;

/// Writers at work until they are stopped.
pub(super) struct Load {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    plane: &'static Plane,
    stop: AtomicBool,
    /// Whether the webhook may be gone: what it would deny or mutate may then pass as it is.
    may_be_gone: AtomicBool,
    asked: AtomicU64,
    began: Instant,
    failures: Mutex<Vec<(Duration, String)>>,
    /// Of each write, in microseconds.
    took: Mutex<Vec<u64>>,
}

/// What became of a load.
#[derive(Debug)]
pub(super) struct Tally {
    /// Calls of the webhook.
    pub(super) asked: u64,
    /// What went wrong, and when that was sent.
    pub(super) failures: Vec<(Duration, String)>,
    /// The time that one write in a hundred exceeds.
    pub(super) p99: Duration,
}

/// Between two writes of one writer: the machine has more to do than to answer them.
fn between_writes() -> Duration {
    Duration::from_millis(if extent().is_full { 20 } else { 60 })
}

/// The volume that guard protects.
pub(super) const BOUND: &str = "load-bound";

impl Load {
    /// Makes a bound pair and begins to write, so many writes at once.
    pub(super) fn start(plane: &'static Plane, writers: usize) -> Self {
        bind_a_pair(plane);
        let shared = Arc::new(Shared {
            plane,
            stop: AtomicBool::new(false),
            may_be_gone: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            began: Instant::now(),
            failures: Mutex::default(),
            took: Mutex::default(),
        });
        let threads = (0..writers)
            .map(|number| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.write(number))
            })
            .collect();
        Self { shared, threads }
    }

    /// The time since the first write.
    pub(super) fn time(&self) -> Duration {
        self.shared.began.elapsed()
    }

    /// From now on the webhook may be gone; but nothing may fail.
    pub(super) fn let_go(&self) {
        self.shared.may_be_gone.store(true, Ordering::Relaxed);
    }

    /// Returns how many calls have been made so far.
    pub(super) fn asked(&self) -> u64 {
        self.shared.asked.load(Ordering::Relaxed)
    }

    /// Stops, and returns what became of all writes.
    pub(super) fn stop(self) -> Tally {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("a writer does not panic");
        }
        let mut took = std::mem::take(&mut *self.shared.took.lock().expect("no holder panics"));
        took.sort_unstable();
        let p99 = took.get(took.len() * 99 / 100).copied().unwrap_or_default();
        Tally {
            asked: self.shared.asked.load(Ordering::Relaxed),
            failures: std::mem::take(&mut *self.shared.failures.lock().expect("no holder panics")),
            p99: Duration::from_micros(p99),
        }
    }
}

impl Shared {
    fn write(&self, number: usize) {
        for turn in number.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let (sent, at) = (Instant::now(), self.began.elapsed());
            let failure = match turn % 3 {
                0 => self.guarded(),
                1 => self.advised(),
                _ => self.mutated(),
            };
            let micros = u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.took.lock().expect("no holder panics").push(micros);
            self.asked.fetch_add(1, Ordering::Relaxed);
            if let Err(failure) = failure {
                self.failures.lock().expect("no holder panics").push((at, failure));
            }
            wait(between_writes());
        }
    }

    fn guarded(&self) -> Result<(), String> {
        let path = format!("/api/v1/persistentvolumes/{BOUND}?dryRun=All");
        let patch = Body::merge_patch(&json!({"spec": {"capacity": {"storage": "1Mi"}}}));
        let reply = self.plane.try_request(ADMIN, Method::PATCH, &path, patch)?;
        self.denied(&reply, "bound-volume-capacity")
    }

    fn advised(&self) -> Result<(), String> {
        let body = Body::json(&unclaimed_volume());
        let path = "/api/v1/persistentvolumes?dryRun=All";
        let reply = self.plane.try_request(ADMIN, Method::POST, path, body)?;
        self.denied(&reply, "prebind-incomplete")
    }

    fn mutated(&self) -> Result<(), String> {
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "mutated", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "",
                     "resources": {"requests": {"storage": "1Gi"}}},
        });
        let path = "/api/v1/namespaces/default/persistentvolumeclaims?dryRun=All";
        let reply = self.plane.try_request(ADMIN, Method::POST, path, Body::json(&claim))?;
        let note = "/metadata/annotations/pv.kubernetes.io~1bind-completed";
        let is_mutated = reply.json.pointer(note).is_none();
        if reply.code == 201 && (is_mutated || self.may_be_gone.load(Ordering::Relaxed)) {
            return Ok(());
        }
        Err(format!("not mutated: {reply}"))
    }

    fn denied(&self, reply: &Reply, rule: &str) -> Result<(), String> {
        let is_denied = reply.code == 403 && reply.text.contains(&format!("[{rule}]"));
        let passes = matches!(reply.code, 200 | 201);
        if is_denied || (passes && self.may_be_gone.load(Ordering::Relaxed)) {
            return Ok(());
        }
        Err(format!("not denied by {rule}: {reply}"))
    }
}

/// A volume and a claim that Kubernetes' own binder marries; the volume.
pub(super) fn bind_a_pair(plane: &Plane) -> Value {
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": BOUND},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "load",
                 "nfs": {"server": "192.0.2.1", "path": "/load"}},
    });
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": BOUND},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "load",
                 "resources": {"requests": {"storage": "1Gi"}}},
    });
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    for (collection, object) in [("/api/v1/persistentvolumes", volume), (claims, claim)] {
        let made = plane.request(ADMIN, Method::POST, collection, Body::json(&object));
        assert!(matches!(made.code, 201 | 409), "{made}");
    }
    eventually("the pair is bound", Duration::from_secs(30), || {
        let volume = plane.get(ADMIN, &format!("/api/v1/persistentvolumes/{BOUND}")).expect_ok();
        if volume["status"]["phase"] == "Bound" {
            Ok(volume)
        } else {
            Err(volume["status"].to_string())
        }
    })
}

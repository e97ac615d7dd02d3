//! The controller's memory with 100,000 volumes and 100,000 claims: the real process, fed by a server on
//! a loopback port that has nothing but them.

use std::thread;
use std::time::{Duration, Instant};

use bindery::cluster::resource::Watched;
use serde_json::{Value, json};

use crate::contender::controller;
use crate::feed::Feed;
use crate::floors::Row;
use crate::plane::folder::Folder;
use crate::plane::process::Process;
use crate::process;
use crate::race::pairs_count;

/// Pairs.
const PAIRS: usize = 100_000;

/// How long taking everything in may take.
const PATIENCE: Duration = Duration::from_mins(3);

/// The process is at rest when it took less than a fiftieth of a core for this long.
const REST: Duration = Duration::from_secs(2);

/// Measures the peak from the start until the process is at rest.
pub(crate) fn measure() -> Result<Vec<Row>, String> {
    let count = pairs_count(PAIRS)?;
    let feed = Feed::start(count, volume, claim)?;
    let folder = Folder::create()?;
    let kubeconfig = folder.write("kubeconfig", &feed.kubeconfig())?;
    let started = Instant::now();
    let controller = controller(&kubeconfig, &folder)?;
    let rested = rest(&feed, &controller, started);
    let id = controller.id();
    let memory = (process::resident(id)? / 1e6, process::peak(id)? / 1e6);
    let log = controller.log_tail();
    controller.stop(Duration::ZERO);
    folder.remove();
    let seconds = rested.map_err(|sentence| format!("{sentence}; {log}"))?;
    let (now, peak) = memory;
    let what = format!("MB of the controller, peak, {} objects", 2 * count);
    eprintln!("  {what}: {peak:.1}, at rest {now:.1}, {seconds:.1} s of processor time");
    Ok(vec![Row {
        id: "memory-of-many",
        what,
        ours: format!("{peak:.1} MB, now {now:.1} MB"),
        other: "fed over a loopback port".to_owned(),
        figure: peak,
    }])
}

/// Waits until everything was taken in; the processor time that it took.
fn rest(feed: &Feed, controller: &Process, started: Instant) -> Result<f64, String> {
    let mut before = 0.0;
    while started.elapsed() < PATIENCE {
        thread::park_timeout(REST);
        let now = process::processor_seconds([controller.id()])?;
        let is_quiet = now - before < REST.as_secs_f64() / 50.0;
        if is_quiet && feed.complete() >= Watched::ALL.len() {
            let refused = feed.refused();
            return if refused.is_empty() {
                Ok(now)
            } else {
                Err(format!("bound pairs need nothing, but the controller sent: {refused:?}"))
            };
        }
        before = now;
    }
    Err(format!("the controller did not come to rest within {PATIENCE:?}"))
}

fn uid(kind: u8, number: usize) -> String {
    format!("{kind:08x}-0000-4000-8000-{number:012}")
}

/// What the API server notes of who wrote which field; as long as after a real bind.
fn managed_fields() -> Value {
    let fields = json!({"f:metadata": {"f:annotations": {".": {}, "f:pv.kubernetes.io/bound-by-controller": {}}},
        "f:spec": {"f:accessModes": {}, "f:resources": {"f:requests": {".": {}, "f:storage": {}}},
            "f:storageClassName": {}, "f:volumeMode": {}, "f:volumeName": {}}});
    json!([
        {"manager": "kubectl-create", "operation": "Update", "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields},
        {"manager": "bindery-controller", "operation": "Update", "apiVersion": "v1",
            "time": "2026-01-01T00:00:01Z", "fieldsType": "FieldsV1", "fieldsV1": fields},
    ])
}

fn volume(number: usize) -> Value {
    let name = format!("pv-{number:06}");
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "name": name, "uid": uid(1, number), "resourceVersion": (200_000 + number).to_string(),
            "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": managed_fields(),
            "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
            "finalizers": ["kubernetes.io/pv-protection"],
        },
        "spec": {
            "capacity": {"storage": format!("{}Mi", 1024 + number)}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "many",
            "volumeMode": "Filesystem", "nfs": {"server": "192.0.2.1", "path": format!("/{name}")},
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default",
                "name": format!("data-{number:06}"), "uid": uid(2, number),
                "resourceVersion": (100_000 + number).to_string()},
        },
        "status": {"phase": "Bound", "lastPhaseTransitionTime": "2026-01-01T00:00:01Z"},
    })
}

fn claim(number: usize) -> Value {
    let size = format!("{}Mi", 1024 + number);
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": format!("data-{number:06}"), "namespace": "default", "uid": uid(2, number),
            "resourceVersion": (300_000 + number).to_string(),
            "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": managed_fields(),
            "annotations": {"pv.kubernetes.io/bind-completed": "yes",
                "pv.kubernetes.io/bound-by-controller": "yes"},
            "finalizers": ["kubernetes.io/pvc-protection"],
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}},
            "storageClassName": "many", "volumeMode": "Filesystem",
            "volumeName": format!("pv-{number:06}"),
        },
        "status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}},
    })
}

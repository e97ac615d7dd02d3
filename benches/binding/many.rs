//! The memory of controller and webhook in clusters of up to 100,000 volumes and 100,000 claims: the real
//! processes, fed by a server on a loopback port that has nothing but them.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::competitor::{controller, webhook};
use crate::extent::pairs_count;
use crate::feed::Feed;
use crate::floors::Row;
use crate::measured::{Measured, growth};
use crate::plane::folder::Folder;
use crate::plane::process::Process;
use crate::process;

/// Pairs. The largest cluster is what the floors are for; the others help to plan a smaller one.
const PAIRS: [usize; 4] = [1_000, 10_000, 50_000, 100_000];

/// How long taking everything in may take.
const PATIENCE: Duration = Duration::from_mins(3);

/// The process is at rest when it took less than a fiftieth of a core for this long.
const REST: Duration = Duration::from_secs(2);

/// How one of them is started for a cluster.
type Start = fn(&Path, &Folder) -> Result<Process, String>;

/// Measures the peaks from the start until each process is at rest.
pub(crate) fn measure() -> Result<Measured, String> {
    let programs: [(&str, &str, Start); 2] = [
        ("memory-of-many", "controller", controller),
        ("memory-of-webhook", "webhook", |kubeconfig, folder| {
            webhook(kubeconfig, folder).map(|(process, ..)| process)
        }),
    ];
    let mut rows = Vec::new();
    let mut lines = programs.map(|(_, name, _)| (name, Vec::new()));
    for ((id, name, start), (_, line)) in programs.into_iter().zip(&mut lines) {
        let mut row = None;
        for count in PAIRS {
            let measured = measured(id, name, start, pairs_count(count)?)?;
            line.push((2.0 * count as f64, measured.figure));
            row = Some(measured);
        }
        rows.extend(row);
    }
    Ok(Measured::from(rows).with(growth("MB, by PVs and PVCs", lines)))
}

fn measured(row: &'static str, name: &str, start: Start, count: usize) -> Result<Row, String> {
    let feed = Feed::start(count, volume, claim)?;
    let folder = Folder::create()?;
    let kubeconfig = folder.write("kubeconfig", &feed.kubeconfig())?;
    let started = Instant::now();
    let process = start(&kubeconfig, &folder)?;
    let rested = rest(&feed, &process, started);
    let id = process.id();
    let (now, peak) = (process::resident(id)? / 1e6, process::peak(id)? / 1e6);
    let log = process.log_tail();
    process.stop(Duration::ZERO);
    folder.remove();
    let seconds = rested.map_err(|sentence| format!("the {name} {sentence}; {log}"))?;
    let what = format!("MB of the {name}, peak, {} objects", 2 * count);
    eprintln!("  {what}: {peak:.1}, at rest {now:.1}, {seconds:.1} s of processor time");
    Ok(Row {
        id: row,
        what,
        ours: format!("{peak:.1} MB, now {now:.1} MB"),
        other: "fed over a loopback port".to_owned(),
        figure: peak,
    })
}

/// Waits until everything was taken in; the processor time that it took.
fn rest(feed: &Feed, process: &Process, started: Instant) -> Result<f64, String> {
    let mut before = 0.0;
    while started.elapsed() < PATIENCE {
        thread::park_timeout(REST);
        let now = process::processor_seconds([process.id()])?;
        let is_quiet = now - before < REST.as_secs_f64() / 50.0;
        if is_quiet && feed.is_complete() {
            let denied = feed.denied();
            return if denied.is_empty() {
                Ok(now)
            } else {
                Err(format!("sent what bound pairs do not need: {denied:?}"))
            };
        }
        before = now;
    }
    Err(format!("did not come to rest within {PATIENCE:?}"))
}

fn uid(kind: u8, number: usize) -> String {
    format!("{kind:08x}-0000-4000-8000-{number:012}")
}

/// Returns what the API server notes of who wrote which field; as long as after a real bind.
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

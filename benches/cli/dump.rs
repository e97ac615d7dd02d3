//! A dump of a large cluster as kubectl writes it: made again for each run, always the same.
//!
//! Shared by benches. The numbers of a volume and of a claim are spread by multiplication with primes, so
//! that neighbours differ in class, size, label and age as they do in a cluster.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};

/// Writes a List of `count` free volumes and as many claims that wait, of which a tenth select by label.
/// There are enough volumes for each kind of claim.
pub(crate) fn write(out: &mut impl Write, count: usize) -> io::Result<()> {
    out.write_all(b"{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n")?;
    for number in 0..CLASSES {
        item(out, number > 0, &storage_class(number))?;
    }
    for number in 0..count {
        item(out, true, &volume(number))?;
    }
    for number in 0..count {
        item(out, true, &claim(number))?;
    }
    out.write_all(
        b"\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\"resourceVersion\": \"\"}\n}\n",
    )
}

fn item(out: &mut impl Write, is_next: bool, object: &Value) -> io::Result<()> {
    if is_next {
        out.write_all(b",\n")?;
    }
    let mut serializer =
        Serializer::with_formatter(&mut *out, PrettyFormatter::with_indent(b"    "));
    object.serialize(&mut serializer).map_err(io::Error::from)
}

/// The classes of volumes and claims; none has a provisioner.
const CLASSES: usize = 5;

fn storage_class(number: usize) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": class(number)},
        "provisioner": "kubernetes.io/no-provisioner",
    })
}

fn volume(number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "creationTimestamp": time(number), "finalizers": ["kubernetes.io/pv-protection"],
            "labels": {"tier": tier(number), "zone": format!("zone-{}", number % 3)},
            "name": format!("pv-{number:06}"), "resourceVersion": number.to_string(),
            "uid": format!("00000000-0000-4000-8000-{number:012}"),
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": size(number * 7_919)},
            "nfs": {"path": format!("/exports/pv-{number:06}"), "server": "192.0.2.10"},
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": class(number),
            "volumeMode": "Filesystem",
        },
        "status": {"lastPhaseTransitionTime": time(number), "phase": "Available"},
    })
}

fn claim(number: usize) -> Value {
    let mut claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "creationTimestamp": time(number * 31), "finalizers": ["kubernetes.io/pvc-protection"],
            "labels": {"app": format!("app-{}", number % 50)}, "name": format!("data-{number:06}"),
            "namespace": format!("team-{:03}", number % 200), "resourceVersion": number.to_string(),
            "uid": format!("00000000-0000-4000-9000-{number:012}"),
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size(number * 104_729)}},
            "storageClassName": class(number), "volumeMode": "Filesystem",
        },
        "status": {"phase": "Pending"},
    });
    if number.is_multiple_of(10) {
        claim["spec"]["selector"] = json!({"matchLabels": {"tier": tier(number)}});
    }
    claim
}

fn size(spread: usize) -> String {
    format!("{}Gi", 1 + spread % 100)
}

fn class(number: usize) -> String {
    format!("class-{}", number % CLASSES)
}

fn tier(number: usize) -> String {
    format!("tier-{}", number % 7)
}

fn time(number: usize) -> String {
    format!("2026-01-{:02}T{:02}:{:02}:00Z", 1 + number % 28, number % 24, number % 60)
}

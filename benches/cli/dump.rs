//! A dump of a large cluster as kubectl writes it: made again for each run, always the same.
//!
//! The numbers of a volume and of a claim are spread by multiplication with primes, so
//! that neighbours differ in class, size, label and age as they do in a cluster.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};

/// What the objects of a dump are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cluster {
    /// Free volumes and claims that wait, of which a tenth select by label. There are enough volumes for each kind of
    /// claim.
    Waiting,
    /// Pairs that are bound.
    Bound,
}

/// Writes a List of `count` volumes and as many claims.
pub(crate) fn write(out: &mut impl Write, cluster: Cluster, count: usize) -> io::Result<()> {
    out.write_all(b"{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n")?;
    for number in 0..CLASSES {
        item(out, number > 0, &storage_class(number))?;
    }
    for number in 0..count {
        item(out, true, &volume(cluster, number))?;
    }
    for number in 0..count {
        item(out, true, &claim(cluster, number))?;
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

fn volume(cluster: Cluster, number: usize) -> Value {
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "creationTimestamp": time(number), "finalizers": ["kubernetes.io/pv-protection"],
            "labels": {"tier": tier(number), "zone": format!("zone-{}", number % 3)},
            "name": volume_name(number), "resourceVersion": number.to_string(),
            "uid": format!("00000000-0000-4000-8000-{number:012}"),
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": size(number * 7_919)},
            "nfs": {"path": format!("/exports/pv-{number:06}"), "server": "192.0.2.10"},
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": class(number),
            "volumeMode": "Filesystem",
        },
        "status": {"lastPhaseTransitionTime": time(number), "phase": "Available"},
    });
    if cluster == Cluster::Bound {
        volume["metadata"]["annotations"] = json!({"pv.kubernetes.io/bound-by-controller": "yes"});
        volume["spec"]["claimRef"] = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": claim_name(number),
            "namespace": namespace(number), "resourceVersion": number.to_string(),
            "uid": claim_uid(number),
        });
        volume["status"]["phase"] = json!("Bound");
    }
    volume
}

fn claim(cluster: Cluster, number: usize) -> Value {
    let mut claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "creationTimestamp": time(number * 31), "finalizers": ["kubernetes.io/pvc-protection"],
            "labels": {"app": app(number)}, "name": claim_name(number), "namespace": namespace(number),
            "resourceVersion": number.to_string(), "uid": claim_uid(number),
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size(number * 104_729)}},
            "storageClassName": class(number), "volumeMode": "Filesystem",
        },
        "status": {"phase": "Pending"},
    });
    match cluster {
        Cluster::Waiting if number.is_multiple_of(10) => {
            claim["spec"]["selector"] = json!({"matchLabels": {"tier": tier(number)}});
        }
        Cluster::Waiting => {}
        Cluster::Bound => {
            claim["metadata"]["annotations"] = json!({
                "pv.kubernetes.io/bind-completed": "yes",
                "pv.kubernetes.io/bound-by-controller": "yes",
            });
            claim["spec"]["resources"]["requests"]["storage"] = json!(size(number * 7_919));
            claim["spec"]["volumeName"] = json!(volume_name(number));
            claim["status"] = json!({
                "accessModes": ["ReadWriteOnce"], "capacity": {"storage": size(number * 7_919)},
                "phase": "Bound",
            });
        }
    }
    claim
}

/// Writes the manifests of a repository, a file each: those of `count` claims and volumes that are bound in the dump, as
/// people write them.
pub(crate) fn write_manifests(folder: &Path, count: usize) -> io::Result<()> {
    for number in 0..count / 2 {
        fs::write(folder.join(format!("pvc-{number}.yaml")), claim_manifest(number))?;
        fs::write(folder.join(format!("pv-{number}.yaml")), volume_manifest(number))?;
    }
    Ok(())
}

fn claim_manifest(number: usize) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: {}\n  namespace: {}\n  labels:\n    app: {}\n\
         spec:\n  accessModes:\n    - ReadWriteOnce\n  storageClassName: {}\n  resources:\n    requests:\n      \
         storage: {}\n",
        claim_name(number),
        namespace(number),
        app(number),
        class(number),
        size(number * 7_919),
    )
}

fn volume_manifest(number: usize) -> String {
    let name = volume_name(number);
    format!(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: {name}\n  labels:\n    tier: {}\nspec:\n  \
         accessModes:\n    - ReadWriteOnce\n  capacity:\n    storage: {}\n  nfs:\n    path: /exports/{name}\n    \
         server: 192.0.2.10\n  persistentVolumeReclaimPolicy: Retain\n  storageClassName: {}\n",
        tier(number),
        size(number * 7_919),
        class(number),
    )
}

fn volume_name(number: usize) -> String {
    format!("pv-{number:06}")
}

fn claim_name(number: usize) -> String {
    format!("data-{number:06}")
}

fn claim_uid(number: usize) -> String {
    format!("00000000-0000-4000-9000-{number:012}")
}

fn namespace(number: usize) -> String {
    format!("team-{:03}", number % 200)
}

fn app(number: usize) -> String {
    format!("app-{}", number % 50)
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

//! The objects of a cluster by number: never all in memory, so that what is measured is the store and nothing beside it.
//!
//! Of fifty pairs 49 are bound. Of the last one the volume is Available, and the claim is Pending, as it wants more than
//! any volume has. Names and uids are as long and as disordered as those that a provisioner and an API server make.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::template::Template;

/// Every so manieth pair is not bound.
const UNBOUND_EVERY: usize = 50;

/// Claims of a namespace.
const CLAIMS_OF_NAMESPACE: usize = 1_000;

/// Classes, all without a provisioner.
const CLASSES: usize = 10;

/// The classes of the cluster, and one for [`MARKERS`].
pub(crate) const ALL_CLASSES: usize = CLASSES + 1;

/// From this number on, volumes and claims have a class of their own: what becomes of them says how far the work has come,
/// and nothing else is affected.
pub(crate) const MARKERS: usize = 100_000_000;

/// The objects of one kind, by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Objects {
    /// How many there are.
    pub(crate) count: usize,
    /// The text of each.
    pub(crate) text: fn(usize) -> String,
}

impl Objects {
    /// None.
    pub(crate) const NONE: Self = Self { count: 0, text: |_| String::new() };
}

/// A volume as it is to be; the rest follows from its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VolumeState<'a> {
    /// Its resourceVersion.
    pub(crate) version: u64,
    /// What an annotation says: whatever changes it changes nothing that a decision reads.
    pub(crate) note: &'a str,
    /// Its phase.
    pub(crate) phase: &'a str,
    /// Whether its claim has it.
    pub(crate) is_bound: bool,
}

/// The name of a volume: the provisioner's, with the number at its end.
pub(crate) fn volume_name(number: usize) -> String {
    format!("pvc-{}", uid(1, number))
}

/// The namespace of a claim.
pub(crate) fn namespace_name(number: usize) -> String {
    format!("team-{:04}", number / CLAIMS_OF_NAMESPACE)
}

/// The name of a claim.
pub(crate) fn claim_name(number: usize) -> String {
    format!("data-orders-db-{number}")
}

/// The path of a claim.
pub(crate) fn claim_path(number: usize) -> String {
    let (namespace, name) = (namespace_name(number), claim_name(number));
    format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}")
}

/// The path of a volume.
pub(crate) fn volume_path(number: usize) -> String {
    format!("/api/v1/persistentvolumes/{}", volume_name(number))
}

/// The number at the end of a name.
pub(crate) fn number_in(path: &str) -> Option<usize> {
    path.rsplit_once('-')?.1.parse().ok()
}

/// Whether the pair is bound.
pub(crate) fn is_bound(number: usize) -> bool {
    !number.is_multiple_of(UNBOUND_EVERY)
}

/// The volume of this number as the cluster has it in the beginning.
pub(crate) fn volume(number: usize) -> String {
    let is_bound = is_bound(number);
    let phase = if is_bound { "Bound" } else { "Available" };
    volume_in(number, VolumeState { version: 1, note: "daily", phase, is_bound })
}

/// The volume of this number in this state.
pub(crate) fn volume_in(number: usize, state: VolumeState<'_>) -> String {
    let template = if state.is_bound { &*HELD_VOLUME } else { &*FREE_VOLUME };
    let (version, size) = (version(number, state.version), size(number));
    let (namespace, claim) = (namespace_name(number), claim_name(number));
    template.fill(&[
        &volume_name(number),
        &uid(2, number),
        &version,
        &class_name(number),
        &size,
        state.phase,
        state.note,
        &namespace,
        &claim,
        &uid(3, number),
    ])
}

/// The claim of this number as the cluster has it in the beginning.
pub(crate) fn claim(number: usize) -> String {
    if is_bound(number) {
        bound_claim(number, 1, "orders")
    } else {
        pending_claim(number, "9Ti", "2026-01-01T00:00:00Z")
    }
}

/// The claim of this number, bound.
pub(crate) fn bound_claim(number: usize, newer: u64, note: &str) -> String {
    BOUND_CLAIM.fill(&[
        &claim_name(number),
        &uid(3, number),
        &version(number, newer),
        &class_name(number),
        &size(number),
        &namespace_name(number),
        note,
        &volume_name(number),
    ])
}

/// The claim of this number, waiting for a volume of this size.
pub(crate) fn pending_claim(number: usize, size: &str, created: &str) -> String {
    PENDING_CLAIM.fill(&[
        &claim_name(number),
        &uid(3, number),
        &version(number, 1),
        &class_name(number),
        size,
        &namespace_name(number),
        created,
    ])
}

/// The class of this number.
pub(crate) fn class(number: usize) -> String {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": format!("fast-{number}"), "resourceVersion": "1"},
        "provisioner": "kubernetes.io/no-provisioner"})
    .to_string()
}

/// The namespaces of so many claims.
pub(crate) fn namespaces_of(claims: usize) -> usize {
    claims.div_ceil(CLAIMS_OF_NAMESPACE)
}

/// The namespace of this number.
pub(crate) fn namespace(number: usize) -> String {
    let name = namespace_name(number * CLAIMS_OF_NAMESPACE);
    json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "resourceVersion": "1",
            "labels": {"kubernetes.io/metadata.name": name}}})
    .to_string()
}

/// The size of a volume.
pub(crate) fn size(number: usize) -> String {
    format!("{}Gi", 1 + number / (UNBOUND_EVERY * CLASSES) % 100)
}

/// Those that are not bound have all classes and sizes too.
fn class_name(number: usize) -> String {
    let class = if number < MARKERS { number / UNBOUND_EVERY % CLASSES } else { CLASSES };
    format!("fast-{class}")
}

/// A resourceVersion: the first, or a newer one.
pub(crate) fn version(number: usize, newer: u64) -> String {
    (1_000_000_000 * newer + number as u64).to_string()
}

/// A uid of a kind of object: looks like any other and has the number at its end.
pub(crate) fn uid(kind: u64, number: usize) -> String {
    // Multiplied by an odd number, numbers are spread over all of 64 bits and stay apart.
    let spread = ((kind << 60) ^ (number as u64 + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (head, middle, tail) = (spread >> 32, (spread >> 20) & 0xfff, (spread >> 8) & 0xfff);
    format!("{head:08x}-{middle:04x}-4{tail:03x}-8000-{number:012}")
}

/// What the API server notes of who wrote which field; as long as after a real bind.
fn managed_fields() -> Value {
    let fields = json!({"f:metadata": {"f:annotations": {".": {}, "f:pv.kubernetes.io/bound-by-controller": {}}},
        "f:spec": {"f:accessModes": {}, "f:resources": {"f:requests": {".": {}, "f:storage": {}}},
            "f:storageClassName": {}, "f:volumeMode": {}, "f:volumeName": {}}});
    let entry = |manager: &str| {
        json!({"manager": manager, "operation": "Update", "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields})
    };
    json!([entry("external-provisioner"), entry("bindery-controller")])
}

static FREE_VOLUME: LazyLock<Template> = LazyLock::new(|| Template::of(&free_volume()));

static HELD_VOLUME: LazyLock<Template> = LazyLock::new(|| {
    let mut held = free_volume();
    held["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] = json!("yes");
    held["spec"]["claimRef"] = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "namespace": "$h", "name": "$i", "uid": "$j", "resourceVersion": "1000"});
    Template::of(&held)
});

/// A free volume: name, uid, resourceVersion, class, size, phase and note are to be filled in.
pub(crate) fn free_volume() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "name": "$a", "uid": "$b", "resourceVersion": "$c",
            "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": managed_fields(),
            "annotations": {"example.com/backup": "$g", "pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com"},
            "finalizers": ["kubernetes.io/pv-protection"],
        },
        "spec": {
            "capacity": {"storage": "$e"}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "$d",
            "volumeMode": "Filesystem",
            "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-$b", "fsType": "ext4"},
        },
        "status": {"phase": "$f", "lastPhaseTransitionTime": "2026-01-01T00:00:01Z"},
    })
}

static PENDING_CLAIM: LazyLock<Template> = LazyLock::new(|| Template::of(&claim_without_volume()));

static BOUND_CLAIM: LazyLock<Template> = LazyLock::new(|| {
    let mut bound = claim_without_volume();
    bound["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    bound["metadata"]["annotations"] = json!({"example.com/owner": "$g",
        "pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"});
    bound["spec"]["volumeName"] = json!("$h");
    bound["status"] = json!({"phase": "Bound", "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "$e"}});
    Template::of(&bound)
});

/// A claim that waits: name, uid, resourceVersion, class, size, namespace and time are to be filled in.
pub(crate) fn claim_without_volume() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "$a", "namespace": "$f", "uid": "$b", "resourceVersion": "$c",
            "creationTimestamp": "$g", "managedFields": managed_fields(),
            "finalizers": ["kubernetes.io/pvc-protection"],
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "$e"}},
            "storageClassName": "$d", "volumeMode": "Filesystem",
        },
        "status": {"phase": "Pending"},
    })
}

//! The objects of crowded clusters: thousands in one namespace, of one class, or around one volume or claim.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::objects::{
    self, ALL_CLASSES, claim_name, claim_without_volume, free_volume, uid, version, volume_name,
};
use crate::template::Template;

/// The namespace in which all of them are.
const NAMESPACE: &str = "crowd";

/// The class of all of them, which binds at once.
const CLASS: &str = "fast-0";

/// The class whose claims wait for a pod.
const DELAYED: &str = "delayed";

/// The size of every volume, and more than any has.
const SIZE: &str = "1Ti";
const TOO_LARGE: &str = "9Ti";

/// Claims that are Pending where it is about those that are bound.
pub(crate) const FEW: usize = 200;

/// A Pending claim that no volume is large enough for.
pub(crate) fn waiting_claim(number: usize, newer: u64) -> String {
    claim(&WAITING, number, (CLASS, TOO_LARGE), newer)
}

/// A Pending claim of a class that waits for a pod.
pub(crate) fn delayed_claim(number: usize) -> String {
    claim(&WAITING, number, (DELAYED, SIZE), 1)
}

/// The claim that has the first volume, and after it Pending ones that name it too.
pub(crate) fn naming_claim(number: usize) -> String {
    if number == 0 { holder(0, 1) } else { claim(&NAMING, number, (CLASS, SIZE), 1) }
}

/// A claim that has the volume of its number.
pub(crate) fn holder(number: usize, newer: u64) -> String {
    claim(&HOLDER, number, (CLASS, SIZE), newer)
}

/// One of [`FEW`] that wait, or of any number that do not.
pub(crate) fn claim_of_class(number: usize) -> String {
    if number < FEW { waiting_claim(number, 1) } else { holder(number, 1) }
}

/// The volume that the claim of its number has.
pub(crate) fn held_volume(number: usize, newer: u64) -> String {
    volume(&HELD, number, "Bound", newer)
}

/// A volume that is reserved for the first claim by name.
pub(crate) fn reserved_volume(number: usize, newer: u64) -> String {
    volume(&RESERVED, number, "Available", newer)
}

/// The volume of the first claim, and others that are reserved for it by name.
pub(crate) fn volume_of_claim(number: usize) -> String {
    if number == 0 { held_volume(0, 1) } else { reserved_volume(number, 1) }
}

/// A pod that waits for a node and uses the claim of its number.
pub(crate) fn pod(number: usize, newer: u64) -> String {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("orders-db-{number}"), "namespace": NAMESPACE,
            "uid": uid(4, number), "resourceVersion": version(number, newer)},
        "spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim_name(number)}}]},
        "status": {"phase": "Pending"},
    })
    .to_string()
}

/// The class of all of them.
pub(crate) fn class(newer: u64) -> String {
    class_of_mode(CLASS, "Immediate", newer)
}

/// A class of any cluster, or after those the one whose claims wait for a pod.
pub(crate) fn any_class(number: usize) -> String {
    if number < ALL_CLASSES {
        objects::class(number)
    } else {
        class_of_mode(DELAYED, "WaitForFirstConsumer", 1)
    }
}

/// The namespace of all of them, each time of another tenant.
pub(crate) fn namespace(tenant: u64) -> String {
    json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "resourceVersion": version(0, tenant),
            "labels": {"bindery.dev/tenant": format!("tenant-{tenant}")}}})
    .to_string()
}

fn class_of_mode(name: &str, mode: &str, newer: u64) -> String {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": name, "resourceVersion": version(0, newer)},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": mode})
    .to_string()
}

fn claim(template: &Template, number: usize, (class, size): (&str, &str), newer: u64) -> String {
    let (name, uid, version) = (claim_name(number), uid(3, number), version(number, newer));
    let (created, volume) = ("2026-01-01T00:00:00Z", volume_name(number));
    template.fill(&[&name, &uid, &version, class, size, NAMESPACE, created, &volume])
}

fn volume(template: &Template, number: usize, phase: &str, newer: u64) -> String {
    let (name, version, note) =
        (volume_name(number), version(number, newer), format!("backup-{newer}"));
    let (uid, claim, holder) = (uid(2, number), claim_name(number), uid(3, number));
    template.fill(&[&name, &uid, &version, CLASS, SIZE, phase, &note, &claim, &holder])
}

static WAITING: LazyLock<Template> = LazyLock::new(|| Template::of(&claim_without_volume()));

static NAMING: LazyLock<Template> = LazyLock::new(|| {
    let mut naming = claim_without_volume();
    naming["spec"]["volumeName"] = Value::from(volume_name(0));
    Template::of(&naming)
});

static HOLDER: LazyLock<Template> = LazyLock::new(|| {
    let mut holder = claim_without_volume();
    holder["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
    holder["spec"]["volumeName"] = json!("$h");
    holder["status"] = json!({"phase": "Bound", "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "$e"}});
    Template::of(&holder)
});

static HELD: LazyLock<Template> =
    LazyLock::new(|| reserved(&json!({"namespace": NAMESPACE, "name": "$h", "uid": "$i"})));

static RESERVED: LazyLock<Template> =
    LazyLock::new(|| reserved(&json!({"namespace": NAMESPACE, "name": claim_name(0)})));

fn reserved(reference: &Value) -> Template {
    let mut volume = free_volume();
    volume["spec"]["claimRef"] = reference.clone();
    Template::of(&volume)
}

//! How a pair comes together: in any order, named by either side, half made, chosen by the scheduler.

use bindery::controller::mode::ControllerMode;
use serde_json::{Value, json};

use crate::fault_matrix::path::{
    Act, Path, all, change_claim, change_volume, claim, delete_claim, held, marked, named, pod,
    volume,
};

const AVAILABLE: &str = "volume Available";
const RESERVE: &str = "reserve a volume";
const COMPLETE: &str = "complete a reservation";
const BOUND: &str = "volume Bound";
const NAME: &str = "name a volume";
const CLAIM_BOUND: &str = "claim Bound";
const RELEASED: &str = "volume Released";

const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

pub(super) fn paths() -> Vec<Path> {
    let none = json!({});
    let on_node = json!({"spec": {
        "storageClassName": "local", "nfs": null, "local": {"path": "/mnt/disk"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-a"]}]}]}},
    }});
    let delayed = json!({"spec": {"storageClassName": "local"}});
    let prebind = Path::from("beside-another-binder", vec![volume("pv-a", &on_node)])
        .then(all([
            change_volume("pv-a", &json!({"status": {"phase": "Available"}})),
            vec![claim("data", &delayed)],
        ]))
        .then(vec![pod("mine", "data", &json!({"spec": {"nodeName": "node-a"}}))])
        .writes(&[RESERVE]);
    let prebind_last = Path::from("beside-another-binder-volume-last", vec![])
        .then(all([
            vec![claim("data", &delayed)],
            vec![pod("mine", "data", &json!({"spec": {"nodeName": "node-a"}}))],
        ]))
        .then(all([
            vec![volume("pv-a", &on_node)],
            change_volume("pv-a", &json!({"status": {"phase": "Available"}})),
        ]))
        .writes(&[RESERVE]);
    vec![
        Path { mode: ControllerMode::Prebind, ..prebind_last },
        Path::from("claim-first", vec![])
            .then(vec![claim("data", &none)])
            .then(vec![volume("pv-a", &none)])
            .writes(&[RESERVE, BOUND, NAME, CLAIM_BOUND]),
        Path::from("volume-first", vec![])
            .then(vec![volume("pv-a", &none)])
            .then(vec![claim("data", &none)])
            .writes(&[AVAILABLE, RESERVE, BOUND, NAME, CLAIM_BOUND]),
        Path::from(
            "two-pairs-at-once",
            vec![
                volume("pv-a", &none),
                claim("data", &none),
                volume("pv-b", &size("2Gi")),
                claim("more", &request("1Gi")),
            ],
        )
        .writes(&[AVAILABLE, AVAILABLE, RESERVE, RESERVE, BOUND, BOUND])
        .writes(&[NAME, NAME, CLAIM_BOUND, CLAIM_BOUND]),
        Path::from("one-volume-two-claims", vec![volume("pv-a", &none)])
            .then(vec![claim("data", &none), claim("more", &none)])
            .writes(&[AVAILABLE, RESERVE, BOUND, NAME, CLAIM_BOUND]),
        Path::from("named-before-it-exists", vec![])
            .then(vec![claim("data", &json!({"spec": {"volumeName": "pv-a"}}))])
            .then(vec![volume("pv-a", &none)])
            .writes(&[AVAILABLE, RESERVE, BOUND, NAME, CLAIM_BOUND]),
        Path::from("named-and-too-small", vec![volume("pv-a", &size("1Gi"))])
            .then(vec![claim("data", &json!({"spec": {"volumeName": "pv-a"}}))])
            .then(change_volume("pv-a", &size("9Gi")))
            .writes(&[AVAILABLE, RESERVE, BOUND, NAME, CLAIM_BOUND]),
        Path::from("reserved-for-a-claim-to-come", vec![volume("pv-a", &reserved(&named("data")))])
            .then(vec![claim("data", &none)])
            .writes(&[AVAILABLE, COMPLETE, BOUND, NAME, CLAIM_BOUND]),
        Path::from("delayed-by-the-scheduler", vec![volume("pv-a", &on_node)])
            .then(vec![claim("data", &delayed)])
            .then(vec![pod("mine", "data", &none)])
            .writes(&[AVAILABLE, BOUND, NAME, CLAIM_BOUND]),
        Path { mode: ControllerMode::Prebind, ..prebind },
        half_bound("reservation", 1).writes(&[AVAILABLE, RESERVE, BOUND]),
        half_bound("phase", 2).writes(&[BOUND]),
        half_bound("name", 3).writes(&[NAME]),
        half_bound("status", 4).writes(&[CLAIM_BOUND]),
    ]
}

fn size(capacity: &str) -> Value {
    json!({"spec": {"capacity": {"storage": capacity}}})
}

fn request(storage: &str) -> Value {
    json!({"spec": {"resources": {"requests": {"storage": storage}}}})
}

fn reserved(reference: &Value) -> Value {
    json!({"spec": {"claimRef": reference}})
}

/// A pair that lacks only the step of this number.
fn half_bound(name: &str, missing: usize) -> Path {
    let none = json!({});
    let mut acts = vec![volume("pv-a", &none), claim("data", &none)];
    let chosen = marked(&[BOUND_BY_CONTROLLER]);
    let steps = [
        change_volume("pv-a", &json!({"metadata": chosen, "spec": {"claimRef": held("data")}})),
        change_volume("pv-a", &json!({"status": {"phase": "Bound"}})),
        change_claim(
            "data",
            &json!({
                "metadata": marked(&[BIND_COMPLETED, BOUND_BY_CONTROLLER]),
                "spec": {"volumeName": "pv-a"},
            }),
        ),
        change_claim(
            "data",
            &json!({"status": {
                "phase": "Bound", "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
            }}),
        ),
    ];
    for (number, step) in steps.into_iter().enumerate() {
        if number + 1 != missing {
            acts.extend(step);
        }
    }
    Path::from(&format!("half-bound-without-{name}"), acts)
}

/// Every combination of what users prepared before the controller sees a pair: the claim names the volume
/// or not; the volume is reserved for no claim, for the claim's name, or for the claim; and the volume is an
/// administrator's, or a provisioner made it. Then the claim goes.
pub(super) fn beginnings() -> Vec<Path> {
    let mut paths = Vec::new();
    for provisioned in [false, true] {
        for reservation in ["free", "named", "held"] {
            for names in [false, true] {
                paths.push(beginning(provisioned, reservation, names));
            }
        }
    }
    paths
}

fn beginning(provisioned: bool, reservation: &str, names: bool) -> Path {
    let kind = if provisioned { "provisioned" } else { "static" };
    let claims = if names { "claim-names-it" } else { "claim-names-none" };
    let class = if provisioned { "fast" } else { "archive" };
    let mut wanted = json!({"spec": {"storageClassName": class}});
    if names {
        wanted["spec"]["volumeName"] = json!("pv-a");
    }
    let mut offered = json!({"spec": {"storageClassName": class}});
    if provisioned {
        let driver = "csi.example.com";
        json_patch::merge(
            &mut offered,
            &json!({
                "metadata": {"annotations": {"pv.kubernetes.io/provisioned-by": driver},
                             "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
                "spec": {"csi": {"driver": driver, "volumeHandle": "a"},
                         "persistentVolumeReclaimPolicy": "Delete"},
            }),
        );
        offered["spec"]["nfs"] = Value::Null;
    }
    offered["spec"]["claimRef"] = match reservation {
        "named" => named("data"),
        "held" => held("data"),
        _ => Value::Null,
    };
    let first: &[&str] = match reservation {
        "named" => &[AVAILABLE, COMPLETE],
        "held" => &[],
        _ => &[AVAILABLE, RESERVE],
    };
    let acts: Vec<Act> = vec![claim("data", &wanted), volume("pv-a", &offered)];
    Path::from(&format!("{kind}-{reservation}-{claims}"), acts)
        .then(vec![delete_claim("data")])
        .writes(first)
        .writes(&[BOUND, NAME, CLAIM_BOUND, RELEASED])
}

//! What becomes of volumes whose claims are gone, or took others.

use serde_json::{Value, json};

use crate::fault_matrix::path::{
    Act, Path, VOLUMES, all, change_claim, change_volume, claim, delete_claim, held, marked, named,
    volume,
};
use crate::users::Kubelet;

const BINDS: [&str; 5] =
    ["volume Available", "reserve a volume", "volume Bound", "name a volume", "claim Bound"];
const EMPTIED: [&str; 4] =
    ["make a pod", "remove a pod", "give an emptied volume free", "volume Available"];
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

pub(super) fn paths() -> Vec<Path> {
    let none = json!({});
    let gone = |name: &str, more: &Value| {
        Path::from(name, vec![volume("pv-a", more), claim("data", &none)])
            .then(vec![delete_claim("data")])
            .writes(&BINDS)
            .writes(&["volume Released"])
    };
    let fails_once = gone("recycled-at-the-second-try", &policy("Recycle"))
        .writes(&["make a pod", "remove a pod", "volume Failed"])
        .writes(&EMPTIED);
    let unprotected = json!({"metadata": {"finalizers": null}});
    let mut paths = vec![
        gone("retained-and-offered-again", &none)
            .then(change_volume("pv-a", &json!({"spec": {"claimRef": null}})))
            .then(vec![claim("next", &none)])
            .writes(&BINDS),
        gone("no-driver-deletes-it", &policy("Delete")).writes(&["volume Failed"]),
        gone(
            "to-be-deleted-by-a-driver",
            &json!({"spec": {
            "nfs": null, "csi": {"driver": "csi.example.com", "volumeHandle": "a"},
            "persistentVolumeReclaimPolicy": "Delete"}}),
        ),
        gone("recycled", &policy("Recycle")).writes(&EMPTIED),
        Path { kubelet: Kubelet::FailsOnce, ..fails_once },
        Path::from("deleted-while-bound", vec![volume("pv-a", &none), claim("data", &none)])
            .then(vec![Act::Delete(format!("{VOLUMES}/pv-a"))])
            .then(vec![delete_claim("data")])
            .writes(&BINDS)
            .writes(&["volume Released"]),
        Path::from("another-claim-of-the-name", vec![volume("pv-a", &none), claim("data", &none)])
            .then(all([
                change_claim("data", &unprotected),
                vec![delete_claim("data"), claim("data", &none)],
            ]))
            .writes(&BINDS)
            .writes(&["volume Released"]),
        misbound("taken-back", &json!({"metadata": marked(&[BOUND_BY_CONTROLLER])})),
        misbound("taken-back-to-the-name", &none),
        Path::from(
            "surplus-copy",
            misbound_pair(&json!({
                "metadata": {"annotations": {"pv.kubernetes.io/provisioned-by": "csi.example.com"},
                             "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
                "spec": {"nfs": null, "csi": {"driver": "csi.example.com", "volumeHandle": "b"},
                         "persistentVolumeReclaimPolicy": "Delete"},
            })),
        )
        .writes(&["volume Released"]),
        Path::from(
            "reserved-for-a-claim-that-went",
            all([
                vec![chosen_for(&former())],
                change_volume("pv-a", &json!({"status": {"phase": "Available"}})),
            ]),
        )
        .writes(&["unreserve a volume"]),
        Path::from(
            "held-for-a-claim-that-went",
            vec![volume("pv-a", &json!({"spec": {"claimRef": former()}}))],
        )
        .writes(&["volume Released"]),
    ];
    paths.extend(exported());
    paths
}

/// A volume that was created again from an export: with the uid of the claim that is gone, and without.
fn exported() -> [Path; 2] {
    let none = json!({});
    [
        Path::from("created-from-an-export", vec![chosen_for(&former()), claim("other", &none)])
            .writes(&["volume Released"]),
        Path::from(
            "created-from-an-export-without-uid",
            vec![chosen_for(&named("data")), claim("data", &none), claim("other", &none)],
        )
        .then(vec![delete_claim("data")])
        .writes(&["volume Available", "complete a reservation", "volume Bound"])
        .writes(&["name a volume", "claim Bound", "volume Released"]),
    ]
}

/// A volume that says the binder chose it for this claim.
fn chosen_for(reference: &Value) -> Act {
    let metadata = marked(&[BOUND_BY_CONTROLLER]);
    volume("pv-a", &json!({"metadata": metadata, "spec": {"claimRef": reference}}))
}

fn policy(policy: &str) -> Value {
    json!({"spec": {"persistentVolumeReclaimPolicy": policy}})
}

/// A reference to a claim that is no more.
fn former() -> Value {
    let mut reference = named("data");
    reference["uid"] = json!("0c2ac8a7-7b5b-4d3c-9d0e-5d6a4a8b1c11");
    reference
}

/// A pair, and a second volume that says it is the claim's too.
fn misbound_pair(second: &Value) -> Vec<Act> {
    let none = json!({});
    all([
        vec![volume("pv-a", &none), claim("data", &none), volume("pv-b", second)],
        change_volume(
            "pv-a",
            &json!({"spec": {"claimRef": held("data")}, "status": {"phase": "Bound"}}),
        ),
        change_claim(
            "data",
            &json!({
                "metadata": marked(&["pv.kubernetes.io/bind-completed"]),
                "spec": {"volumeName": "pv-a"},
                "status": {"phase": "Bound", "capacity": {"storage": "10Gi"},
                           "accessModes": ["ReadWriteOnce"]},
            }),
        ),
        change_volume(
            "pv-b",
            &json!({"spec": {"claimRef": held("data")}, "status": {"phase": "Bound"}}),
        ),
    ])
}

fn misbound(name: &str, second: &Value) -> Path {
    Path::from(name, misbound_pair(second)).writes(&["unreserve a volume", "volume Available"])
}

//! What becomes of claims otherwise: they lose volumes and get them back, ask provisioners, get a class.

use serde_json::{Value, json};

use crate::fault_matrix::path::{
    Act, CLASSES, Path, all, change_claim, change_volume, claim, delete_claim, force_volume_away,
    held, marked, pod, volume,
};

const BINDS: [&str; 4] = ["reserve a volume", "volume Bound", "name a volume", "claim Bound"];

pub(super) fn paths() -> Vec<Path> {
    let none = json!({});
    let fast = json!({"spec": {"storageClassName": "fast"}});
    let later = json!({"spec": {"storageClassName": "later"}});
    let bound = |name: &str| {
        Path::from(name, vec![volume("pv-a", &none), claim("data", &none)])
            .writes(&["volume Available"])
            .writes(&BINDS)
    };
    let completed = json!({
        "metadata": marked(&["pv.kubernetes.io/bind-completed"]),
    });
    let is_default = json!({"metadata": {"annotations": {
        "storageclass.kubernetes.io/is-default-class": "true"}}});
    vec![
        bound("volume-gone-and-back")
            .then(force_volume_away("pv-a"))
            .then(vec![volume("pv-a", &json!({"spec": {"claimRef": held("data")}}))])
            .writes(&["claim Lost", "volume Bound", "claim recovered"]),
        bound("volume-gone-and-another-of-its-name")
            .then(force_volume_away("pv-a"))
            .then(vec![volume("pv-a", &none)])
            .writes(&[
                "claim Lost",
                "volume Available",
                "reserve a volume",
                "volume Bound",
                "claim recovered",
            ]),
        bound("volume-given-to-another")
            .then(vec![claim("more", &none)])
            .then(change_volume("pv-a", &json!({"spec": {"claimRef": held("more")}})))
            .writes(&["claim Lost", "name a volume", "claim Bound"]),
        Path::from("bound-to-nothing", vec![claim("data", &none)])
            .then(change_claim("data", &completed))
            .writes(&["claim Lost"]),
        Path::from("called-bound-and-never-was", vec![claim("data", &names("pv-a"))])
            .then(change_claim("data", &json!({"status": {"phase": "Bound"}})))
            .writes(&["claim Pending"]),
        Path::from("provisioned", vec![])
            .then(vec![claim("data", &fast)])
            .then(vec![delete_claim("data")])
            .writes(&["ask the provisioner", "volume Bound", "name a volume", "claim Bound"])
            .writes(&["volume Released"]),
        Path::from("provisioned-where-the-pod-goes", vec![claim("data", &later)])
            .then(vec![pod("mine", "data", &none)])
            .writes(&["ask the provisioner", "volume Bound", "name a volume", "claim Bound"]),
        Path::from(
            "default-class-comes-later",
            vec![
                volume("pv-a", &none),
                claim("data", &json!({"spec": {"storageClassName": null}})),
            ],
        )
        .then(vec![Act::Change(format!("{CLASSES}/archive"), is_default)])
        .writes(&["volume Available", "give the default class"])
        .writes(&BINDS),
        Path::from(
            "asks-a-plug-in-that-moved",
            all([
                vec![Act::Make(
                    CLASSES,
                    json!({
                        "metadata": {"name": "old"}, "provisioner": "kubernetes.io/aws-ebs",
                    }),
                )],
                vec![claim("data", &json!({"spec": {"storageClassName": "old"}}))],
            ]),
        )
        .writes(&["ask the provisioner"]),
    ]
}

fn names(volume: &str) -> Value {
    json!({"spec": {"volumeName": volume}})
}

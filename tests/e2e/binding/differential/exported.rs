//! A volume that is deleted and created again from its export: beside Kubernetes' own binder, no claim is given the
//! data of another.

use hyper::Method;
use serde_json::{Value, json};

use super::stage::{Binder, PATIENCE, Stage};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, claim_path, volume_path};

/// Each server goes through it by itself; both end alike.
pub(super) fn an_exported_volume_goes_to_no_other_claim() {
    let ends = [Binder::Ours, Binder::InTree].map(|binder| {
        let stage = Stage::new(binder);
        for space in ["victim", "thief"] {
            let namespace =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}});
            stage.write(Method::POST, "/api/v1/namespaces", Body::json(&namespace));
        }
        // With the uid of the claim that is gone the volume is Released; by its name alone it waits for the claim.
        ["with-uid", "by-name"].map(|name| exported(&stage, name))
    });
    let end = |phase: &str| (phase.to_owned(), json!("victim"), json!("Pending"));
    assert_eq!(ends[0], [end("Released"), end("Available")]);
    assert_eq!(ends[0], ends[1], "ours, then Kubernetes' own");
}

/// The volume's phase, the namespace that it is reserved for, and the phase of the other claim, which fits.
fn exported(stage: &Stage, name: &str) -> (String, Value, Value) {
    let volume = volume_path(name);
    let mut export = bound(stage, name);
    stage.write(Method::DELETE, &claim_path("victim", "data"), Body::none());
    await_phase(stage, &volume, "Released");
    stage.write(Method::DELETE, &volume, Body::none());
    eventually("the volume is gone", PATIENCE, || match stage.plane().get(ADMIN, &volume) {
        reply if reply.code == 404 => Ok(()),
        reply => Err(reply.to_string()),
    });
    let new = claim(stage, "thief", &format!("new-{name}"), name);
    let metadata = &mut export["metadata"];
    for field in ["uid", "resourceVersion", "creationTimestamp"] {
        metadata[field] = Value::Null;
    }
    if name == "by-name" {
        export["spec"]["claimRef"]["uid"] = Value::Null;
    }
    stage.write(Method::POST, "/api/v1/persistentvolumes", Body::json(&export));
    let phase = if name == "by-name" { "Available" } else { "Released" };
    await_phase(stage, &volume, phase);
    // A volume for the claim that is made last: the binder has seen all before it.
    let last = claim(stage, "thief", &format!("last-{name}"), &format!("{name}-last"));
    create_volume(stage, &format!("{name}-last"));
    await_phase(stage, &last, "Bound");
    let (volume, claim) = (stage.plane().get(ADMIN, &volume), stage.plane().get(ADMIN, &new));
    let phase = volume.json["status"]["phase"].as_str().unwrap_or_default().to_owned();
    let holder = volume.json["spec"]["claimRef"]["namespace"].clone();
    (phase, holder, claim.json["status"]["phase"].clone())
}

/// The volume as `victim/data` has it.
fn bound(stage: &Stage, name: &str) -> Value {
    create_volume(stage, name);
    let data = claim(stage, "victim", "data", name);
    await_phase(stage, &data, "Bound");
    await_phase(stage, &volume_path(name), "Bound");
    stage.plane().get(ADMIN, &volume_path(name)).expect_ok()
}

/// A volume of a class of its own.
fn create_volume(stage: &Stage, name: &str) {
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": name, "persistentVolumeReclaimPolicy": "Retain",
            "nfs": {"server": "nfs.example.com", "path": format!("/{name}")},
        },
    });
    stage.write(Method::POST, "/api/v1/persistentvolumes", Body::json(&volume));
}

/// Makes a claim of this class. Its path.
fn claim(stage: &Stage, space: &str, name: &str, class: &str) -> String {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    });
    let collection = claim_path(space, "");
    stage.write(Method::POST, collection.trim_end_matches('/'), Body::json(&claim));
    claim_path(space, name)
}

fn await_phase(stage: &Stage, path: &str, phase: &str) {
    eventually(&format!("{path} is {phase}"), PATIENCE, || {
        let object = stage.plane().get(ADMIN, path).json;
        if object["status"]["phase"] == phase { Ok(()) } else { Err(object.to_string()) }
    });
}

//! Volumes made by hand: bound by any of the ways, released, and used again by any of the documented ones.

use serde_json::{Value, json};

use super::Scenarios;
use crate::no_false_denials::world::{VOLUMES, World};
use crate::plane::persona::{BACKUP, STORAGE_ADMIN, TENANT};

/// A name for each pair.
pub(super) fn numbered(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}{number}")).collect()
}

/// Matched, released, freed for any claim, matched again.
pub(super) fn matched(scenarios: &Scenarios<'_>, count: usize) {
    let world = World::new(scenarios.plane, "matched");
    let volumes = numbered("v", count);
    for (volume, claim) in volumes.iter().zip(numbered("first", count)) {
        world.volume(volume, &json!({}));
        world.claim(&claim, &json!({}));
        scenarios.keep(&world.named(volume));
    }
    bound(&world, &numbered("first", count));
    release(&world, &volumes, &numbered("first", count));
    for volume in &volumes {
        let free = json!({"spec": {"claimRef": null}});
        world.patch(STORAGE_ADMIN, &world.volume_path(volume), &free).expect_ok();
        world.until(&world.volume_path(volume), "Available");
    }
    for claim in numbered("second", count) {
        world.claim(&claim, &json!({}));
    }
    bound(&world, &numbered("second", count));
}

/// Agreed on from either side, released, reserved for a new claim of the old name.
pub(super) fn prebound(scenarios: &Scenarios<'_>, count: usize) {
    let world = World::new(scenarios.plane, "prebound");
    let names = numbered("p", count);
    for (number, name) in names.iter().enumerate() {
        scenarios.keep(&world.named(name));
        if number % 2 == 0 {
            let reference = json!({"claimRef": {"namespace": world.name, "name": name}});
            world.volume(name, &json!({"spec": reference}));
            world.claim(name, &json!({}));
        } else {
            world.volume(name, &json!({}));
            world.claim(name, &json!({"spec": {"volumeName": world.named(name)}}));
        }
    }
    bound_to_their_own(&world, &names);
    release(&world, &names, &names);
    for name in &names {
        let nameless = json!({"spec": {"claimRef": {"uid": null, "resourceVersion": null}}});
        world.patch(STORAGE_ADMIN, &world.volume_path(name), &nameless).expect_ok();
        world.claim(name, &json!({}));
    }
    bound_to_their_own(&world, &names);
}

/// Bound, written down, deleted, and re-created by a backup tool: volumes first, without the uids of their
/// claims, then claims, without the binder's annotations.
pub(super) fn restored(scenarios: &Scenarios<'_>, count: usize) {
    let world = World::new(scenarios.plane, "restored");
    let names = numbered("r", count);
    for name in &names {
        world.volume(name, &json!({}));
        world.claim(name, &json!({}));
        scenarios.keep(&world.named(name));
    }
    bound(&world, &names);
    let read = |path: String| stripped(world.get(&path));
    let volumes: Vec<Value> = names.iter().map(|name| read(world.volume_path(name))).collect();
    let claims: Vec<Value> = names.iter().map(|name| read(world.claim_path(name))).collect();
    release(&world, &names, &names);
    for name in &names {
        let path = world.volume_path(name);
        world.delete(STORAGE_ADMIN, &path).expect_ok();
        world.until_gone(&path);
    }
    for volume in &volumes {
        world.post(BACKUP, VOLUMES, volume).expect_ok();
    }
    let path = format!("/api/v1/namespaces/{}/persistentvolumeclaims", world.name);
    for claim in &claims {
        world.post(BACKUP, &path, claim).expect_ok();
    }
    for claim in &claims {
        let name = claim["metadata"]["name"].as_str().unwrap();
        let now = world.until(&world.claim_path(name), "Bound");
        assert_eq!(now["spec"]["volumeName"], claim["spec"]["volumeName"], "{now}");
    }
}

/// An object as a backup tool makes it again.
///
/// Velero keeps name, namespace, labels and annotations of the metadata, and takes out what the binder wrote.
fn stripped(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata
        .retain(|key, _| ["name", "namespace", "labels", "annotations"].contains(&key.as_str()));
    if let Some(notes) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
    {
        let by_binder = ["pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"];
        notes.retain(|key, _| !by_binder.contains(&key.as_str()));
    }
    if let Some(reference) = object.pointer_mut("/spec/claimRef").and_then(Value::as_object_mut) {
        reference.remove("uid");
        reference.remove("resourceVersion");
    }
    object.as_object_mut().unwrap().remove("status");
    object
}

/// Waits until these claims are bound to volumes of this world.
pub(super) fn bound(world: &World<'_>, claims: &[String]) {
    for claim in claims {
        let now = world.until(&world.claim_path(claim), "Bound");
        let volume = now["spec"]["volumeName"].as_str().unwrap_or_default();
        assert!(volume.starts_with(&world.named("")), "{claim} is bound to {volume}");
    }
}

/// Waits until these claims are bound to the volumes of their names.
fn bound_to_their_own(world: &World<'_>, names: &[String]) {
    for name in names {
        let now = world.until(&world.claim_path(name), "Bound");
        assert_eq!(now["spec"]["volumeName"], world.named(name), "{now}");
    }
}

/// The tenant deletes the claims, and the volumes are released.
pub(super) fn release(world: &World<'_>, volumes: &[String], claims: &[String]) {
    for claim in claims {
        world.delete(TENANT, &world.claim_path(claim)).expect_ok();
    }
    world.until_each(volumes, "Released");
}

//! How pairs end that are not taken apart with care.

use std::time::Duration;

use serde_json::json;

use super::Scenarios;
use super::pairs::{bound, numbered};
use super::pods::pod;
use crate::eventually::wait;
use crate::no_false_denials::world::World;
use crate::plane::persona::{ADMIN, STORAGE_ADMIN, TENANT};

/// What helm lets pass between two deletions.
const BREATH: Duration = Duration::from_millis(50);

/// An uninstalled release: the claim, and the volume before any controller has noticed.
pub(super) fn uninstalled(scenarios: &Scenarios<'_>, count: usize) {
    let world = World::new(scenarios.plane, "uninstalled");
    let names = numbered("u", count);
    for name in &names {
        world.volume(name, &json!({}));
        world.claim(name, &json!({"spec": {"volumeName": world.named(name)}}));
    }
    bound(&world, &names);
    for name in &names {
        world.delete(STORAGE_ADMIN, &world.claim_path(name)).expect_ok();
        wait(BREATH);
        world.delete(STORAGE_ADMIN, &world.volume_path(name)).expect_ok();
    }
    for name in &names {
        world.until_gone(&world.claim_path(name));
        world.until_gone(&world.volume_path(name));
    }
}

/// Claims whose owner is deleted: the garbage collector takes them, and their volumes stay.
pub(super) fn collected(scenarios: &Scenarios<'_>, count: usize) {
    let world = World::new(scenarios.plane, "collected");
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}});
    let path = format!("/api/v1/namespaces/{}/configmaps", world.name);
    let owner = world.post(TENANT, &path, &owner).expect_ok();
    let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": owner["metadata"]["uid"]}]);
    let names = numbered("g", count);
    for name in &names {
        world.volume(name, &json!({}));
        world.claim(name, &json!({"metadata": {"ownerReferences": owners}}));
        scenarios.keep(&world.named(name));
    }
    bound(&world, &names);
    world.delete(TENANT, &format!("{path}/owner")).expect_ok();
    world.until_none(&names);
    world.until_each(&names, "Released");
}

/// A namespace that is deleted with all that is in it, pods included; the volumes stay.
pub(super) fn swept(scenarios: &Scenarios<'_>, count: usize) {
    let world = World::new(scenarios.plane, "swept");
    let names = numbered("n", count);
    for name in &names {
        world.volume(name, &json!({}));
        world.claim(name, &json!({}));
        scenarios.keep(&world.named(name));
    }
    bound(&world, &names);
    for name in &names {
        pod(&world, name, &json!({"spec": {"nodeName": "elsewhere"}}));
    }
    let path = format!("/api/v1/namespaces/{}", world.name);
    world.delete(ADMIN, &path).expect_ok();
    world.until_gone(&path);
    world.until_each(&names, "Released");
}

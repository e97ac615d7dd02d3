//! Claims of a driver's class, from the claim to the end of the disk, and the orders in which people end them.

use serde_json::json;

use super::scene::{Beside, Scene, Written, patch_volume, play};
use crate::plane::persona::{ARRANGER, STORAGE_ADMIN, TENANT};
use crate::plane::volume_path;
use crate::runner::extent;

/// Returns how many claims end in each order.
fn count() -> usize {
    if extent().is_full { 75 } else { 2 }
}

pub(super) fn what_is_provisioned_is_bound_and_goes_as_without_bindery() {
    let without = play(Beside::Nothing, provisioned);
    for beside in Beside::due(&[Beside::Baseline, Beside::Strict, Beside::Full, Beside::Policies]) {
        let written: Written = play(beside, provisioned);
        written.expect_same(&without, beside);
    }
}

/// Ends a claim that is bound to a volume.
type Ending = fn(&Scene<'_>, &str, &str);

/// The orders in which a claim, its volume and its disk go.
const ENDINGS: [(&str, Ending); 4] = [
    ("claim", the_claim_first),
    ("volume", the_volume_first),
    ("retained", the_claim_of_a_retained_volume),
    ("namespace", the_namespace),
];

fn provisioned(scene: &Scene<'_>) {
    let world = &scene.world;
    let named = |ending: &str, number: usize| format!("{ending}-{number}");
    let all = || ENDINGS.iter().flat_map(|ending| (0..count()).map(move |number| (ending, number)));
    for ((ending, _), number) in all() {
        world.claim(&named(ending, number), &json!({}));
    }
    let mut kept = Vec::new();
    for ((ending, end), number) in all() {
        let claim = named(ending, number);
        let volume = scene.bound(&claim);
        end(scene, &claim, &volume);
        if *ending == "retained" {
            kept.push(volume);
        }
    }
    world.delete(ARRANGER, &format!("/api/v1/namespaces/{}", world.name)).expect_ok();
    let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
    scene.until_left(&[], &kept);
    world.until_gone(&format!("/api/v1/namespaces/{}", world.name));
}

fn the_claim_first(scene: &Scene<'_>, claim: &str, volume: &str) {
    scene.give_up(claim);
    scene.until_gone(volume);
}

/// Protection keeps the volume until the claim is gone; with Bindery it is not even begun.
fn the_volume_first(scene: &Scene<'_>, claim: &str, volume: &str) {
    let reply = scene.world.delete(STORAGE_ADMIN, &volume_path(volume));
    match scene.beside {
        Beside::Nothing => drop(reply.expect_ok()),
        Beside::Baseline | Beside::Strict | Beside::Full | Beside::Ended | Beside::Policies => {
            assert!(reply.expect_denied(403).contains("[bound-volume-delete]"), "{reply}");
        }
    }
    scene.give_up(claim);
    scene.until_gone(volume);
}

/// The volume's object goes, the disk stays, as the policy Retain asks for.
fn the_claim_of_a_retained_volume(scene: &Scene<'_>, claim: &str, volume: &str) {
    patch_volume(scene, volume, &json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}}));
    // The provisioner lets go of what it does not have to delete.
    scene.world.await_that(&volume_path(volume), "no longer the provisioner's", |volume| {
        let finalizers = volume["metadata"]["finalizers"].to_string();
        !finalizers.contains("external-provisioner.volume.kubernetes.io/finalizer")
    });
    scene.world.delete(TENANT, &scene.world.claim_path(claim)).expect_ok();
    scene.world.until(&volume_path(volume), "Released");
    scene.world.delete(STORAGE_ADMIN, &volume_path(volume)).expect_ok();
    scene.world.until_gone(&volume_path(volume));
}

/// Together with all that is in it, when every other claim has come to its end.
fn the_namespace(_: &Scene<'_>, _: &str, _: &str) {}

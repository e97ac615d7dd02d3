//! The claim goes at each step of its provisioning: whatever the driver has made by then is deleted again.

use serde_json::json;

use super::scene::{Beside, Scene, play};
use crate::plane::persona::STORAGE_ADMIN;
use crate::plane::volume_path;
use crate::runner::extent;

/// Returns how often each step is interrupted.
fn rounds() -> usize {
    if extent().is_full { 43 } else { 2 }
}

pub(super) fn a_claim_that_goes_while_it_is_provisioned_leaves_no_disk() {
    for beside in Beside::due(&[Beside::Baseline, Beside::Strict, Beside::Full]) {
        play(beside, interrupted);
    }
}

/// The steps, by the command to the driver under which the claim goes.
const HELD: [(&str, &str); 5] = [
    // Nothing is made yet.
    ("CreateVolume.before", "hold"),
    // The disk is there, and the provisioner does not know.
    ("CreateVolume.after", "hold"),
    // It learns that nothing came of it, for good.
    ("CreateVolume.before", "INVALID_ARGUMENT"),
    // It learns that something may come of it, when nothing and when a disk did.
    ("CreateVolume.before", "DEADLINE_EXCEEDED"),
    ("CreateVolume.after", "DEADLINE_EXCEEDED"),
];

fn interrupted(scene: &Scene<'_>) {
    for round in 0..rounds() {
        for (step, (place, word)) in HELD.into_iter().enumerate() {
            under_a_command(scene, &format!("c{round}-{step}"), place, word);
        }
        when_the_driver_has_answered(scene, &format!("c{round}-answered"));
        when_the_volume_is_made(scene, &format!("c{round}-made"));
        when_another_volume_comes_first(scene, &format!("c{round}-surplus"));
    }
    scene.until_left(&[], &[]);
}

/// Makes a claim; returns the name of the disk that it will get.
fn wanted(scene: &Scene<'_>, claim: &str) -> String {
    let claim = scene.world.claim(claim, &json!({}));
    format!("pvc-{}", claim["metadata"]["uid"].as_str().unwrap())
}

fn gone(scene: &Scene<'_>, claim: &str) {
    scene.give_up(claim);
    scene.world.until_gone(&scene.world.claim_path(claim));
}

fn under_a_command(scene: &Scene<'_>, claim: &str, place: &str, word: &str) {
    scene.storage.command(place, word);
    let disk = wanted(scene, claim);
    let met = match word {
        "hold" => "",
        "INVALID_ARGUMENT" => "InvalidArgument",
        _ => "DeadlineExceeded",
    };
    scene.await_call("CreateVolume", &disk, met);
    gone(scene, claim);
    scene.storage.release(place);
    if word != "INVALID_ARGUMENT" {
        // The provisioner goes on until there is a disk, and then deletes it. Before that, the next command would meet
        // this disk too: a final error for a disk that exists is a lie of the driver's, and leaks it.
        scene.await_call("DeleteVolume", &disk, "OK");
    }
    scene.until_gone(&disk);
}

fn when_the_driver_has_answered(scene: &Scene<'_>, claim: &str) {
    let disk = wanted(scene, claim);
    scene.await_call("CreateVolume", &disk, "OK");
    gone(scene, claim);
    scene.until_gone(&disk);
}

fn when_the_volume_is_made(scene: &Scene<'_>, claim: &str) {
    let disk = wanted(scene, claim);
    scene.world.await_that(&volume_path(&disk), "made", |_| true);
    gone(scene, claim);
    scene.until_gone(&disk);
}

/// An administrator's volume is reserved for the claim and bound to it while the disk is made: the disk is not needed
/// any more, and goes although its claim lives.
fn when_another_volume_comes_first(scene: &Scene<'_>, claim: &str) {
    scene.storage.command("CreateVolume.after", "hold");
    let disk = wanted(scene, claim);
    scene.await_call("CreateVolume", &disk, "");
    let reserved = json!({"spec": {"claimRef": {"namespace": scene.world.name, "name": claim}}});
    scene.world.volume(claim, &reserved);
    let bound = scene.world.until(&scene.world.claim_path(claim), "Bound");
    assert_eq!(bound["spec"]["volumeName"], scene.world.named(claim).as_str());
    scene.storage.release("CreateVolume.after");
    scene.await_call("DeleteVolume", &disk, "OK");
    scene.until_gone(&disk);
    gone(scene, claim);
    scene.world.until(&scene.world.volume_path(claim), "Released");
    scene.world.delete(STORAGE_ADMIN, &scene.world.volume_path(claim)).expect_ok();
    scene.world.until_gone(&scene.world.volume_path(claim));
}

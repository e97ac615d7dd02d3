//! Each sidecar, and the driver, is killed while a call of the driver is in flight that is not answered: the next
//! process goes on from there.

use serde_json::json;

use super::scenarios::{
    ask, ask_for_speed, await_attached, await_nodes, await_size, await_speed, await_taken, end_pod,
    prepare, snapshot_path, take,
};
use super::scene::{Beside, Scene, play, sweep};
use crate::runner::extent;
use crate::sidecars::Sidecar::{self, Attacher, Driver, Provisioner, Resizer, Snapshotter};
use crate::storage_lifecycle::scenarios::pod;

/// Returns how many disks go through it for each of those that are killed.
fn count() -> usize {
    if extent().is_full { 10 } else { 1 }
}

pub(super) fn a_sidecar_that_is_killed_leaves_no_disk_and_loses_none() {
    for beside in Beside::due(&[Beside::Strict, Beside::Full]) {
        play(beside, |scene| {
            prepare(scene);
            for number in 0..count() {
                // Its own sidecar is killed in the first scenario, the driver in the second.
                lifecycle(scene, &format!("s{number}"), |sidecar| sidecar);
                lifecycle(scene, &format!("d{number}"), |_| Driver);
            }
            scene.until_left(&[], &[]);
        });
    }
}

/// Begins something that makes a sidecar call the driver, and kills one while the driver does not answer.
fn interrupted<T>(
    scene: &Scene<'_>,
    killed: Sidecar,
    call: &str,
    begin: impl FnOnce() -> T,
    subject: impl FnOnce(&T) -> String,
) -> T {
    let hold = format!("{call}.after");
    scene.storage.command(&hold, "hold");
    let begun = begin();
    scene.await_call(call, &subject(&begun), "");
    scene.storage.kill(killed);
    scene.storage.release(&hold);
    scene.storage.restart(killed);
    begun
}

/// Every call that there is, from the first to the last of a disk and its snapshot.
fn lifecycle(scene: &Scene<'_>, claim: &str, killed: impl Fn(Sidecar) -> Sidecar) {
    let disk = interrupted(
        scene,
        killed(Provisioner),
        "CreateVolume",
        || scene.world.claim(claim, &json!({})),
        |claim| format!("pvc-{}", claim["metadata"]["uid"].as_str().unwrap()),
    );
    let volume = scene.bound(claim);
    assert_eq!(format!("pvc-{}", disk["metadata"]["uid"].as_str().unwrap()), volume);
    let during = |sidecar, call: &str, begin: &dyn Fn()| {
        interrupted(scene, killed(sidecar), call, begin, |()| volume.clone());
    };
    during(Attacher, "ControllerPublishVolume", &|| pod(&scene.world, claim, &json!({})));
    await_attached(scene, &volume);
    during(Resizer, "ControllerExpandVolume", &|| ask(scene, claim, "2Gi"));
    await_size(scene, claim, &volume, "2Gi", 2 << 30);
    during(Resizer, "ControllerModifyVolume", &|| ask_for_speed(scene, claim));
    await_speed(scene, claim, &volume);
    let taken = interrupted(
        scene,
        killed(Snapshotter),
        "CreateSnapshot",
        || take(scene, claim),
        Clone::clone,
    );
    await_taken(scene, claim);
    interrupted(
        scene,
        killed(Snapshotter),
        "DeleteSnapshot",
        || sweep(scene, &snapshot_path(scene, claim)),
        |()| taken,
    );
    scene.world.until_gone(&snapshot_path(scene, claim));
    during(Attacher, "ControllerUnpublishVolume", &|| end_pod(scene, claim));
    await_nodes(scene, &volume, &[]);
    during(Provisioner, "DeleteVolume", &|| scene.give_up(claim));
    scene.until_gone(&volume);
}

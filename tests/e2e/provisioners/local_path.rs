//! Claims of the local-path provisioner's class, from the pod that waits for one to the end of its folder; what goes
//! wrong in between; and the harm that an applied export does with it.

use std::fs;
use std::thread;

use serde_json::{Value, json};

use super::local_scene::{NODE, Outcome, Scene, folder_of, play};
use super::scene::Beside;
use crate::local_path::kubelet::{Action, Moment};
use crate::no_false_denials::world::VOLUMES;
use crate::plane::persona::STORAGE_ADMIN;
use crate::plane::{Plane, volume_path};
use crate::runner::extent;
use crate::storage_lifecycle::scenarios::pod;

/// Returns how many claims are provisioned beside each setting, besides those of the kills.
fn count() -> usize {
    if extent().is_full { 300 } else { ENDINGS.len() }
}

/// How many are provisioned side by side.
const HANDS: usize = 5;

/// The settings run side by side, as the provisioner makes five requests a second, whatever the machine can do. Their
/// planes start one after another, as a start takes all that the machine can do.
pub(super) fn folders_of_nodes_come_and_go_as_without_bindery() {
    let mut settings = vec![Beside::Nothing, Beside::Baseline];
    if extent().is_full {
        settings.extend([Beside::Strict, Beside::Full]);
    }
    let outcomes: Vec<(Beside, Outcome)> = thread::scope(|threads| {
        let begin = |beside: Beside| {
            let plane = Plane::start(beside.parts().0).unwrap_or_else(|error| panic!("{error}"));
            (beside, threads.spawn(move || play(beside, &plane, all)))
        };
        let playing: Vec<_> = settings.into_iter().map(begin).collect();
        let end = |(beside, thread): (Beside, thread::ScopedJoinHandle<'_, Outcome>)| {
            (beside, thread.join().unwrap_or_else(|_| panic!("beside {beside:?}: see above")))
        };
        playing.into_iter().map(end).collect()
    });
    let [(_, without), beside @ ..] = outcomes.as_slice() else { panic!("no setting was played") };
    for (setting, with) in beside {
        assert_eq!(with, without, "beside {setting:?}, and without Bindery");
    }
}

/// Takes a claim from its beginning to its end.
type Ending = fn(&Scene<'_>, &str, &str);

const ENDINGS: [Ending; 5] = [
    the_claim_goes,
    the_volume_is_retained,
    the_export_is_applied,
    the_claim_goes_before_there_is_a_folder,
    the_claim_goes_before_there_is_a_volume,
];

fn all(scene: &Scene<'_>) {
    thread::scope(|threads| {
        for hand in 0..HANDS {
            threads.spawn(move || {
                for number in (hand..count()).step_by(HANDS) {
                    let (round, ending) = (number / ENDINGS.len(), number % ENDINGS.len());
                    // Every ending meets both types, in turn.
                    let volume_type = ["hostPath", "local"][(round + ending) % 2];
                    ENDINGS[ending](scene, &format!("c{number}"), volume_type);
                }
            });
        }
    });
    the_provisioner_is_killed(scene);
}

/// A claim and its pod, which the scheduler sends to the node; returns the volume once both are bound, with a file in
/// its folder.
fn used(scene: &Scene<'_>, claim: &str, volume_type: &str) -> Value {
    let name = scene.claim(claim, volume_type);
    pod(&scene.world, claim, &json!({}));
    let volume = scene.bound(claim, &name);
    assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Delete");
    assert!(volume["spec"][volume_type].is_object(), "{volume}");
    let nodes = "/spec/nodeAffinity/required/nodeSelectorTerms/0/matchExpressions/0/values";
    assert_eq!(volume.pointer(nodes), Some(&json!([NODE])));
    fs::write(folder_of(&volume).join("data"), claim).unwrap();
    let path = format!("/api/v1/namespaces/{}/pods/{claim}", scene.world.name);
    scene.await_object(&path, "on the node", |pod| pod["spec"]["nodeName"] == NODE);
    volume
}

fn name(volume: &Value) -> &str {
    volume["metadata"]["name"].as_str().unwrap()
}

fn the_claim_goes(scene: &Scene<'_>, claim: &str, volume_type: &str) {
    let volume = used(scene, claim, volume_type);
    scene.give_up(claim);
    scene.until_gone(name(&volume));
}

/// The volume's object goes, the folder stays, as the policy Retain asks for.
fn the_volume_is_retained(scene: &Scene<'_>, claim: &str, volume_type: &str) {
    let volume = used(scene, claim, volume_type);
    keep(scene, claim, &volume);
    assert_eq!(fs::read_to_string(folder_of(&volume).join("data")).unwrap(), claim);
}

/// The volume is given the policy Retain and released; its object is deleted.
fn keep(scene: &Scene<'_>, claim: &str, volume: &Value) {
    let path = volume_path(name(volume));
    let retain = json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}});
    scene.world.patch(STORAGE_ADMIN, &path, &retain).expect_ok();
    scene.give_up(claim);
    scene.world.until(&path, "Released");
    scene.world.delete(STORAGE_ADMIN, &path).expect_ok();
    scene.world.until_gone(&path);
}

/// The object of a kept volume is made again from an export of the time when it was bound: policy Delete, and the uid of
/// a claim that is gone. Without Bindery the folder is removed at once; with it the volume is reserved for the claim of
/// that name, which gets its data back.
fn the_export_is_applied(scene: &Scene<'_>, claim: &str, volume_type: &str) {
    let mut export = used(scene, claim, volume_type);
    keep(scene, claim, &export);
    for field in ["uid", "resourceVersion", "creationTimestamp"] {
        export["metadata"][field] = Value::Null;
    }
    let applied = scene.world.post(STORAGE_ADMIN, VOLUMES, &export).expect_ok();
    match scene.beside {
        Beside::Nothing => {}
        Beside::Baseline | Beside::Strict | Beside::Full | Beside::Ended | Beside::Policies => {
            assert_eq!(applied["spec"]["claimRef"].get("uid"), None, "{applied}");
            scene.world.until(&volume_path(name(&export)), "Available");
            scene.claim(claim, volume_type);
            pod(&scene.world, claim, &json!({}));
            let volume = scene.bound(claim, name(&export));
            let data = fs::read_to_string(folder_of(&volume).join("data"));
            assert_eq!(data.unwrap(), claim);
            scene.give_up(claim);
        }
    }
    scene.until_gone(name(&export));
}

fn the_claim_goes_before_there_is_a_folder(scene: &Scene<'_>, claim: &str, volume_type: &str) {
    the_claim_goes_meanwhile(scene, claim, volume_type, Moment::Before);
}

fn the_claim_goes_before_there_is_a_volume(scene: &Scene<'_>, claim: &str, volume_type: &str) {
    the_claim_goes_meanwhile(scene, claim, volume_type, Moment::After);
}

/// The provisioner makes the volume of a claim that is gone, and removes both again.
fn the_claim_goes_meanwhile(scene: &Scene<'_>, claim: &str, volume_type: &str, moment: Moment) {
    let volume = begun(scene, claim, volume_type, moment);
    scene.give_up(claim);
    scene.kubelet.release(Action::Create, &volume);
    scene.await_that(&format!("{volume} was made"), || {
        let made = scene.kubelet.done(Action::Create);
        if made.contains(&volume) { Ok(()) } else { Err(format!("{made:?}")) }
    });
    scene.await_that(&format!("{volume} is removed"), || {
        let removed = scene.kubelet.done(Action::Delete);
        if removed.contains(&volume) { Ok(()) } else { Err(format!("{removed:?}")) }
    });
    scene.until_gone(&volume);
}

/// A claim whose folder is being made by a pod that is held.
fn begun(scene: &Scene<'_>, claim: &str, volume_type: &str, moment: Moment) -> String {
    let volume = scene.claim(claim, volume_type);
    scene.kubelet.hold(Action::Create, &volume, moment);
    pod(&scene.world, claim, &json!({}));
    scene.await_held(Action::Create, &volume);
    volume
}

/// It is killed while pods of two claims run, of which one goes meanwhile, and once more while the folder of the other is
/// removed. What it does not know any more it leaves behind: one folder, with Bindery and without.
fn the_provisioner_is_killed(scene: &Scene<'_>) {
    let stays = begun(scene, "stays", "hostPath", Moment::After);
    let goes = begun(scene, "goes", "local", Moment::After);
    scene.provisioner.kill();
    scene.give_up("goes");
    for volume in [&stays, &goes] {
        scene.kubelet.release(Action::Create, volume);
    }
    scene.provisioner.start();
    scene.bound("stays", &stays);
    scene.kubelet.hold(Action::Delete, &stays, Moment::Before);
    scene.give_up("stays");
    scene.await_held(Action::Delete, &stays);
    scene.provisioner.kill();
    scene.kubelet.release(Action::Delete, &stays);
    scene.provisioner.start();
    scene.until_gone(&stays);
    // All that it begins with is done: what came before this claim it has seen to.
    the_claim_goes(scene, "last", "hostPath");
    assert!(scene.folders().contains(&goes), "the folder was removed of {goes}");
}

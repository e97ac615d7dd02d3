//! Moves whose command was cut off and that the controller ends, where both namespaces permit it.

use std::path::PathBuf;

use hyper::Method;
use serde_json::{Value, json};

use super::interrupted::{cut_off, cuts};
use super::scene::{MOVE, PATIENCE, Scene};
use crate::controller::Controller;
use crate::eventually::eventually;
use crate::metrics::{scrape, sum};
use crate::plane::persona::{ADMIN, BINDERY_MOVER};
use crate::plane::{Body, Peers, Plane, claim_path};
use crate::proxy::{Proxy, Trouble};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(the_controller_ends_transfers_beside_the_in_tree_binder),
    case!(the_controller_that_binds_ends_transfers),
    case!(the_controller_ends_no_move_of_a_namespace_that_does_not_permit_it),
    case!(the_controller_resumes_no_move_unless_it_is_configured),
];

const LABEL: &str = "bindery.dev/resume-moves";

/// The writes of a transfer.
const WRITES: usize = 5;

/// Those after which its former claim is gone.
const WRITES_BEFORE_LOSS: usize = 2;

/// A controller that resumes moves after a second. The configuration lasts as long as this.
struct Resuming {
    _folder: tempfile::TempDir,
    controller: Controller,
}

impl Resuming {
    fn start(plane: &Plane, mode: &str) -> Self {
        Self::with(plane, mode, "moves: {resumeAfter: 1s}\n")
    }

    fn with(plane: &Plane, mode: &str, moves: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file: PathBuf = folder.path().join("config.yaml");
        std::fs::write(&file, format!("apiVersion: bindery.dev/v1\nkind: Config\n{moves}"))
            .unwrap();
        let kubeconfig = plane.kubeconfig(BINDERY_MOVER);
        let more = ["--config", file.to_str().unwrap()];
        let controller = Controller::alone(&kubeconfig, mode, &more);
        Self { _folder: folder, controller }
    }

    /// Waits until it has seen one move that it does not resume.
    fn until_one_is_seen(&self) {
        eventually("the metric shows a move", PATIENCE, || {
            let metrics = scrape(&self.controller.log());
            let seen = sum(&metrics, "bindery_moves_unfinished", &["state=\"running\""]);
            if seen == 1 { Ok(()) } else { Err(metrics) }
        });
    }
}

/// Labels a namespace.
fn permit(plane: &Plane, namespace: &str, value: &str) {
    let label = Body::merge_patch(&json!({"metadata": {"labels": {LABEL: value}}}));
    let path = format!("/api/v1/namespaces/{namespace}");
    plane.request(ADMIN, Method::PATCH, &path, label).expect_ok();
}

/// Two namespaces that permit it.
fn permitting<'a>(plane: &'a Plane, case: &str) -> Scene<'a> {
    let scene = Scene::new(plane, case);
    for namespace in [scene.objects.namespace(), scene.to()] {
        permit(plane, namespace, "true");
    }
    scene
}

/// Waits until there is an event with this reason about the volume of a pair. Returns what it says.
fn until_event(scene: &Scene<'_>, name: &str, reason: &str) -> String {
    let volume = scene.objects.name(name);
    let path = format!("/api/v1/namespaces/default/events?fieldSelector=reason={reason}");
    eventually(&format!("{volume} has an event {reason}"), PATIENCE, || {
        let list = scene.plane.get(ADMIN, &path).expect_ok();
        let events = list["items"].as_array().cloned().unwrap_or_default();
        // `kubectl describe` finds an event by the uid.
        let uid = &scene.volume(name)["metadata"]["uid"];
        let event = events.iter().find(|event| event["involvedObject"]["uid"] == *uid);
        let text = event.and_then(|event| event["message"].as_str());
        text.map(str::to_owned).ok_or_else(|| format!("{} others", events.len()))
    })
}

/// Waits until the volume of a pair has this reclaim policy.
fn until_policy(scene: &Scene<'_>, name: &str, policy: &str) {
    eventually(&format!("{name} has {policy}"), PATIENCE, || {
        let volume = scene.volume(name);
        let is_so = volume["spec"]["persistentVolumeReclaimPolicy"] == policy;
        if is_so { Ok(()) } else { Err(volume.to_string()) }
    });
}

/// Waits until the volume of a pair is in no move.
fn until_ended(scene: &Scene<'_>, name: &str) -> Value {
    eventually("the move has ended", PATIENCE, || {
        let volume = scene.volume(name);
        if volume.pointer(MOVE).is_none() { Ok(volume) } else { Err(volume.to_string()) }
    })
}

fn the_controller_ends_transfers_beside_the_in_tree_binder() {
    transfers_are_ended(Peers::WithBinder, "observe");
}

fn the_controller_that_binds_ends_transfers() {
    transfers_are_ended(Peers::WithoutBinder, "full");
}

/// Transfers that are cut off at each place, and what becomes of them.
fn transfers_are_ended(peers: Peers, mode: &str) {
    let plane = Plane::start(peers).unwrap_or_else(|error| panic!("{error}"));
    let (scene, proxy) = (permitting(&plane, "ended"), Proxy::start(&plane));
    let _controller = Resuming::start(&plane, mode);
    for (index, trouble) in cuts(WRITES).enumerate() {
        let name = format!("data-{index}");
        scene.pair(&name);
        let claim = format!("pvc/{}/{name}", scene.objects.namespace());
        let transfer = ["transfer", &claim, "--to", scene.to()];
        cut_off(&scene, &proxy, trouble, &transfer);
        let (Trouble::AwayAfterWrites(made) | Trouble::LostAnswer(made)) = trouble else {
            panic!("{trouble:?} is no cut")
        };
        if made < WRITES_BEFORE_LOSS {
            if made > 0 {
                let text = until_event(&scene, &name, "MoveUnfinished");
                assert!(text.contains("the controller deletes no PVC"), "{text}");
            }
            let path = claim_path(scene.objects.namespace(), &name);
            let stored = scene.plane.get(ADMIN, &path).expect_ok();
            assert_eq!(stored["metadata"].get("deletionTimestamp"), None, "{trouble:?}");
            scene.bindery(&transfer).expect_ok();
        }
        until_ended(&scene, &name);
        scene.expect_moved(&name, scene.to(), &name, "Delete");
        if (WRITES_BEFORE_LOSS..WRITES).contains(&made) {
            let text = until_event(&scene, &name, "MoveEnded");
            assert!(text.contains("bindery undo pv/"), "{text}");
            scene.bindery(&["undo", &format!("pv/{}", scene.objects.name(&name))]).expect_ok();
            scene.expect_moved(&name, scene.objects.namespace(), &name, "Delete");
        }
    }
}

/// Once the label is there, the move goes on.
fn the_controller_ends_no_move_of_a_namespace_that_does_not_permit_it() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let (scene, proxy) = (permitting(&plane, "not-permitted"), Proxy::start(&plane));
    permit(&plane, scene.to(), "yes");
    let _controller = Resuming::start(&plane, "observe");
    scene.pair("data");
    let claim = format!("pvc/{}/data", scene.objects.namespace());
    let transfer = ["transfer", &claim, "--to", scene.to()];
    cut_off(&scene, &proxy, Trouble::AwayAfterWrites(WRITES_BEFORE_LOSS), &transfer);
    let text = until_event(&scene, "data", "MoveUnfinished");
    assert!(
        text.contains(&format!("Namespace \"{}\" does not have the label", scene.to())),
        "{text}"
    );
    assert_eq!(scene.plane.get(ADMIN, &claim_path(scene.to(), "data")).code, 404);
    permit(&plane, scene.to(), "true");
    until_ended(&scene, "data");
    scene.expect_moved("data", scene.to(), "data", "Delete");
}

/// Without the configuration, the metric shows that a move has not ended.
fn the_controller_resumes_no_move_unless_it_is_configured() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let (scene, proxy) = (permitting(&plane, "not-configured"), Proxy::start(&plane));
    scene.pair("data");
    let claim = format!("pvc/{}/data", scene.objects.namespace());
    let transfer = ["transfer", &claim, "--to", scene.to()];
    cut_off(&scene, &proxy, Trouble::AwayAfterWrites(WRITES_BEFORE_LOSS), &transfer);
    let silent = Resuming::with(&plane, "observe", "trash: {keep: 3s}\n");
    silent.until_one_is_seen();
    // A volume that goes from its trash shows that it has led for longer than another would wait.
    scene.pair("other");
    until_policy(&scene, "other", "Retain");
    scene.delete("other");
    until_policy(&scene, "other", "Delete");
    assert!(scene.volume("data").pointer(MOVE).is_some());
    drop(silent);
    let _controller = Resuming::start(&plane, "observe");
    until_ended(&scene, "data");
    scene.expect_moved("data", scene.to(), "data", "Delete");
}

//! Moves whose command is cut off from the API server, before and after each write: the same command ends them.

use hyper::Method;
use serde_json::json;

use super::scene::{PATIENCE, Scene, bindery};
use crate::controller::{Controller, Election};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};
use crate::proxy::{Proxy, Trouble};
use crate::runner::{Case, case, extent};

pub(crate) const CASES: &[Case] = &[
    case!(a_transfer_that_is_cut_off_is_resumed),
    case!(a_transfer_that_is_cut_off_is_undone),
    case!(a_swap_that_is_cut_off_is_resumed),
    case!(a_rescue_under_another_name_that_is_cut_off_is_resumed),
    case!(the_undoing_of_a_swap_that_is_cut_off_is_resumed),
    case!(a_rescue_of_a_volume_that_is_being_deleted_is_resumed),
    case!(each_of_them_is_resumed_beside_the_controller_that_binds),
    case!(a_claim_that_is_created_again_meanwhile_is_not_moved_instead),
];

/// The places at which a command is cut off, with their numbers.
type Cuts<'a> = &'a mut dyn Iterator<Item = (usize, Trouble)>;

/// Commands that are cut off, all of which end the same.
type Scenario = fn(&Scene<'_>, &Proxy, Cuts<'_>);

/// A scenario, the namespace in which it runs, and the writes of its command.
const SCENARIOS: [(Scenario, &str, usize); 6] = [
    (resumed_transfers, "resumed", WRITES),
    (undone_transfers, "undone", WRITES),
    (resumed_swaps, "swapped", 2 * WRITES),
    // The claim is gone already.
    (resumed_rescues, "rescued", WRITES - 1),
    (resumed_undoings, "swapped-back", 2 * WRITES),
    // Three of them make the volume again. It is reserved for the name of its claim: the binder may be first to reserve it.
    (resumed_replacements, "replaced", WRITES + 1),
];

fn a_transfer_that_is_cut_off_is_resumed() {
    beside_the_in_tree_binder(0);
}

fn a_transfer_that_is_cut_off_is_undone() {
    beside_the_in_tree_binder(1);
}

fn a_swap_that_is_cut_off_is_resumed() {
    beside_the_in_tree_binder(2);
}

fn a_rescue_under_another_name_that_is_cut_off_is_resumed() {
    beside_the_in_tree_binder(3);
}

fn the_undoing_of_a_swap_that_is_cut_off_is_resumed() {
    beside_the_in_tree_binder(4);
}

fn a_rescue_of_a_volume_that_is_being_deleted_is_resumed() {
    beside_the_in_tree_binder(5);
}

fn beside_the_in_tree_binder(scenario: usize) {
    let (scenario, namespace, writes) = SCENARIOS[scenario];
    let scene = Scene::new(Plane::shared(Peers::WithBinder), namespace);
    scenario(&scene, &Proxy::start(scene.plane), &mut cuts(writes).enumerate());
}

/// Every third place, or each with `--full`: the steps are the same as beside the other binder.
fn each_of_them_is_resumed_beside_the_controller_that_binds() {
    let plane = Plane::start(Peers::WithoutBinder).unwrap_or_else(|error| panic!("{error}"));
    let _controller = Controller::start(&plane, Election::None);
    let every = if extent().is_full { 1 } else { 3 };
    for (scenario, namespace, writes) in SCENARIOS {
        let scene = Scene::new(&plane, namespace);
        let mut cuts = cuts(writes).enumerate().step_by(every);
        scenario(&scene, &Proxy::start(&plane), &mut cuts);
    }
}

/// The writes of a move.
const WRITES: usize = 5;

/// The places at which a command of so many writes is cut off. Without `--full`, an answer is lost only where nothing is left
/// to write: after any other, the API server holds what it holds when it is away after that write.
pub(super) fn cuts(writes: usize) -> impl Iterator<Item = Trouble> {
    let first_lost = if extent().is_full { 1 } else { writes };
    (0..writes).map(Trouble::AwayAfterWrites).chain((first_lost..=writes).map(Trouble::LostAnswer))
}

/// Runs the command until it is cut off.
pub(super) fn cut_off(scene: &Scene<'_>, proxy: &Proxy, trouble: Trouble, arguments: &[&str]) {
    let kubeconfig = proxy.kubeconfig(scene.plane, ADMIN);
    proxy.set(trouble);
    let arguments = [arguments, &["--timeout", "1s", "--request-timeout", "5s"]].concat();
    let cut = bindery(&kubeconfig, &arguments);
    assert_ne!(cut.code, Some(0), "{trouble:?}: {cut:?}");
}

fn resumed_transfers(scene: &Scene<'_>, proxy: &Proxy, cuts: Cuts<'_>) {
    let from = scene.objects.namespace();
    for (index, trouble) in cuts {
        let name = format!("data-{index}");
        scene.pair(&name);
        let claim = format!("pvc/{from}/{name}");
        let transfer = ["transfer", &claim, "--to", scene.to()];
        cut_off(scene, proxy, trouble, &transfer);
        if matches!(trouble, Trouble::AwayAfterWrites(1..)) {
            let volume = format!("pv/{}", scene.objects.name(&name));
            let explained = scene.bindery(&["explain", &volume]);
            let command = format!("bindery transfer {claim} --to {}/{name}", scene.to());
            assert!(explained.text.contains(&command), "{trouble:?}: {explained:?}");
            let planned = scene.bindery(&["plan"]);
            assert!(planned.text.contains("that has not ended"), "{trouble:?}: {planned:?}");
        }
        scene.bindery(&transfer).expect_ok();
        scene.expect_moved(&name, scene.to(), &name, "Delete");
        assert_eq!(scene.plane.get(ADMIN, &claim_path(from, &name)).code, 404, "{trouble:?}");
    }
}

fn undone_transfers(scene: &Scene<'_>, proxy: &Proxy, cuts: Cuts<'_>) {
    let from = scene.objects.namespace();
    for (index, trouble) in cuts {
        let name = format!("data-{index}");
        scene.pair(&name);
        let claim = format!("pvc/{from}/{name}");
        cut_off(scene, proxy, trouble, &["transfer", &claim, "--to", scene.to()]);
        if trouble != Trouble::AwayAfterWrites(0) {
            scene.bindery(&["undo", &format!("pv/{}", scene.objects.name(&name))]).expect_ok();
        }
        scene.expect_moved(&name, from, &name, "Delete");
        assert_eq!(scene.plane.get(ADMIN, &claim_path(scene.to(), &name)).code, 404, "{trouble:?}");
    }
}

fn resumed_swaps(scene: &Scene<'_>, proxy: &Proxy, cuts: Cuts<'_>) {
    let from = scene.objects.namespace();
    for (index, trouble) in cuts {
        let ([one, two], [first, second]) = two_pairs(scene, index);
        let swap = ["swap", &first, &second, "-n", from];
        cut_off(scene, proxy, trouble, &swap);
        scene.bindery(&swap).expect_ok();
        scene.expect_moved(&one, from, &two, "Delete");
        scene.expect_moved(&two, from, &one, "Delete");
    }
}

fn resumed_rescues(scene: &Scene<'_>, proxy: &Proxy, cuts: Cuts<'_>) {
    let from = scene.objects.namespace();
    for (index, trouble) in cuts {
        let name = format!("data-{index}");
        scene.pair_with(&name, "Retain");
        scene.delete(&name);
        let (claim, to) = (format!("pvc/{from}/{name}"), format!("{from}/{name}-back"));
        let rescue = ["rescue", &claim, "--to", &to];
        cut_off(scene, proxy, trouble, &rescue);
        scene.bindery(&rescue).expect_ok();
        let path = claim_path(from, &format!("{name}-back"));
        let stored = scene.plane.get(ADMIN, &path).expect_ok();
        assert_eq!(stored["status"]["phase"], "Bound", "{trouble:?}");
        assert_eq!(stored["spec"]["volumeName"], scene.objects.name(&name), "{trouble:?}");
    }
}

/// Two bound pairs, and their claims as the command names them.
fn two_pairs(scene: &Scene<'_>, index: usize) -> ([String; 2], [String; 2]) {
    let names = ["one", "two"].map(|name| format!("{name}-{index}"));
    for name in &names {
        scene.pair(name);
    }
    let claims = names.each_ref().map(|name| format!("pvc/{name}"));
    (names, claims)
}

fn resumed_undoings(scene: &Scene<'_>, proxy: &Proxy, cuts: Cuts<'_>) {
    let from = scene.objects.namespace();
    for (index, trouble) in cuts {
        let ([one, two], [first, second]) = two_pairs(scene, index);
        scene.bindery(&["swap", &first, &second, "-n", from]).expect_ok();
        let undo = ["undo", &first, "-n", from];
        cut_off(scene, proxy, trouble, &undo);
        let again = scene.bindery(&undo);
        // After its last write, there is nothing left to undo.
        let is_done = trouble == Trouble::LostAnswer(2 * WRITES);
        assert_eq!(again.code, Some(i32::from(is_done)), "{trouble:?}: {again:?}");
        scene.expect_moved(&one, from, &one, "Delete");
        scene.expect_moved(&two, from, &two, "Delete");
    }
}

/// As after `kubectl delete pv`, of a pair whose reclaim policy is Delete.
fn resumed_replacements(scene: &Scene<'_>, proxy: &Proxy, cuts: Cuts<'_>) {
    let from = scene.objects.namespace();
    for (index, trouble) in cuts {
        let name = format!("data-{index}");
        scene.pair(&name);
        let former = scene.objects.name(&name);
        scene.plane.request(ADMIN, Method::DELETE, &volume_path(&former), Body::none()).expect_ok();
        let uid = scene.volume(&name)["metadata"]["uid"].as_str().unwrap().to_owned();
        let rescue = ["rescue", &format!("pv/{former}")];
        cut_off(scene, proxy, trouble, &rescue);
        // A person deletes the claim after the volume was created and before the move was recorded on it.
        if trouble == Trouble::AwayAfterWrites(2) {
            let path = claim_path(from, &name);
            scene.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
            until_gone(scene, &volume_path(&former));
            scene.bindery(&["rescue", &format!("pvc/{from}/{name}")]).expect_ok();
        } else {
            scene.bindery(&rescue).expect_ok();
        }
        let stored = scene.plane.get(ADMIN, &claim_path(from, &name)).expect_ok();
        let made = format!("{former}-{}", &uid[..8]);
        assert_eq!(stored["spec"]["volumeName"], made, "{trouble:?}");
        assert_eq!(stored["status"]["phase"], "Bound", "{trouble:?}");
        assert_eq!(stored["metadata"]["labels"]["app"], name, "{trouble:?}");
        assert_eq!(scene.plane.get(ADMIN, &volume_path(&former)).code, 404, "{trouble:?}");
        let volume = scene.plane.get(ADMIN, &volume_path(&made)).expect_ok();
        assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Delete", "{trouble:?}");
        assert_eq!(volume["spec"]["csi"]["volumeHandle"], former, "{trouble:?}");
        assert_eq!(volume["spec"]["claimRef"]["uid"], stored["metadata"]["uid"], "{trouble:?}");
        assert_eq!(volume.pointer("/metadata/annotations/bindery.dev~1move"), None, "{volume}");
    }
}

fn until_gone(scene: &Scene<'_>, path: &str) {
    eventually("it is gone", PATIENCE, || {
        let code = scene.plane.get(ADMIN, path).code;
        if code == 404 { Ok(()) } else { Err(code.to_string()) }
    });
}

/// As GitOps or an operator does: the same command still moves the first volume.
fn a_claim_that_is_created_again_meanwhile_is_not_moved_instead() {
    let scene = Scene::new(Plane::shared(Peers::WithBinder), "created-again");
    let proxy = Proxy::start(scene.plane);
    let from = scene.objects.namespace();
    scene.pair("data");
    let claim = format!("pvc/{from}/data");
    let transfer = ["transfer", &claim, "--to", scene.to()];
    cut_off(&scene, &proxy, Trouble::AwayAfterWrites(2), &transfer);
    scene.objects.volume("empty", &json!({}));
    scene.objects.claim("data", &json!({}));
    let path = claim_path(from, "data");
    eventually("the claim is bound", PATIENCE, || {
        let phase = scene.plane.get(ADMIN, &path).expect_ok()["status"]["phase"].clone();
        if phase == "Bound" { Ok(()) } else { Err(phase.to_string()) }
    });
    scene.bindery(&transfer).expect_ok();
    scene.expect_moved("data", scene.to(), "data", "Delete");
    let again = scene.plane.get(ADMIN, &path).expect_ok();
    assert_eq!(again["spec"]["volumeName"], scene.objects.name("empty"));
}

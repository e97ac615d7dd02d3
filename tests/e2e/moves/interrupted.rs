//! Moves whose command is cut off from the API server, before and after each write: the same command ends them.

use serde_json::json;

use super::scene::{PATIENCE, Scene, bindery};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Peers, Plane, claim_path};
use crate::proxy::{Proxy, Trouble};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(a_transfer_that_is_cut_off_is_resumed),
    case!(a_transfer_that_is_cut_off_is_undone),
    case!(a_swap_that_is_cut_off_is_resumed),
    case!(a_rescue_under_another_name_that_is_cut_off_is_resumed),
    case!(the_undoing_of_a_swap_that_is_cut_off_is_resumed),
    case!(a_claim_that_is_created_again_meanwhile_is_not_moved_instead),
];

/// The writes of a move.
const WRITES: usize = 5;

/// Every place at which a command can be cut off.
pub(super) fn cuts(writes: usize) -> impl Iterator<Item = Trouble> {
    (0..writes).map(Trouble::AwayAfterWrites).chain((1..=writes).map(Trouble::LostAnswer))
}

/// Runs the command until it is cut off.
fn cut_off(scene: &Scene<'_>, proxy: &Proxy, trouble: Trouble, arguments: &[&str]) {
    let kubeconfig = proxy.kubeconfig(scene.plane, ADMIN);
    proxy.set(trouble);
    let arguments = [arguments, &["--timeout", "1s", "--request-timeout", "5s"]].concat();
    let cut = bindery(&kubeconfig, &arguments);
    assert_ne!(cut.code, Some(0), "{trouble:?}: {cut:?}");
}

fn a_transfer_that_is_cut_off_is_resumed() {
    let scene = Scene::new(Plane::shared(Peers::WithBinder), "resumed");
    let proxy = Proxy::start(scene.plane);
    let from = scene.objects.namespace();
    for (index, trouble) in cuts(WRITES).enumerate() {
        let name = format!("data-{index}");
        scene.pair(&name);
        let claim = format!("pvc/{from}/{name}");
        let transfer = ["transfer", &claim, "--to", scene.to()];
        cut_off(&scene, &proxy, trouble, &transfer);
        scene.bindery(&transfer).expect_ok();
        scene.expect_moved(&name, scene.to(), &name, "Delete");
        assert_eq!(scene.plane.get(ADMIN, &claim_path(from, &name)).code, 404, "{trouble:?}");
    }
}

fn a_transfer_that_is_cut_off_is_undone() {
    let scene = Scene::new(Plane::shared(Peers::WithBinder), "undone");
    let proxy = Proxy::start(scene.plane);
    let from = scene.objects.namespace();
    for (index, trouble) in cuts(WRITES).enumerate() {
        let name = format!("data-{index}");
        scene.pair(&name);
        let claim = format!("pvc/{from}/{name}");
        cut_off(&scene, &proxy, trouble, &["transfer", &claim, "--to", scene.to()]);
        if trouble != Trouble::AwayAfterWrites(0) {
            scene.bindery(&["undo", &format!("pv/{}", scene.objects.name(&name))]).expect_ok();
        }
        scene.expect_moved(&name, from, &name, "Delete");
        assert_eq!(scene.plane.get(ADMIN, &claim_path(scene.to(), &name)).code, 404, "{trouble:?}");
    }
}

fn a_swap_that_is_cut_off_is_resumed() {
    let scene = Scene::new(Plane::shared(Peers::WithBinder), "swapped");
    let proxy = Proxy::start(scene.plane);
    let from = scene.objects.namespace();
    for (index, trouble) in cuts(2 * WRITES).enumerate() {
        let ([one, two], [first, second]) = two_pairs(&scene, index);
        let swap = ["swap", &first, &second, "-n", from];
        cut_off(&scene, &proxy, trouble, &swap);
        scene.bindery(&swap).expect_ok();
        scene.expect_moved(&one, from, &two, "Delete");
        scene.expect_moved(&two, from, &one, "Delete");
    }
}

fn a_rescue_under_another_name_that_is_cut_off_is_resumed() {
    let scene = Scene::new(Plane::shared(Peers::WithBinder), "rescued");
    let proxy = Proxy::start(scene.plane);
    let from = scene.objects.namespace();
    // The claim is gone already.
    for (index, trouble) in cuts(WRITES - 1).enumerate() {
        let name = format!("data-{index}");
        scene.pair_with(&name, "Retain");
        scene.delete(&name);
        let (claim, to) = (format!("pvc/{from}/{name}"), format!("{from}/{name}-back"));
        let rescue = ["rescue", &claim, "--to", &to];
        cut_off(&scene, &proxy, trouble, &rescue);
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

fn the_undoing_of_a_swap_that_is_cut_off_is_resumed() {
    let scene = Scene::new(Plane::shared(Peers::WithBinder), "swapped-back");
    let proxy = Proxy::start(scene.plane);
    let from = scene.objects.namespace();
    for (index, trouble) in cuts(2 * WRITES).enumerate() {
        let ([one, two], [first, second]) = two_pairs(&scene, index);
        scene.bindery(&["swap", &first, &second, "-n", from]).expect_ok();
        let undo = ["undo", &first, "-n", from];
        cut_off(&scene, &proxy, trouble, &undo);
        let again = scene.bindery(&undo);
        // After its last write, there is nothing left to undo.
        let is_done = trouble == Trouble::LostAnswer(2 * WRITES);
        assert_eq!(again.code, Some(i32::from(is_done)), "{trouble:?}: {again:?}");
        scene.expect_moved(&one, from, &one, "Delete");
        scene.expect_moved(&two, from, &two, "Delete");
    }
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

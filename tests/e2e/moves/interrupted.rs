//! Moves whose command is cut off from the API server, before and after each write: the same command ends them.

use super::scene::{Scene, bindery};
use crate::plane::persona::ADMIN;
use crate::plane::{Peers, Plane, claim_path};
use crate::proxy::{Proxy, Trouble};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(a_transfer_that_is_cut_off_is_resumed),
    case!(a_transfer_that_is_cut_off_is_undone),
    case!(a_swap_that_is_cut_off_is_resumed),
];

/// The writes of a move.
const WRITES: usize = 5;

/// Every place at which a command can be cut off.
fn cuts(writes: usize) -> impl Iterator<Item = Trouble> {
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
        let (one, two) = (format!("one-{index}"), format!("two-{index}"));
        scene.pair(&one);
        scene.pair(&two);
        let (first, second) = (format!("pvc/{one}"), format!("pvc/{two}"));
        let swap = ["swap", &first, &second, "-n", from];
        cut_off(&scene, &proxy, trouble, &swap);
        scene.bindery(&swap).expect_ok();
        scene.expect_moved(&one, from, &two, "Delete");
        scene.expect_moved(&two, from, &one, "Delete");
    }
}

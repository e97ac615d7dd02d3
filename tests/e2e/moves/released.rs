//! `bindery release` of a volume of the trash: it stays until the next claim of its name has it, and is held again then.

use hyper::Method;
use serde_json::{Value, json};

use super::scene::{PATIENCE, Scene};
use super::trash::{Binder, Trash, record, until_over};
use crate::controller::Controller;
use crate::eventually::eventually;
use crate::metrics::{scrape, sum};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, claim_path};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(a_volume_that_the_trash_offers_is_released),
    case!(a_volume_that_is_released_before_the_controller_has_seen_it_is_not_lost),
];

const CONFIGURATION: &str =
    "apiVersion: bindery.dev/v1\nkind: Config\ntrash: {keep: 5s, soft: true}\n";

fn delete(scene: &Scene<'_>, claim: &str) {
    let path = claim_path(scene.objects.namespace(), claim);
    scene.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
}

fn until_bound(scene: &Scene<'_>, claim: &str) -> Value {
    let path = claim_path(scene.objects.namespace(), claim);
    eventually(&format!("{claim} is Bound"), PATIENCE, || {
        let claim = scene.plane.get(ADMIN, &path).expect_ok();
        if claim["status"]["phase"] == "Bound" { Ok(claim) } else { Err(claim.to_string()) }
    })
}

/// Waits until the trash has set the former policy again.
fn until_let_go(trash: &Trash<'_>, name: &str) {
    trash.until(name, "it follows its policy", |volume| {
        record(volume).is_none() && volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    });
}

/// A pair whose claim is deleted, and its volume as the trash offers it.
fn offered(scene: &Scene<'_>, trash: &Trash<'_>, pair: &str) -> Value {
    let name = scene.objects.name(pair);
    scene.pair(pair);
    trash.until_held(&name);
    delete(scene, pair);
    trash.until(&name, "it is offered", |volume| {
        record(volume).is_some_and(|record| record["release"]["offered"] == true)
            && volume["status"]["phase"] == "Available"
    })
}

#[track_caller]
fn expect_reserved(scene: &Scene<'_>, pair: &str) {
    let volume = scene.volume(pair);
    assert_eq!(volume["status"]["phase"], "Available", "{volume}");
    assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{volume}");
    assert_eq!(volume["spec"]["claimRef"]["name"], pair, "{volume}");
    assert_eq!(volume["spec"]["claimRef"].get("uid"), None, "{volume}");
}

/// The trash list and the emptying of it.
fn expect_told(scene: &Scene<'_>, pair: &str) {
    let listed = scene.bindery(&["trash"]).expect_ok();
    let row = listed.lines().find(|row| row.contains(&scene.objects.name(pair)));
    assert!(row.is_some_and(|row| row.ends_with("no: reserved")), "{listed}");
    let page = scene.bindery(&["trash", "-o", "html"]).expect_ok();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains(&scene.objects.name(pair)));
    let claim = format!("pvc/{pair}");
    let empty = ["trash", "empty", &claim, "-n", scene.objects.namespace(), "--yes"];
    let denied = scene.bindery(&empty).expect_failed(1);
    assert!(denied.contains("does not go; to delete it, run `bindery rescue pv/"), "{denied}");
}

/// The advice of `bindery trash empty`, word by word: the volume goes.
fn empty_as_advised(scene: &Scene<'_>, trash: &Trash<'_>, pair: &str) {
    let name = scene.objects.name(pair);
    scene.bindery(&["rescue", &format!("pv/{name}")]).expect_ok();
    trash.until_held(&name);
    delete(scene, pair);
    trash.until(&name, "its release is recorded", |volume| {
        record(volume).is_none_or(|record| !record["release"].is_null())
    });
    until_let_go(trash, &name);
}

fn a_volume_that_the_trash_offers_is_released() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let trash = Trash::on(&plane, Binder::InTree, CONFIGURATION);
    let _controller = trash.start();
    let scene = Scene::new(&plane, "released");
    let from = scene.objects.namespace();
    for pair in ["data", "unused"] {
        let before = offered(&scene, &trash, pair);
        for _ in 0..2 {
            scene.bindery(&["release", &format!("pvc/{pair}"), "-n", from]).expect_ok();
        }
        expect_told(&scene, pair);
        until_over(&before);
    }
    // One whose time is over later has gone: the controller has decided about all of them.
    offered(&scene, &trash, "later");
    until_let_go(&trash, &scene.objects.name("later"));
    for pair in ["data", "unused"] {
        expect_reserved(&scene, pair);
    }
    // Of the same class and size: it has neither.
    scene.objects.claim("other", &json!({}));
    scene.objects.claim("data", &json!({}));
    let claim = until_bound(&scene, "data");
    assert_eq!(claim["spec"]["volumeName"], scene.objects.name("data"), "{claim}");
    let other = scene.plane.get(ADMIN, &claim_path(from, "other")).expect_ok();
    assert_eq!(other["status"]["phase"], "Pending", "{other}");
    // It is in the care of the trash again, with the policy of before.
    trash.until_held(&scene.objects.name("data"));
    delete(&scene, "data");
    until_let_go(&trash, &scene.objects.name("data"));
    empty_as_advised(&scene, &trash, "unused");
}

/// A person is faster than the controller, or it does not run: no release is recorded.
fn a_volume_that_is_released_before_the_controller_has_seen_it_is_not_lost() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let trash = Trash::on(&plane, Binder::InTree, CONFIGURATION);
    let controller = trash.start();
    let scene = Scene::new(&plane, "unseen");
    scene.pair("data");
    trash.until_held(&scene.objects.name("data"));
    drop(controller);
    scene.delete("data");
    scene.bindery(&["release", "pvc/data", "-n", scene.objects.namespace()]).expect_ok();
    let controller = trash.start();
    until_blocked(&controller, 1);
    expect_reserved(&scene, "data");
    expect_told(&scene, "data");
    scene.objects.claim("data", &json!({}));
    let claim = until_bound(&scene, "data");
    assert_eq!(claim["spec"]["volumeName"], scene.objects.name("data"), "{claim}");
    trash.until_held(&scene.objects.name("data"));
    until_blocked(&controller, 0);
}

/// Waits until the metrics say of so many volumes that a person has reserved them.
fn until_blocked(controller: &Controller, expected: u64) {
    eventually("its metrics say so", PATIENCE, || {
        let metrics = scrape(&controller.log());
        let by_hand = ["reason=\"reserved-by-hand\""];
        let count = sum(&metrics, "bindery_trash_blocked_volumes", &by_hand);
        if count == expected { Ok(()) } else { Err(metrics) }
    });
}

//! Claims of the same shape wait while volumes move: none gets one. By hand, with `spec.claimRef` cleared in between, one does.

use std::thread;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use super::scene::{PATIENCE, Scene};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] =
    &[case!(no_claim_takes_a_volume_that_moves), case!(by_hand_another_claim_takes_the_volume)];

pub(crate) const LENGTHY: &[Case] = &[case!(no_claim_takes_a_volume_in_a_thousand_moves)];

/// Claims that wait for a volume of the same class, size and modes.
const THIEVES: usize = 64;

/// Volumes that move at the same time.
const VOLUMES: usize = 4;

/// The binder looks again every 15 seconds, and the machine may be busy.
const SOON: Duration = Duration::from_mins(1);

fn no_claim_takes_a_volume_that_moves() {
    move_there_and_back("thieves", 2);
}

fn no_claim_takes_a_volume_in_a_thousand_moves() {
    move_there_and_back("many-thieves", 1_000 / VOLUMES / 2);
}

fn wait_for_volumes(scene: &Scene<'_>) {
    for thief in 0..THIEVES {
        scene.objects.claim(&format!("thief-{thief}"), &json!({}));
    }
}

/// The thieves that have a volume.
fn served(scene: &Scene<'_>) -> Vec<String> {
    let claims = format!("/api/v1/namespaces/{}/persistentvolumeclaims", scene.objects.namespace());
    let list = scene.plane.get(ADMIN, &claims).expect_ok();
    let items = list["items"].as_array().unwrap();
    let has_volume = |claim: &&Value| claim["spec"]["volumeName"].is_string();
    let names =
        items.iter().filter(has_volume).map(|claim| claim["metadata"]["name"].as_str().unwrap());
    names.filter(|name| name.starts_with("thief-")).map(str::to_owned).collect()
}

/// Moves each volume to the other namespace and back, in so many rounds.
fn move_there_and_back(case: &str, rounds: usize) {
    let scene = Scene::new(Plane::shared(Peers::WithBinder), case);
    wait_for_volumes(&scene);
    let names: Vec<String> = (0..VOLUMES).map(|volume| format!("data-{volume}")).collect();
    for name in &names {
        scene.pair(name);
    }
    let (from, to) = (scene.objects.namespace(), scene.to());
    thread::scope(|scope| {
        for name in &names {
            let scene = &scene;
            scope.spawn(move || {
                for _ in 0..rounds {
                    let (there, back) = (format!("pvc/{from}/{name}"), format!("pvc/{to}/{name}"));
                    scene.bindery(&["transfer", &there, "--to", to]).expect_ok();
                    scene.bindery(&["transfer", &back, "--to", from]).expect_ok();
                }
            });
        }
    });
    assert_eq!(served(&scene), Vec::<String>::new());
    for name in &names {
        scene.expect_moved(name, from, name, "Delete");
    }
}

fn by_hand_another_claim_takes_the_volume() {
    let scene = Scene::new(Plane::shared(Peers::WithBinder), "by-hand");
    wait_for_volumes(&scene);
    scene.pair_with("data", "Retain");
    scene.delete("data");
    let path = volume_path(&scene.objects.name("data"));
    let free = Body::merge_patch(&json!({"spec": {"claimRef": null}}));
    scene.plane.request(ADMIN, Method::PATCH, &path, free).expect_ok();
    eventually("a claim takes the volume", SOON, || {
        let served = served(&scene);
        if served.len() == 1 { Ok(()) } else { Err(format!("{served:?}")) }
    });
    // What it was cleared for comes too late.
    let name = scene.objects.name("data");
    scene.objects.claim("data", &json!({"spec": {"volumeName": name}}));
    let late = claim_path(scene.objects.namespace(), "data");
    eventually("the binder says so", PATIENCE, || {
        let events = format!("/api/v1/namespaces/{}/events", scene.objects.namespace());
        let events = scene.plane.get(ADMIN, &events).expect_ok().to_string();
        let is_late = events.contains("already bound to a different claim");
        if is_late { Ok(()) } else { Err(events) }
    });
    assert_eq!(scene.plane.get(ADMIN, &late).expect_ok()["status"]["phase"], "Pending");
}

//! What `--dry-run` shows of a move: `check` judges it as the webhook does, and it is what is written.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hyper::Method;
use serde_json::{Map, Value, json};

use super::scene::{STRICT, Scene, strict};
use crate::installed::{Installed, Registered};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(check_judges_what_a_move_shows_and_it_writes_just_that)];

fn check_judges_what_a_move_shows_and_it_writes_just_that() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let scene = Scene::new(&plane, "shown");
    let (from, to) = (scene.objects.namespace(), scene.to());
    // Before the rules are there: a pair made by hand has annotations of the binder, which they deny.
    for name in ["one", "two", "terminating"] {
        scene.pair(name);
    }
    scene.pair_with("kept", "Retain");
    scene.delete("kept");
    let terminating = volume_path(&scene.objects.name("terminating"));
    plane.request(ADMIN, Method::DELETE, &terminating, Body::none()).expect_ok();
    let _installed = Installed::under(strict(), &plane, Registered::Everything);
    scene.await_rules("one");
    let moved = format!("pvc/{to}/one");
    let volume = format!("pv/{}", scene.objects.name("terminating"));
    without_its_second_write_it_is_denied(&scene, &["transfer", "pvc/one", "-n", from, "--to", to]);
    let commands: [&[&str]; 6] = [
        &["transfer", "pvc/one", "-n", from, "--to", to],
        &["undo", &moved],
        &["rename", "pvc/one", "renamed", "-n", from],
        &["swap", "pvc/renamed", "pvc/two", "-n", from],
        &["rescue", "pvc/kept", "-n", from],
        &["rescue", &volume],
    ];
    for command in commands {
        is_written_as_shown(&scene, command);
    }
}

/// The reviews that a command shows, and the file that they are in.
fn shown(scene: &Scene<'_>, command: &[&str]) -> Vec<Value> {
    let text = scene.bindery(&[command, &["--dry-run", "-o", "json"]].concat()).expect_ok();
    let mut list: Value = serde_json::from_str(&text).unwrap();
    serde_json::from_value(list["items"].take()).unwrap()
}

/// What `check` prints about reviews, and its exit code.
fn checked(scene: &Scene<'_>, reviews: &[Value]) -> (Option<i32>, String) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": reviews});
    let folder = tempfile::tempdir().unwrap();
    let (file, config) = (folder.path().join("reviews.json"), folder.path().join("strict.yaml"));
    fs::write(&file, list.to_string()).unwrap();
    fs::write(&config, STRICT).unwrap();
    let judged = ["-f", path(&file), "--live", "cluster", "--config", path(&config)];
    let printed = scene.bindery(&[&["check"], &judged[..]].concat());
    (printed.code, printed.text + &printed.errors)
}

fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

/// Each review is judged on what those before left.
fn without_its_second_write_it_is_denied(scene: &Scene<'_>, command: &[&str]) {
    let mut reviews = shown(scene, command);
    assert_eq!(reviews.remove(1)["request"]["operation"], "DELETE");
    let (code, text) = checked(scene, &reviews);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("[bound-volume-claim-ref]"), "{text}");
}

fn is_written_as_shown(scene: &Scene<'_>, command: &[&str]) {
    let reviews = shown(scene, command);
    let user = &reviews[0]["request"]["userInfo"]["username"];
    assert_eq!(user, "admin", "{user}");
    let (code, text) = checked(scene, &reviews);
    assert_eq!(code, Some(0), "{command:?}: {text}");
    let printed = scene.bindery(command).expect_ok();
    // What names a claim without a uid, the binder may reserve first.
    let of_binder = usize::from(!printed.contains("is reserved for PVC"));
    assert_eq!(printed.matches('✓').count() + of_binder, reviews.len(), "{printed}");
    let paths: BTreeSet<String> = reviews.iter().map(path_of).collect();
    for path in paths {
        let last = reviews.iter().rfind(|review| path_of(review) == path).unwrap();
        is_stored(scene, &path, &last["request"]);
    }
}

/// The path of the object that a review is about.
fn path_of(review: &Value) -> String {
    let request = &review["request"];
    let text = |field: &str| request[field].as_str().unwrap_or_default();
    match text("namespace") {
        "" => volume_path(text("name")),
        namespace => claim_path(namespace, text("name")),
    }
}

/// The object is stored as the last request about it shows: but for what only the API server and the binder write.
#[track_caller]
fn is_stored(scene: &Scene<'_>, path: &str, request: &Value) {
    let stored = scene.plane.get(ADMIN, path);
    let is_terminating = request.pointer("/object/metadata/deletionTimestamp").is_some();
    if request["operation"] == "DELETE" || is_terminating {
        assert_eq!(stored.code, 404, "{path}: {stored:?}");
        return;
    }
    let stored = stored.expect_ok();
    let shown = request["object"].to_string();
    // The uid of a claim that is created is not known before.
    let created = format!("created-for-{}", volume_of(&stored));
    let uid = stored.pointer("/spec/claimRef/uid").and_then(Value::as_str).unwrap_or_default();
    let shown: Value = serde_json::from_str(&shown.replace(&created, uid)).unwrap();
    for field in ["/metadata/labels", "/metadata/annotations", "/spec"] {
        assert_eq!(of_people(&shown, field), of_people(&stored, field), "{path} {field}");
    }
}

/// The name of the volume that an object is, or is of.
fn volume_of(object: &Value) -> &str {
    let name = object["spec"]["volumeName"].as_str();
    name.or_else(|| object["metadata"]["name"].as_str()).unwrap_or_default()
}

/// A map of an object, without what is empty and what the binder writes.
fn of_people(object: &Value, field: &str) -> Map<String, Value> {
    let mut map = object.pointer(field).and_then(Value::as_object).cloned().unwrap_or_default();
    map.retain(|key, _| !key.starts_with("pv.kubernetes.io/bind") && !key.starts_with("volume."));
    if let Some(claim) = map.get_mut("claimRef").and_then(Value::as_object_mut) {
        claim.remove("resourceVersion");
    }
    map
}

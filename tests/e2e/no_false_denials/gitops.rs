//! Manifests that are applied again and again over what has been bound since, by kubectl's own commands.
//!
//! The manifests say what a person would write: of the claimRef at most the name, and nothing of what
//! binder, protection and API server have added.

use std::time::Duration;

use serde_json::{Value, json};

use super::world::World;
use crate::eventually::{eventually, wait};
use crate::installed::{Installed, Registered};
use crate::plane::persona::STORAGE_ADMIN;
use crate::plane::{Output, Peers, Plane};
use crate::runner::extent;
use crate::storage_lifecycle::strict;

/// Returns how often all of it is applied.
fn rounds() -> usize {
    if extent().is_full { 20 } else { 3 }
}

/// Long enough for a binder to act on what it should not have seen.
const WHILE: Duration = Duration::from_secs(2);

/// As kubectl compares what it applied last.
const BY_CLIENT: &[&str] = &["apply", "-f", "-"];

/// Two field managers that both own all of it. Who changes from the client's way to this one does so once.
const BY_SERVER: [&[&str]; 2] = [
    &["apply", "--server-side", "--field-manager=one", "-f", "-"],
    &["apply", "--server-side", "--field-manager=two", "-f", "-"],
];

pub(super) fn a_manifest_applied_again_changes_nothing() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let _installed = Installed::under(strict(), &plane, Registered::Everything);
    let world = World::new(&plane, "by-client");
    await_mutations(&world);
    apply_again(&world, &[BY_CLIENT]);
    apply_again(&World::new(&plane, "by-server"), &BY_SERVER);
}

/// Applies all manifests in these ways, and again once they are bound.
fn apply_again(world: &World<'_>, ways: &[&[&str]]) {
    let manifests = manifests(world);
    let text = json!({"apiVersion": "v1", "kind": "List", "items": manifests}).to_string();
    for how in ways {
        run(world, how, &text).expect_ok();
    }
    let paths: Vec<String> = manifests.iter().map(|object| path(world, object)).collect();
    let before: Vec<Value> =
        paths.iter().map(|path| reported(world.until(path, "Bound"))).collect();
    let versions = || {
        let version = |path: &String| world.get(path)["metadata"]["resourceVersion"].clone();
        paths.iter().map(version).collect::<Vec<_>>()
    };
    // The writes of a bind are over when both sides are bound; those of protection may not be.
    wait(WHILE);
    let settled = versions();
    for round in 0..rounds() {
        for how in ways {
            let output = run(world, how, &text);
            assert!(!output.stderr.contains("Warning"), "{how:?} warns: {}", output.stderr);
            output.expect_ok();
            for (path, before) in paths.iter().zip(&before) {
                assert_eq!(reported(world.get(path)), *before, "{how:?} in round {round}");
            }
        }
    }
    wait(WHILE);
    assert_eq!(versions(), settled, "a writer has touched {}", world.name);
    println!(
        "{}: {} objects applied {} times in {} ways",
        world.name,
        paths.len(),
        rounds(),
        ways.len()
    );
}

/// Returns what is not the bookkeeping of the API server, nor the note of Kubernetes 1.37 that no pod uses a claim,
/// which comes some time after the binding (`pvc_protection_controller.go`, `Unused`).
fn reported(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.remove("managedFields");
    metadata.remove("resourceVersion");
    if let Some(status) = object["status"].as_object_mut()
        && let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut)
    {
        conditions.retain(|condition| condition["type"] != "Unused");
        if conditions.is_empty() {
            status.remove("conditions");
        }
    }
    object
}

/// Volumes and claims that were matched, and that were made for each other from either side.
fn manifests(world: &World<'_>) -> Vec<Value> {
    let mut objects = Vec::new();
    for number in 0..4 {
        let (matched, kept, named) =
            (format!("m{number}"), format!("k{number}"), format!("n{number}"));
        objects.push(world.volume_of(&matched, &json!({})));
        objects.push(world.claim_of(&matched, &json!({})));
        // Modes and sizes keep those that are made for each other from being matched with anything else.
        let shared = json!(["ReadWriteMany"]);
        let reference = json!({"namespace": world.name, "name": kept});
        let reserved = json!({"spec": {"claimRef": reference, "accessModes": shared}});
        objects.push(world.volume_of(&kept, &reserved));
        objects.push(world.claim_of(&kept, &json!({"spec": {"accessModes": shared}})));
        let small = json!({"storage": "1Mi"});
        objects.push(world.volume_of(&named, &json!({"spec": {"capacity": small}})));
        let wish = json!({"spec":
            {"volumeName": world.named(&named), "resources": {"requests": small}}});
        objects.push(world.claim_of(&named, &wish));
    }
    objects
}

fn path(world: &World<'_>, object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap();
    match object["kind"].as_str() {
        Some("PersistentVolume") => crate::plane::volume_path(name),
        _ => world.claim_path(name),
    }
}

pub(super) fn what_a_manifest_drops_is_put_back() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let _installed = Installed::on(&plane, Registered::Everything);
    let world = World::new(&plane, "dropped");
    await_mutations(&world);
    replaced(&world);
    taken_out(&world);
    removed_by_three_way(&world);
}

/// `kubectl replace` of the manifest of a volume that has been bound since, with a claimRef and without.
fn replaced(world: &World<'_>) {
    for name in ["kept", "matched"] {
        let reference = json!({"spec": {"claimRef": {"namespace": world.name, "name": name}}});
        let overlay = if name == "kept" { reference } else { json!({}) };
        let manifest = world.volume_of(name, &overlay);
        run(world, &["create", "-f", "-"], &manifest.to_string()).expect_ok();
        world.claim(name, &json!({}));
        let before = bound(world, name);
        for _ in 0..rounds() {
            let output = run(world, &["replace", "-f", "-"], &manifest.to_string());
            mutated(world, name, &before, &output);
        }
        // The last one to be matched is settled, so that the next claim cannot take another's volume.
        bound(world, name);
    }
}

/// A server-side apply of a manifest that named the claim and no longer does.
fn taken_out(world: &World<'_>) {
    let name = "taken";
    let reference = json!({"spec": {"claimRef": {"namespace": world.name, "name": name}}});
    let apply = BY_SERVER[0];
    run(world, apply, &world.volume_of(name, &reference).to_string()).expect_ok();
    world.claim(name, &json!({}));
    let before = bound(world, name);
    let output = run(world, apply, &world.volume_of(name, &json!({})).to_string());
    mutated(world, name, &before, &output);
    // It owns nothing of claimRef now, so that there is nothing left to mutate.
    let again = run(world, apply, &world.volume_of(name, &json!({})).to_string());
    assert!(!again.stderr.contains("Warning"), "{}", again.stderr);
    again.expect_ok();
}

/// Where kubectl itself finds that claimRef was taken out it asks to remove all of it, and nothing else: that
/// is intended, and denied.
fn removed_by_three_way(world: &World<'_>) {
    let name = "removed";
    let reference = json!({"spec": {"claimRef": {"namespace": world.name, "name": name}}});
    run(world, BY_CLIENT, &world.volume_of(name, &reference).to_string()).expect_ok();
    world.claim(name, &json!({}));
    let before = bound(world, name);
    let output = run(world, BY_CLIENT, &world.volume_of(name, &json!({})).to_string());
    let reported = output.expect_failed();
    assert!(reported.contains("[bound-volume-claim-ref] "), "{reported}");
    assert_eq!(bound(world, name), before);
}

/// Fails unless the command succeeded with a warning, and the pair is as it was.
fn mutated(world: &World<'_>, name: &str, before: &Value, output: &Output) {
    assert!(output.stderr.contains("Warning: [restore-binding] "), "{}", output.stderr);
    output.clone().expect_ok();
    wait(WHILE / u32::try_from(rounds()).unwrap());
    assert_eq!(bound(world, name), *before);
}

/// Returns what holds the pair together, once it is bound.
fn bound(world: &World<'_>, name: &str) -> Value {
    let claim = world.until(&world.claim_path(name), "Bound");
    let volume = world.until(&world.volume_path(name), "Bound");
    assert_eq!(claim["spec"]["volumeName"], volume["metadata"]["name"]);
    let reference = &volume["spec"]["claimRef"];
    assert_eq!(reference["uid"], claim["metadata"]["uid"]);
    let notes = volume["metadata"]["annotations"].as_object();
    let kept: Value = notes
        .into_iter()
        .flatten()
        .filter(|(key, _)| key.starts_with("pv.kubernetes.io/"))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    json!({
        "uid": reference["uid"], "namespace": reference["namespace"], "name": reference["name"],
        "finalizers": volume["metadata"]["finalizers"], "notes": kept,
    })
}

fn run(world: &World<'_>, arguments: &[&str], manifest: &str) -> Output {
    world.plane.kubectl(STORAGE_ADMIN, arguments, manifest)
}

/// Waits until the API server asks for mutations.
fn await_mutations(world: &World<'_>) {
    let claims = format!("/api/v1/namespaces/{}/persistentvolumeclaims?dryRun=All", world.name);
    let exported = json!({"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}});
    eventually("the API server asks for mutations", Duration::from_secs(30), || {
        let reply = world.post(STORAGE_ADMIN, &claims, &world.claim_of("probe", &exported));
        match reply.json.pointer("/metadata/annotations") {
            None if reply.code < 300 => Ok(()),
            _ => Err(reply.to_string()),
        }
    });
}

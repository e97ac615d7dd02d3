//! The largest and strangest volumes and claims that the API server stores: each is made, bound, changed,
//! defended and deleted while every entry fails closed, with time enough for a slow machine.
//!
//! What is looked at is the shape only. Not here: how fast large reviews are, and what they cost (`benches`).

use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Map, Value, json};

use super::world::{VOLUMES, World, counted};
use crate::eventually::{eventually, wait};
use crate::installed::{Installed, MUTATING, Registered, VALIDATING};
use crate::plane::persona::{ADMIN, ARRANGER, STORAGE_ADMIN, TENANT};
use crate::plane::{Body, Peers, Plane, Reply};
use crate::runner::extent;

/// The warning on what was too large to be read whole.
const ESSENTIALS: &str = "the object is too large to be judged in full";

/// How long the machine may take for one step.
const PATIENCE: Duration = Duration::from_mins(1);

/// Kubernetes: all keys and values of annotations together, `TotalAnnotationSizeLimitB`.
const ANNOTATIONS_MAX: usize = 256 << 10;

/// Those that are quickly made, and those that say most. The others take the API server minutes.
const OFTEN: [&str; 6] = ["labels", "text", "finalizers", "huge", "selector", "tiny"];

pub(super) fn the_strangest_objects_are_judged() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let installed = Installed::on(&plane, Registered::Everything);
    fail_closed(&plane);
    let world = World::new(&plane, "strange");
    await_failing(&world);
    let is_due = |name: &str| extent().is_full || OFTEN.contains(&name);
    for (name, overlay) in volumes().into_iter().filter(|(name, _)| is_due(name)) {
        volume(&world, name, &overlay);
    }
    for (name, overlay) in claims().into_iter().filter(|(name, _)| is_due(name)) {
        claim(&world, name, &overlay);
    }
    many_managers(&world);
    let metrics = plane.get(ADMIN, "/metrics").text;
    let silent = counted(&metrics, "apiserver_admission_webhook_fail_open_count", &[]);
    assert_eq!(silent, 0, "a question had no answer");
    let failed = installed.metric("bindery_panics_total");
    assert!(failed.abs() < 0.5, "{failed} reviews ended in a panic");
}

/// Lets every entry of the product's registration fail closed, after ten seconds.
fn fail_closed(plane: &Plane) {
    for collection in [VALIDATING, MUTATING] {
        let path = format!("{collection}/{}", bindery::api::registration::NAME);
        let mut configuration = plane.get(ARRANGER, &path).expect_ok();
        for entry in configuration["webhooks"].as_array_mut().unwrap() {
            entry["failurePolicy"] = json!("Fail");
            entry["timeoutSeconds"] = json!(10);
        }
        plane.request(ARRANGER, Method::PUT, &path, Body::json(&configuration)).expect_ok();
    }
}

/// Waits until guard is asked and mutations are made; what has changed with them has taken effect before.
fn await_failing(world: &World<'_>) {
    world.pair("probe", &json!({}));
    let path = format!("{}?dryRun=All", world.volume_path("probe"));
    eventually("guard is asked", Duration::from_secs(30), || {
        let reply = world.delete(STORAGE_ADMIN, &path);
        if reply.code == 403 { Ok(()) } else { Err(reply.to_string()) }
    });
    wait(Duration::from_secs(2));
}

/// `count` short members with a value.
fn members(count: usize, prefix: &str, value: &str) -> Value {
    let members = (0..count).map(|number| (format!("{prefix}{number}"), json!(value)));
    Value::Object(members.collect::<Map<_, _>>())
}

/// As many annotations as there may be: three letters each, and nothing in them.
fn short_annotations() -> Value {
    const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let letter = |number: usize| char::from(LETTERS[number % LETTERS.len()]);
    let key = |number: usize| {
        let (tens, hundreds) = (number / LETTERS.len(), number / LETTERS.len().pow(2));
        [letter(number), letter(tens), letter(hundreds)].iter().collect::<String>()
    };
    // The binder adds notes of its own.
    let count = (ANNOTATIONS_MAX - 1_000) / 3;
    Value::Object((0..count).map(|number| (key(number), json!(""))).collect())
}

/// A driver's volume with one attribute of this text.
fn attribute(text: &str) -> Value {
    let driver = json!({
        "driver": "disk.example.com", "volumeHandle": format!("{}-{}", text.len(), text.escape_default().count()),
        "volumeAttributes": {"text": text},
    });
    json!({"spec": {"nfs": null, "csi": driver}})
}

/// Volumes by name: what is merged into an ordinary one.
fn volumes() -> Vec<(&'static str, Value)> {
    let options: Vec<String> = (0..60_000).map(|number| format!("o{number}")).collect();
    let host = |number: usize| {
        let host = format!("n{number}");
        json!({"matchExpressions":
            [{"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}]})
    };
    let terms: Vec<Value> = (0..12_000).map(host).collect();
    let many = json!({
        "driver": "disk.example.com", "volumeHandle": "many",
        "volumeAttributes": members(60_000, "a", "v"),
    });
    let mut volumes = decorated();
    volumes.extend([
        ("long", attribute(&"x".repeat(1_300_000))),
        // Six bytes each in JSON: twice three million make one review.
        ("control", attribute(&"\u{1}".repeat(480_000))),
        // Six bytes each in what the API server sends alone: twice nine million make one review.
        ("angles", attribute(&"<".repeat(1_300_000))),
        ("attributes", json!({"spec": {"nfs": null, "csi": many}})),
        ("options", json!({"spec": {"mountOptions": options}})),
        ("terms", json!({"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}})),
        ("huge", json!({"spec": {"capacity": {"storage": "9223372036854775807"}}})),
        ("fraction", json!({"spec": {"capacity": {"storage": "1073741824000000001n"}}})),
    ]);
    volumes
}

/// Those with strange metadata.
fn decorated() -> Vec<(&'static str, Value)> {
    let finalizer = |number: usize| format!("example.com/f{number}");
    let finalizers: Vec<String> = (0..5_000).map(finalizer).collect();
    let owner = |number: usize| {
        let uid = format!("00000000-0000-4000-8000-{number:012}");
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid})
    };
    let owners: Vec<Value> = (0..4_000).map(owner).collect();
    let notes = members(9_000, "pv.kubernetes.io/n-", "v");
    let unicode = "\u{0}\u{1b}\u{feff}\u{202e}\u{1f9ff}\\\"\n</script>".repeat(5_000);
    // An exemption may last a week at most.
    let until = jiff::Timestamp::now() + Duration::from_hours(24);
    let metadata = [
        ("labels", json!({"labels": members(30_000, "example.com/label-", "v")})),
        ("annotations", json!({"annotations": short_annotations()})),
        ("notes", json!({"annotations": notes})),
        ("text", json!({"annotations": {"example.com/text": unicode}})),
        ("finalizers", json!({"finalizers": finalizers})),
        // More than the webhook looks up are denied unless that is meant.
        (
            "owners",
            json!({"ownerReferences": owners, "annotations": {
                "allow.bindery.dev/orphan-owner": format!("{until} many owners"),
            }}),
        ),
    ];
    metadata.map(|(name, metadata)| (name, json!({"metadata": metadata}))).into()
}

/// From creation to the end.
fn volume(world: &World<'_>, name: &str, overlay: &Value) {
    let started = Instant::now();
    let path = world.volume_path(name);
    let made = world.post(STORAGE_ADMIN, VOLUMES, &world.volume_of(name, overlay));
    accepted(name, "made", &made);
    world.claim(name, &json!({"spec": {"volumeName": world.named(name)}}));
    world.until(&world.claim_path(name), "Bound");
    until(world, &path, "Bound");
    changed(world, name);
    let extent = defended(world, name);
    accepted(name, "given up", &world.delete(TENANT, &world.claim_path(name)));
    until(world, &path, "Released");
    accepted(name, "deleted", &world.delete(STORAGE_ADMIN, &path));
    let free = json!({"metadata": {"finalizers": null}});
    eventually("the volume goes", PATIENCE, || match world.patch(STORAGE_ADMIN, &path, &free) {
        reply if reply.code == 404 => Ok(()),
        reply => Err(head(&reply)),
    });
    println!("volume {name}: judged {extent}, in {:.1?}", started.elapsed());
}

/// What people do to bound volumes passes: a label, a note, and a change of spec, which guard is asked about.
fn changed(world: &World<'_>, name: &str) {
    let path = world.volume_path(name);
    let stored = world.get(&path)["spec"]["mountOptions"].clone();
    let mut options = stored.as_array().cloned().unwrap_or_default();
    options.push(json!("ro"));
    for change in [
        json!({"metadata": {"labels": {"changed": "yes"}}}),
        json!({"metadata": {"annotations": {"example.com/changed": "yes"}}}),
        json!({"spec": {"mountOptions": options}}),
    ] {
        accepted(name, "changed", &world.patch(STORAGE_ADMIN, &path, &change));
    }
}

/// Its deletion is denied, and that it shrinks, if it was read that far. Says how far.
fn defended(world: &World<'_>, name: &str) -> &'static str {
    let path = world.volume_path(name);
    denied(name, "bound-volume-delete", &world.delete(STORAGE_ADMIN, &path));
    let shrunk = json!({"spec": {"capacity": {"storage": "1Mi"}}});
    let reply = world.patch(STORAGE_ADMIN, &format!("{path}?dryRun=All"), &shrunk);
    if reply.warnings.iter().any(|warning| warning.starts_with(ESSENTIALS)) {
        return "by its essentials";
    }
    denied(name, "bound-volume-capacity", &reply);
    "in full"
}

/// Waits until the volume is in a phase, seldom looking: each look at it is megabytes.
fn until(world: &World<'_>, path: &str, phase: &str) {
    eventually(&format!("{path} is {phase}"), PATIENCE, || {
        let volume = world.get(path);
        if volume["status"]["phase"] == phase {
            return Ok(());
        }
        wait(Duration::from_millis(500));
        Err(volume["status"].to_string())
    });
}

/// Claims by name: what is merged into an ordinary one.
fn claims() -> Vec<(&'static str, Value)> {
    let of_metadata = |metadata: Value| json!({"metadata": metadata});
    let terms: Vec<Value> = (0..8_000)
        .map(|number| json!({"key": format!("k{number}"), "operator": "DoesNotExist"}))
        .collect();
    vec![
        ("labels", of_metadata(json!({"labels": members(30_000, "example.com/label-", "v")}))),
        ("annotations", of_metadata(json!({"annotations": short_annotations()}))),
        ("selector", json!({"spec": {"selector": {"matchExpressions": terms}}})),
        (
            "requests",
            json!({"spec": {"resources":
            {"requests": members(10_000, "example.com/c", "1e3")}}}),
        ),
        ("tiny", json!({"spec": {"resources": {"requests": {"storage": "1n"}}}})),
    ]
}

/// From creation to the end, as a namespace would be wedged by a claim that cannot be changed.
fn claim(world: &World<'_>, name: &str, overlay: &Value) {
    let started = Instant::now();
    let name = format!("claim-{name}");
    let mut object = world.claim_of(&name, overlay);
    // Nothing fits, so that it stays as it is.
    object["spec"]["storageClassName"] = json!("none");
    let claims = format!("/api/v1/namespaces/{}/persistentvolumeclaims", world.name);
    accepted(&name, "made", &world.post(TENANT, &claims, &object));
    let path = world.claim_path(&name);
    let label = json!({"metadata": {"labels": {"changed": "yes"}}});
    accepted(&name, "labelled", &world.patch(TENANT, &path, &label));
    let forged = json!({"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}});
    let reply = world.patch(TENANT, &format!("{path}?dryRun=All"), &forged);
    if !reply.warnings.iter().any(|warning| warning.starts_with(ESSENTIALS)) {
        denied(&name, "forged-binder-annotations", &reply);
    }
    accepted(&name, "deleted", &world.delete(TENANT, &path));
    world.until_gone(&path);
    println!("{name}: in {:.1?}", started.elapsed());
}

/// A volume with a history: many managers, each with labels of its own.
fn many_managers(world: &World<'_>) {
    const MANAGERS: usize = 40;
    world.pair("history", &json!({}));
    let path = world.volume_path("history");
    for number in 0..MANAGERS {
        let mine = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": world.named("history"), "labels": members(20, &format!("m{number}-"), "v")},
        });
        let apply = format!("{path}?fieldManager=manager-{number}");
        let body = Body::raw("application/apply-patch+yaml", mine.to_string());
        let reply = world.plane.request(STORAGE_ADMIN, Method::PATCH, &apply, body);
        accepted("history", "applied", &reply);
    }
    let managers = world.get(&path)["metadata"]["managedFields"].as_array().map_or(0, Vec::len);
    assert!(managers > MANAGERS, "{managers} managers");
    denied("history", "bound-volume-delete", &world.delete(STORAGE_ADMIN, &path));
}

/// Fails, with the head of the answer only, unless the request passed.
#[track_caller]
fn accepted(name: &str, what: &str, reply: &Reply) {
    assert!((200..300).contains(&reply.code), "{name} not {what}: {}", head(reply));
}

/// Fails unless the rule denied.
#[track_caller]
fn denied(name: &str, rule: &str, reply: &Reply) {
    let is_denied = reply.code == 403 && reply.text.contains(&format!("[{rule}] "));
    assert!(is_denied, "{name} not denied by {rule}: {}", head(reply));
}

fn head(reply: &Reply) -> String {
    let text: String = reply.text.chars().take(1_000).collect();
    format!("{} {text} {:?}", reply.code, reply.warnings)
}

//! The conversation that the simulated API server was measured against, played to the real one again:
//! what is recorded is what this server answers. `make generate` records it anew.
//!
//! The steps and the recording are in `tests/sim/conversation`, where they are replayed through the
//! simulated server.

mod hook;
#[path = "../../../sim/conversation/mod.rs"]
mod script;

use std::time::Duration;

use bindery::model::annotations::DEFAULT_CLASS;
use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, Reply};
use crate::recorder::Recorder;
use crate::runner::{Case, case};
use hook::Hook;
use script::{Names, Seen, Step, record, recorded, steps};

pub(crate) const CASES: &[Case] = &[
    case!(the_real_server_still_answers_as_recorded),
    case!(conditions_and_predicates_agree_on_it),
];

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sim/conversation/recorded.json");

fn the_real_server_still_answers_as_recorded() {
    // Fresh, and with nobody who writes: the first objects are those of the conversation.
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let hook = Hook::registered(&plane);
    let steps = steps();
    let mut seen = Seen::default();
    let mut heard = Vec::new();
    for step in &steps {
        let reply = send(&plane, &seen.fill(step));
        seen.remember(&document(step, &reply));
        let (warnings, reviews) = (&reply.warnings, hook.take());
        heard.push(record(step, reply.code, &document(step, &reply), warnings, &reviews));
        if step.method != "GET" && step.path.starts_with(CLASSES) {
            await_default_class(&plane);
            hook.take();
        }
    }
    if std::env::var_os("BINDERY_GENERATE").is_some() {
        let lines: Vec<String> = heard.iter().map(ToString::to_string).collect();
        std::fs::write(FILE, format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
        return;
    }
    let (mut then, mut now) = (Names::default(), Names::default());
    let recorded = recorded();
    let mut differences = Vec::new();
    for (number, entry) in heard.iter().enumerate() {
        let (before, after) =
            (then.level(recorded.get(number).unwrap_or(&Value::Null)), now.level(entry));
        if before != after {
            differences.push(format!("recorded: {before}\n     now: {after}"));
        }
    }
    println!("{} of {} replies are as recorded", heard.len() - differences.len(), heard.len());
    assert!(
        differences.is_empty() && recorded.len() == heard.len(),
        "run make generate if the server is right:\n{}",
        differences.join("\n")
    );
}

/// The same steps, which nobody refuses now. What follows from a refusal is missed; each write is compared all
/// the same.
fn conditions_and_predicates_agree_on_it() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let recorder = Recorder::on(&plane);
    let mut seen = Seen::default();
    for step in &steps() {
        let reply = send(&plane, &seen.fill(step));
        seen.remember(&document(step, &reply));
        if step.method != "GET" && step.path.starts_with(CLASSES) {
            await_default_class(&plane);
        }
    }
    let found = recorder.compare();
    println!("{} comparisons of condition and predicate", found.count);
    assert!(found.differences.is_empty(), "{}", found.differences.join("\n"));
    assert!(found.count > 100, "only {} comparisons", found.count);
}

const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";

/// Which class is the default, the server knows from a watch of its own: a claim that is made at once may get
/// the one of a moment ago.
fn await_default_class(plane: &Plane) {
    let listed = plane.get(ADMIN, CLASSES).expect_ok();
    let classes = listed["items"].as_array().cloned().unwrap_or_default();
    let is_default = |class: &&Value| class["metadata"]["annotations"][DEFAULT_CLASS] == "true";
    let defaults: Vec<&Value> =
        classes.iter().filter(is_default).map(|class| &class["metadata"]["name"]).collect();
    let probe = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "probe"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let path = "/api/v1/namespaces/default/persistentvolumeclaims?dryRun=All";
    eventually("the server knows the default class", Duration::from_secs(20), || {
        let made = plane.request(ADMIN, Method::POST, path, Body::json(&probe)).expect_ok();
        let given = made.pointer("/spec/storageClassName");
        let is_known = given.map_or(defaults.is_empty(), |class| defaults.contains(&class));
        if is_known { Ok(()) } else { Err(format!("{given:?}, not one of {defaults:?}")) }
    });
}

fn send(plane: &Plane, step: &Step) -> Reply {
    let method: Method = step.method.parse().unwrap();
    let body = match &step.body {
        Some(body) => Body::raw(step.content_type, body.to_string()),
        None => Body::none(),
    };
    plane.request(ADMIN, method, &step.path, body)
}

/// The document, or the events of a watch as a list.
fn document(step: &Step, reply: &Reply) -> Value {
    if step.path.contains("watch=true") && reply.code == 200 {
        let events = reply.text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        return events.collect();
    }
    reply.json.clone()
}

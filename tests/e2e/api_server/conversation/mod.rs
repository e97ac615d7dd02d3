//! The conversation that the simulated API server was measured against, played to the real one again:
//! what is recorded is what this server answers. `make generate` records it again.
//!
//! The steps and the recording are in `tests/simulation/api_server/conversation`, where they are replayed through the
//! simulated server.

mod hook;
#[path = "../../../simulation/api_server/conversation/mod.rs"]
mod script;

use std::collections::BTreeSet;
use std::time::Duration;

use bindery::model::annotations::DEFAULT_CLASS;
use hyper::Method;
use serde_json::{Value, json};

use crate::api_server::versions::record::{Facts, REFERENCE, Topic, verify, version};
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

const FILE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/simulation/api_server/conversation/recorded.json");

fn the_real_server_still_answers_as_recorded() {
    // Fresh, and without writers: the first objects are those of the conversation.
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let hook = Hook::registered(&plane);
    let steps = steps();
    let mut seen = Seen::default();
    let mut received = Vec::new();
    for step in &steps {
        let reply = send(&plane, &seen.fill(step));
        seen.remember(&document(step, &reply));
        let (warnings, reviews) = (&reply.warnings, hook.take());
        received.push(record(step, reply.code, &document(step, &reply), warnings, &reviews));
        if step.method != "GET" && step.path.starts_with(CLASSES) {
            await_default_class(&plane);
            hook.take();
        }
    }
    let (mut then, mut now) = (Names::default(), Names::default());
    let recorded = recorded();
    let mut differences = Vec::new();
    let same = Facts::from([
        ("replies".to_owned(), received.len().to_string()),
        (REWORDED.to_owned(), "0".to_owned()),
    ]);
    let mut facts = same.clone();
    for (number, entry) in received.iter().enumerate() {
        let (before, after) =
            (then.level(recorded.get(number).unwrap_or(&Value::Null)), now.level(entry));
        if before != after {
            differences.push(format!("recorded: {before}\n     now: {after}"));
            note(&mut facts, &before, &after);
        }
    }
    println!(
        "{} of {} replies are as recorded",
        received.len() - differences.len(),
        received.len()
    );
    let version = version(&plane);
    if version == REFERENCE && !(differences.is_empty() && recorded.len() == received.len()) {
        // What differs in nothing but names and times stays as it is recorded.
        assert!(
            std::env::var_os("BINDERY_GENERATE").is_some(),
            "run make generate if the server is right:\n{}",
            differences.join("\n")
        );
        let lines: Vec<String> = received.iter().map(ToString::to_string).collect();
        std::fs::write(FILE, format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
        facts = same;
    }
    verify(&version, Topic::Conversation, &facts);
}

/// The fact about denials with the same status and other words.
const REWORDED: &str = "denials in other words";

/// Adds to the facts how a reply differs from the recorded one. Of other words in a denial only the number counts.
fn note(facts: &mut Facts, then: &Value, now: &Value) {
    let changes = changed(then, now);
    let is_wording = |change: &String| {
        change.starts_with("reply.message:") || change.starts_with("reply.details.")
    };
    if changes.iter().all(is_wording) {
        let count = facts.entry(REWORDED.to_owned()).or_default();
        *count = (count.parse::<usize>().unwrap_or_default() + 1).to_string();
        return;
    }
    let step = now["step"].as_str().unwrap_or_default().to_owned();
    facts.insert(step, changes.join("; "));
}

/// Returns where two documents differ, each place with what was there and what is there now.
fn changed(then: &Value, now: &Value) -> Vec<String> {
    let places = |value: &Value| -> Vec<String> {
        match value {
            Value::Object(map) => map.keys().cloned().collect(),
            Value::Array(list) => (0..list.len()).map(|index| index.to_string()).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        }
    };
    let all: BTreeSet<String> = [then, now].into_iter().flat_map(places).collect();
    if then == now {
        return Vec::new();
    }
    if all.is_empty() || then.is_object() != now.is_object() {
        return vec![format!(": {then} became {now}")];
    }
    let at = |value: &Value, place: &str| value.pointer(&format!("/{}", escaped(place))).cloned();
    let inner = |place: String| {
        let inner =
            changed(&at(then, &place).unwrap_or_default(), &at(now, &place).unwrap_or_default());
        inner.into_iter().map(move |reported| {
            if reported.starts_with(':') {
                format!("{place}{reported}")
            } else {
                format!("{place}.{reported}")
            }
        })
    };
    all.into_iter().flat_map(inner).collect()
}

/// A key as one part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The same steps, which no webhook denies now. What follows from a denial is missed; each write is compared all
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
    let mut document = reply.json.clone();
    // The API server's own repair of its Service notes an event now and then, in the first seconds of a plane.
    if let Some(items) = document.get_mut("items").and_then(Value::as_array_mut) {
        items.retain(|item| item["reportingComponent"] != "ipallocator-repair-controller");
    }
    document
}

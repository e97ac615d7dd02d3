//! One case of a table: its objects, its calls, and whether what is left is what the data says.
//!
//! A call is one of
//!
//! * `sync volume`, `sync claim`: the first one, until the core has nothing more to do about it; what a
//!   volume leaves to its claim is left;
//! * `sync all`: everything, again and again, until nothing changes;
//! * `put volume …`, `put claim …`, `delete volume NAME`, `delete claim NAME`: another client does that,
//!   and the watch shows it;
//! * `recycler succeeds`, `recycler fails: …`, `recycler cannot recycle such storage`: what is reported of
//!   the first volume, which is to be recycled.

use std::collections::BTreeSet;

use bindery::binding::{ObjectEvent, Reclaim, Recycling};
use bindery::model::ClaimKey;
use serde_json::{Map, Value};

use crate::cases::{Case, Table, Verdict};
use crate::notation::{claim, class, lines, pod, volume};
use crate::world::{Object, World};

/// How often everything is synced before a case counts as endless.
const ROUNDS_COUNT_MAX: usize = 20;

/// Returns what is wrong with a case; nothing if it ends as the data says.
pub(crate) fn run(table: &Table, case: &Case) -> Option<String> {
    if case.calls.is_empty() {
        let is_reported = case.verdict == Verdict::NotOurs && case.here.is_none();
        return (!is_reported)
            .then(|| "no call, and it is not said that it is not ours".to_owned());
    }
    let mut world = start(table, case);
    for call in lines(&case.calls) {
        make(&mut world, call);
    }
    judge(case, &world)
}

fn start(table: &Table, case: &Case) -> World {
    let mut world = World::default();
    for line in lines(case.classes.as_ref().unwrap_or(&table.classes)) {
        world.put_class(&class(line));
    }
    for line in lines(&table.pods) {
        world.put_pod(&pod(line));
    }
    for line in lines(&case.volumes) {
        world.put_volume(volume(line));
    }
    for line in lines(&case.claims) {
        world.put_claim(claim(line));
    }
    for line in lines(&case.unseen_claims) {
        world.put_unseen_claim(claim(line));
    }
    world
}

fn make(world: &mut World, call: &str) {
    let rest = |beginning: &str| call.strip_prefix(beginning).map(str::trim);
    let first = |is: fn(&Object) -> bool| {
        let names = world.names();
        names.into_iter().find(is).unwrap_or_else(|| panic!("{call}: there is none"))
    };
    if call == "sync volume" {
        let object = first(|object| matches!(object, Object::Volume(_)));
        world.sync(&object);
    } else if call == "sync claim" {
        let object = first(|object| matches!(object, Object::Claim(_)));
        world.sync(&object);
    } else if call == "sync all" {
        sync_all(world);
    } else if let Some(line) = rest("put volume ") {
        world.put_volume(volume(line));
    } else if let Some(line) = rest("put claim ") {
        world.put_claim(claim(line));
    } else if let Some(name) = rest("delete volume ") {
        world.delete(&Object::volume(name));
    } else if let Some(name) = rest("delete claim ") {
        world.delete(&Object::Claim(ClaimKey::new("default", name)));
    } else if let Some(report) = rest("recycler ") {
        let object = first(|object| matches!(object, Object::Volume(_)));
        world.recycled(&object, &recycling(report));
    } else {
        panic!("{call:?} is no call");
    }
}

fn recycling(report: &str) -> Recycling {
    match report.split_once(": ") {
        None if report == "succeeds" => Recycling::Done,
        None if report == "cannot recycle such storage" => Recycling::NoRecycler,
        Some(("fails", reason)) => Recycling::Failed(reason.into()),
        other => panic!("{other:?} is nothing that a recycler reports"),
    }
}

fn sync_all(world: &mut World) {
    for _ in 0..ROUNDS_COUNT_MAX {
        let mut reclaim = None;
        let mut is_quiet = true;
        for object in world.names() {
            is_quiet &= !world.sync(&object);
            reclaim = reclaim.or(world.reclaim);
        }
        world.reclaim = reclaim;
        if is_quiet {
            return;
        }
    }
    panic!("no end after {ROUNDS_COUNT_MAX} rounds");
}

fn judge(case: &Case, world: &World) -> Option<String> {
    let theirs = [
        case.volumes_after.as_ref().unwrap_or(&case.volumes),
        case.claims_after.as_ref().unwrap_or(&case.claims),
    ];
    let here = case.here.as_ref();
    let ours = [
        here.and_then(|here| here.volumes.as_deref()).unwrap_or(theirs[0]),
        here.and_then(|here| here.claims.as_deref()).unwrap_or(theirs[1]),
    ];
    let wrong = [
        difference(ours[0], volume, world.volumes()),
        difference(ours[1], claim, world.claims()),
        reclaim_difference(&case.reclaim, world.reclaim),
        recorded_difference(case.reported.as_ref().unwrap_or(&case.events), &world.reported),
    ];
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    if !wrong.is_empty() {
        return Some(wrong.join("\n"));
    }
    let is_same = theirs == ours && are_recorded(&case.events, &world.reported);
    match case.verdict {
        Verdict::Same => (!is_same).then(|| "same, and yet it ends otherwise".to_owned()),
        // The events may differ where Kubernetes' table does not look.
        Verdict::Differs => {
            (is_same && case.reported.is_none()).then(|| "it does not differ".to_owned())
        }
        Verdict::NotOurs => None,
    }
}

/// Returns whether the recorded events begin with these; Kubernetes' tables do not look at.
fn are_recorded(events: &str, reported: &[ObjectEvent]) -> bool {
    let expected: Vec<&str> = lines(events).collect();
    reported.len() >= expected.len()
        && expected
            .iter()
            .zip(reported)
            .all(|(expected, reported)| line(reported).starts_with(expected))
}

/// Returns what differs between `events` and all recorded events.
fn recorded_difference(events: &str, reported: &[ObjectEvent]) -> Option<String> {
    let is_so = lines(events).count() == reported.len() && are_recorded(events, reported);
    let list = || reported.iter().map(line).collect::<Vec<_>>().join("\n    ");
    (!is_so).then(|| format!("  recorded\n    {}\n  not\n    {events}", list()))
}

fn line(reported: &ObjectEvent) -> String {
    format!("{} {} {}", reported.event_type.as_str(), reported.reason, reported.text)
}

/// Returns what differs between the objects of `lines` and those that there are.
fn difference<'a>(
    field: &str,
    read: fn(&str) -> Value,
    found: impl Iterator<Item = &'a Value>,
) -> Option<String> {
    let mut expected: Vec<Value> = lines(field).map(|line| compared(&read(line))).collect();
    let mut found: Vec<Value> = found.map(compared).collect();
    for list in [&mut expected, &mut found] {
        list.sort_by_key(|object| object["metadata"]["name"].to_string());
    }
    if expected.len() != found.len() {
        return Some(format!("  {} objects, not {}", found.len(), expected.len()));
    }
    let mut reported = Vec::new();
    for (expected, found) in expected.iter().zip(&found) {
        report_fields("", expected, found, &mut reported);
    }
    (!reported.is_empty()).then(|| reported.join("\n"))
}

/// Reports each field that the two objects differ in.
fn report_fields(path: &str, expected: &Value, found: &Value, reported: &mut Vec<String>) {
    if let (Value::Object(of_expected), Value::Object(of_found)) = (expected, found) {
        let keys: BTreeSet<&String> = of_expected.keys().chain(of_found.keys()).collect();
        for key in keys {
            report_fields(&format!("{path}.{key}"), &expected[key], &found[key], reported);
        }
    } else if expected != found {
        reported.push(format!("  {path} is {found}, not {expected}"));
    }
}

fn reclaim_difference(expected: &str, found: Option<Reclaim>) -> Option<String> {
    let found = match found {
        None => "",
        Some(Reclaim::Recycle) => "recycle",
        Some(Reclaim::ByDriver) => "driver",
    };
    (expected != found).then(|| format!("  reclaimed by {found:?}, not by {expected:?}"))
}

/// An object as Kubernetes' framework compares it: without versions, finalizers in any order, and what is
/// empty is absent.
fn compared(object: &Value) -> Value {
    let mut object = object.clone();
    for reference in ["/metadata", "/spec/claimRef"] {
        if let Some(Value::Object(map)) = object.pointer_mut(reference) {
            map.remove("resourceVersion");
        }
    }
    if let Some(Value::Array(finalizers)) = object.pointer_mut("/metadata/finalizers") {
        finalizers.sort_by_key(Value::to_string);
    }
    without_empty(&object)
}

fn without_empty(value: &Value) -> Value {
    let is_empty = |value: &Value| {
        matches!(value, Value::Null)
            || value.as_str().is_some_and(str::is_empty)
            || value.as_object().is_some_and(Map::is_empty)
            || value.as_array().is_some_and(Vec::is_empty)
    };
    match value {
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| (key.clone(), without_empty(value)));
            Value::Object(entries.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => items.iter().map(without_empty).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

//! The record of deleted volumes beyond its limits, and by two leaders at once: the oldest go, and nothing else.

use std::ops::Range;

use hyper::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::scene::{PATIENCE, Scene};
use super::trash::{Binder, Trash};
use crate::controller::{Controller, Election};
use crate::eventually::eventually;
use crate::metrics::{scrape, sum};
use crate::plane::persona::{ADMIN, BINDERY_CONTROLLER};
use crate::plane::{Body, Peers, Plane, volume_path};
use crate::proxy::{Proxy, Trouble};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(beyond_the_limits_the_oldest_records_go),
    case!(a_record_that_arrives_late_removes_no_other),
];

const CONFIGURATION: &str = "apiVersion: bindery.dev/v1\nkind: Config\ntrash: {keep: 1h}\n";

/// Limits that the pages promise.
const COUNT_MAX: usize = 200;
const BYTES_MAX: usize = 700 * 1024;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The records, by uid.
type Records = Map<String, Value>;

fn records(plane: &Plane) -> Records {
    let reply = plane.get(ADMIN, &format!("{CONFIG_MAPS}/bindery-deleted-volumes"));
    reply.json["data"].as_object().cloned().unwrap_or_default()
}

/// Makes the records these, as the controller would: they are its own.
fn set_records(plane: &Plane, records: &Records) {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": records,
        "metadata": {"name": "bindery-deleted-volumes", "namespace": "default"},
    });
    let text = object.to_string();
    let apply = ["apply", "--server-side", "--field-manager=bindery-controller", "-f", "-"];
    plane.kubectl(ADMIN, &apply, &text).expect_ok();
}

/// A volume that has Retain and whose claim is gone. Returns its uid.
fn released(scene: &Scene<'_>, name: &str) -> String {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": name,
        "namespace": scene.objects.namespace(), "uid": "00000000-0000-4000-8000-000000000000",
    });
    let made = scene.objects.volume(name, &json!({"spec": {"claimRef": claim}}));
    made["metadata"]["uid"].as_str().unwrap().to_owned()
}

fn delete(scene: &Scene<'_>, name: &str) {
    let path = volume_path(&scene.objects.name(name));
    scene.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
}

fn until_recorded(plane: &Plane, uids: &[String]) -> Records {
    eventually("they are recorded", PATIENCE, || {
        let records = records(plane);
        let missing: Vec<_> = uids.iter().filter(|uid| !records.contains_key(*uid)).collect();
        if missing.is_empty() { Ok(records) } else { Err(format!("not {missing:?}")) }
    })
}

/// The record of another volume that was deleted so long before, of at least so many bytes.
fn like(record: &str, number: usize, age: SignedDuration, bytes: usize) -> (String, Value) {
    let mut record: Value = serde_json::from_str(record).unwrap();
    let uid = format!("00000000-0000-4000-8000-{number:012}");
    record["deleted"] = json!((Timestamp::now() - age).to_string());
    record["uid"] = json!(uid);
    record["volume"]["metadata"]["name"] = json!(format!("old-{number}"));
    record["volume"]["spec"]["nfs"]["path"] = json!(format!("/old-{number}"));
    record["volume"]["metadata"]["annotations"]["example.com/padding"] = json!("x".repeat(bytes));
    (uid, json!(record.to_string()))
}

fn uids(numbers: impl Iterator<Item = usize>) -> Vec<String> {
    numbers.map(|number| format!("00000000-0000-4000-8000-{number:012}")).collect()
}

/// The log of the controller names what has gone.
fn expect_logged(controller: &Controller, volumes: &str) {
    eventually("it is logged", PATIENCE, || {
        let log = controller.log();
        let is_it = log.lines().any(|line| {
            line.contains("the oldest records of deleted PersistentVolumes were removed")
                && line.contains(&format!("\"{volumes}\""))
        });
        if is_it { Ok(()) } else { Err(log) }
    });
}

fn beyond_the_limits_the_oldest_records_go() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let trash = Trash::on(&plane, Binder::InTree, CONFIGURATION);
    let controller = trash.start();
    await_watches(&controller);
    let scene = Scene::new(&plane, "limits");
    let first = deleted(&scene, "first");
    let known = until_recorded(&plane, &[first]);
    let record = known.values().next().unwrap().as_str().unwrap().to_owned();
    // As many as there may be, of which number 0 is the oldest.
    let minutes = |number: usize| SignedDuration::from_mins(i64::try_from(300 - number).unwrap());
    let full = (0..COUNT_MAX).map(|number| like(&record, number, minutes(number), 0)).collect();
    set_records(&plane, &full);
    let second = deleted(&scene, "second");
    let now = until_recorded(&plane, &[second]);
    assert_eq!(now.len(), COUNT_MAX);
    expect_gone(&now, 0..1, COUNT_MAX);
    expect_logged(&controller, "old-0");
    // As large as they may be: another one needs the room of the oldest.
    let large = BYTES_MAX / 10 - 1024;
    let full = (0..10).map(|number| like(&record, number, minutes(number), large)).collect();
    set_records(&plane, &full);
    let marker = like(&record, 500, SignedDuration::ZERO, 9 * 1024);
    assert!(bytes(&full) + bytes(&Records::from_iter([marker])) > BYTES_MAX);
    let third = padded(&scene, "third", 9 * 1024);
    let now = until_recorded(&plane, &[third]);
    assert!(bytes(&now) <= BYTES_MAX, "{}", bytes(&now));
    expect_gone(&now, 0..1, 10);
    // One is too old, whatever room there is.
    let month = SignedDuration::from_hours(24 * 30);
    let hour = SignedDuration::from_hours(1);
    let ages = [month + hour, month - hour];
    let aged = ages.iter().enumerate().map(|(number, age)| like(&record, 7 + number, *age, 0));
    set_records(&plane, &aged.collect());
    let fourth = deleted(&scene, "fourth");
    let now = until_recorded(&plane, &[fourth]);
    assert_eq!((now.len(), now.contains_key(&uids(8..9)[0])), (2, true), "{now:?}");
    expect_logged(&controller, "old-7");
}

fn bytes(records: &Records) -> usize {
    records.iter().map(|(uid, text)| uid.len() + text.as_str().unwrap().len()).sum()
}

/// Of so many records, these are gone and all others are there.
#[track_caller]
fn expect_gone(records: &Records, gone: Range<usize>, count: usize) {
    for (number, uid) in uids(0..count).iter().enumerate() {
        assert_eq!(records.contains_key(uid), !gone.contains(&number), "{number}");
    }
}

/// A volume that was deleted. Returns its uid.
fn deleted(scene: &Scene<'_>, name: &str) -> String {
    let uid = released(scene, name);
    delete(scene, name);
    uid
}

/// The same of one whose record has at least so many bytes.
fn padded(scene: &Scene<'_>, name: &str, bytes: usize) -> String {
    let uid = released(scene, name);
    let padding = json!({"metadata": {"annotations": {"example.com/padding": "x".repeat(bytes)}}});
    let path = volume_path(&scene.objects.name(name));
    scene.plane.request(ADMIN, Method::PATCH, &path, Body::merge_patch(&padding)).expect_ok();
    delete(scene, name);
    uid
}

/// Waits until a controller sees volumes.
fn await_watches(controller: &Controller) {
    eventually("it has listed everything", PATIENCE, || {
        let metrics = scrape(&controller.log());
        let is_synced = sum(&metrics, "bindery_controller_cache_synced", &[]) == 1;
        if is_synced { Ok(()) } else { Err(metrics) }
    });
}

/// The write of a leader that is gone arrives when its successor has recorded another volume: where it would make the object,
/// and where that is there.
fn a_record_that_arrives_late_removes_no_other() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let trash = Trash::on(&plane, Binder::InTree, CONFIGURATION);
    let proxy = Proxy::start(&plane);
    let kubeconfig = proxy.kubeconfig(&plane, BINDERY_CONTROLLER);
    let scene = Scene::new(&plane, "recorded-late");
    let mut uids = Vec::new();
    for round in ["absent", "present"] {
        let former = trash.start_by(&kubeconfig, Election::None);
        await_watches(&former);
        let (held, delivered) = (proxy.met(Trouble::HeldWrites), proxy.delivered());
        proxy.set(Trouble::HeldWrites);
        let first = deleted(&scene, &format!("first-{round}"));
        eventually("its record is under way", PATIENCE, || {
            let is_held = proxy.met(Trouble::HeldWrites) > held;
            if is_held { Ok(()) } else { Err(former.log()) }
        });
        drop(former);
        assert!(!records(&plane).contains_key(&first));
        let next = trash.start();
        await_watches(&next);
        uids.push(deleted(&scene, &format!("second-{round}")));
        until_recorded(&plane, &uids);
        proxy.set(Trouble::None);
        eventually("what was under way has arrived", PATIENCE, || {
            if proxy.delivered() > delivered { Ok(()) } else { Err("not yet".to_owned()) }
        });
        let now = records(&plane);
        assert!(uids.iter().all(|uid| now.contains_key(uid)), "{round}: {now:?}");
    }
}

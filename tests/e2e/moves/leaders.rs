//! The trash beside a second leader, without its lease, and with writes that arrive late: each write is made once, and by
//! who leads.

use std::time::Duration;

use hyper::Method;
use serde_json::Value;

use super::scene::{PATIENCE, Scene};
use super::trash::{Binder, Trash, record};
use crate::controller::{Controller, Election};
use crate::eventually::{eventually, wait};
use crate::metrics::{scrape, sum};
use crate::plane::persona::{ADMIN, BINDERY_CONTROLLER};
use crate::plane::{Body, Peers, Plane, claim_path};
use crate::proxy::{Proxy, Trouble};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(two_leaders_at_once_make_each_write_once),
    case!(a_write_that_arrives_late_lets_nothing_go),
    case!(without_its_lease_a_controller_holds_nothing_and_lets_nothing_go),
];

const CONFIGURATION: &str = "apiVersion: bindery.dev/v1\nkind: Config\ntrash: {keep: 3s}\n";

/// How often a controller has made a write.
fn stored(controller: &Controller, write: &str) -> u64 {
    let labels = [&format!("write=\"{write}\"")[..], "outcome=\"stored\""];
    sum(&scrape(&controller.log()), "bindery_trash_steps_total", &labels)
}

fn delete(scene: &Scene<'_>, claim: &str) {
    let path = claim_path(scene.objects.namespace(), claim);
    scene.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
}

fn is_let_go(volume: &Value) -> bool {
    record(volume).is_none() && volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
}

fn plane() -> Plane {
    Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"))
}

fn two_leaders_at_once_make_each_write_once() {
    const PAIRS: u64 = 20;
    let plane = plane();
    let trash = Trash::on(&plane, Binder::InTree, CONFIGURATION);
    let leaders = [trash.start(), trash.start()];
    let scene = Scene::new(&plane, "two-leaders");
    let names: Vec<String> = (0..PAIRS).map(|number| format!("data-{number}")).collect();
    for name in &names {
        scene.pair(name);
    }
    for name in &names {
        trash.until_held(&scene.objects.name(name));
    }
    for name in &names {
        delete(&scene, name);
    }
    for name in &names {
        trash.until(&scene.objects.name(name), "it follows its policy", is_let_go);
    }
    let metrics = leaders.each_ref().map(|leader| scrape(&leader.log()));
    let stale = ["outcome=\"stale\""];
    let stale = metrics.each_ref().map(|text| sum(text, "bindery_trash_steps_total", &stale));
    println!("two leaders of {PAIRS} volumes: {stale:?} writes came too late");
    for write in ["hold", "record", "restore"] {
        // The event of the last one may be under way, after which it is counted.
        eventually("each write is counted once", PATIENCE, || {
            let made = leaders.each_ref().map(|leader| stored(leader, write));
            let is_once = made.iter().sum::<u64>() == PAIRS;
            if is_once { Ok(()) } else { Err(format!("{write}: {made:?}")) }
        });
    }
    for leader in &leaders {
        assert!(!leader.log().contains("a step of the trash failed"), "{}", leader.log());
    }
}

/// The write that would let a volume go is under way while a person makes its time longer.
fn a_write_that_arrives_late_lets_nothing_go() {
    let plane = plane();
    let proxy = Proxy::start(&plane);
    let trash = Trash::on(&plane, Binder::InTree, CONFIGURATION);
    let kubeconfig = proxy.kubeconfig(&plane, BINDERY_CONTROLLER);
    let controller = trash.start_by(&kubeconfig, Election::None);
    let scene = Scene::new(&plane, "late");
    let name = scene.objects.name("data");
    scene.pair("data");
    trash.until_held(&name);
    delete(&scene, "data");
    // It is stored after the record: nothing but the last write is left.
    until_moved(&scene);
    proxy.set(Trouble::HeldWrites);
    eventually("its last write is under way", PATIENCE, || {
        let is_held = proxy.met(Trouble::HeldWrites) > 0;
        if is_held { Ok(()) } else { Err(controller.log()) }
    });
    scene.keep("data", "1h");
    proxy.set(Trouble::None);
    trash.until(&name, "it stays for an hour", |volume| {
        volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
            && record(volume).is_some_and(|record| is_of_an_hour(&record["release"]))
    });
    assert_eq!(stored(&controller, "restore"), 0);
}

fn until_moved(scene: &Scene<'_>) {
    let events = format!("/api/v1/namespaces/{}/events", scene.objects.namespace());
    eventually("its event is stored", PATIENCE, || {
        let events = scene.plane.get(ADMIN, &events).expect_ok().to_string();
        if events.contains("MovedToTrash") { Ok(()) } else { Err(events) }
    });
}

fn is_of_an_hour(release: &Value) -> bool {
    let time = |field: &str| release[field].as_str()?.parse::<jiff::Timestamp>().ok();
    time("at")
        .zip(time("until"))
        .is_some_and(|(at, until)| until.duration_since(at).as_hours() == 1)
}

/// It reads and could write everything else; another one takes over.
fn without_its_lease_a_controller_holds_nothing_and_lets_nothing_go() {
    let plane = plane();
    let proxy = Proxy::start(&plane);
    let trash = Trash::on(&plane, Binder::InTree, CONFIGURATION);
    let kubeconfig = proxy.kubeconfig(&plane, BINDERY_CONTROLLER);
    let former = trash.start_by(&kubeconfig, Election::Lease);
    let scene = Scene::new(&plane, "lost-lease");
    scene.pair("held");
    trash.until_held(&scene.objects.name("held"));
    proxy.set(Trouble::LeasesAway);
    eventually("it does not lead", PATIENCE, || {
        let is_leading = sum(&scrape(&former.log()), "bindery_controller_leading", &[]) == 1;
        if is_leading { Err("it leads".to_owned()) } else { Ok(()) }
    });
    scene.pair("new");
    delete(&scene, "held");
    // Longer than the time of the volume, and than any pause of the loop.
    wait(Duration::from_secs(6));
    let untouched = scene.volume("new");
    assert_eq!(record(&untouched), None, "{untouched}");
    let held = scene.volume("held");
    assert!(record(&held).is_some_and(|record| record["release"].is_null()), "{held}");
    let next = trash.start_by(&plane.kubeconfig(BINDERY_CONTROLLER), Election::Lease);
    trash.until_held(&scene.objects.name("new"));
    trash.until(&scene.objects.name("held"), "it follows its policy", is_let_go);
    // Its lease is another's now.
    proxy.set(Trouble::None);
    scene.pair("last");
    trash.until_held(&scene.objects.name("last"));
    assert_eq!([stored(&former, "hold"), stored(&next, "hold")], [1, 2]);
    assert_eq!([stored(&former, "restore"), stored(&next, "restore")], [0, 1]);
    eventually("one of them counts what is held", PATIENCE, || {
        let count = |controller: &Controller| {
            sum(&scrape(&controller.log()), "bindery_trash_held_volumes", &[])
        };
        let counts = [count(&former), count(&next)];
        if counts == [0, 2] { Ok(()) } else { Err(format!("{counts:?}")) }
    });
}

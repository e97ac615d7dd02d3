//! The trash over ten thousand volumes: what turning it on asks of the API server, what a start does, and that nothing is
//! asked afterwards.

use std::mem::ManuallyDrop;
use std::thread;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::json;

use super::trash::{Binder, Trash};
use crate::controller::Controller;
use crate::eventually::{eventually, wait};
use crate::metrics::{scrape, sum};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Objects, Peers, Plane, volume_path};
use crate::runner::{Case, alone};

pub(crate) const LENGTHY: &[Case] = &[alone!(ten_thousand_volumes_are_held_and_then_cost_nothing)];

const VOLUMES: usize = 10_000;

/// Hands that make the objects.
const HANDS: usize = 8;

/// The API server stores 640 writes a second beside a controller that is not optimised, on two cores. Each volume is one
/// write and some reads of the controller; the machine may take five times as long.
const PATIENCE: Duration = Duration::from_mins(4);

/// So long requests are counted: three times the longest pause of the loop.
const QUIET: Duration = Duration::from_secs(45);

/// Reads for each volume when the trash is turned on: the volume and its claim before the write, and both again if the watch
/// has not shown the write yet.
const READS_EACH: u64 = 4;

/// Lists at a start: none where the API server streams them; else those of volumes and claims, in pages of 500.
const LISTS_OF_A_START: u64 = 2 * VOLUMES as u64 / 500;

/// Memory of the process: 80 MiB, of which one without objects has 33. That leaves 4.7 KiB for each volume and its claim, which
/// have 1.5 KiB as JSON; the reconciler and the trash have parts of both.
const RESIDENT_MAX_KIB: u64 = 80 * 1024;

/// Time of the processor while nothing happens: a hundredth of one core, for a build that is not optimised. Every two seconds
/// all volumes are counted for the metrics.
const BUSY_PART: u32 = 100;

const CONFIGURATION: &str = "apiVersion: bindery.dev/v1\nkind: Config\ntrash: {keep: 1h}\n";

fn ten_thousand_volumes_are_held_and_then_cost_nothing() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    // They go with their plane: to delete them one by one takes longer than all else here.
    let objects = ManuallyDrop::new(plane.objects("crowd"));
    fill(&plane, &objects);
    let trash = Trash::on(&plane, Binder::InTree, CONFIGURATION);
    let (before, begun) = (Requests::of(&plane), Instant::now());
    let controller = trash.start();
    until_held(&controller);
    let asked = Requests::of(&plane).since(&before);
    println!("{VOLUMES} volumes are held after {:?}: {asked:?}", begun.elapsed());
    assert_eq!(asked.patches, VOLUMES as u64, "one write for each volume");
    assert!(asked.gets <= READS_EACH * VOLUMES as u64, "{asked:?}");
    assert!(asked.lists <= LISTS_OF_A_START, "{asked:?}");
    drop(controller);
    let (before, begun) = (Requests::of(&plane), Instant::now());
    let controller = trash.start();
    until_held(&controller);
    let asked = Requests::of(&plane).since(&before);
    println!("a start over {VOLUMES} that are held takes {:?}: {asked:?}", begun.elapsed());
    assert_eq!((asked.gets, asked.patches), (0, 0), "what the watches show is enough");
    assert!(asked.lists <= LISTS_OF_A_START, "{asked:?}");
    a_quiet_time_asks_for_nothing(&plane, &controller);
}

/// What has been decided about all of them holds until something changes.
fn a_quiet_time_asks_for_nothing(plane: &Plane, controller: &Controller) {
    let (before, busy) = (Requests::of(plane), processor_time(controller));
    wait(QUIET);
    let asked = Requests::of(plane).since(&before);
    let busy = processor_time(controller).saturating_sub(busy);
    let peak = status(controller, "VmHWM:");
    println!("{QUIET:?} of quiet: {asked:?}, {busy:?} of a processor; at most {peak} KiB resident");
    assert_eq!((asked.gets, asked.patches, asked.lists), (0, 0, 0));
    assert!(busy <= QUIET / BUSY_PART, "{busy:?}");
    assert!(peak <= RESIDENT_MAX_KIB, "{peak} KiB");
}

/// Pairs as a provisioner makes them, whose reclaim policy is Delete. They are bound: no binder is there.
fn fill(plane: &Plane, objects: &Objects<'_>) {
    thread::scope(|scope| {
        for hand in 0..HANDS {
            scope.spawn(move || {
                for number in (hand..VOLUMES).step_by(HANDS) {
                    make_pair(plane, objects, &format!("data-{number}"));
                }
            });
        }
    });
}

fn make_pair(plane: &Plane, objects: &Objects<'_>, name: &str) {
    let volume = objects.name(name);
    let claim = json!({
        "metadata": {"labels": {"app": name}}, "spec": {"volumeName": volume},
    });
    let claim = objects.claim(name, &claim);
    let spec = json!({
        "persistentVolumeReclaimPolicy": "Delete", "nfs": null,
        "csi": {"driver": "disk.example.com", "volumeHandle": volume},
        "claimRef": {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": name,
            "namespace": objects.namespace(), "uid": claim["metadata"]["uid"],
        },
    });
    objects.volume(name, &json!({"spec": spec}));
    let bound = Body::merge_patch(&json!({"status": {"phase": "Bound"}}));
    let path = format!("{}/status", volume_path(&volume));
    plane.request(ADMIN, Method::PATCH, &path, bound).expect_ok();
}

fn until_held(controller: &Controller) {
    eventually("all are held", PATIENCE, || {
        let held = sum(&scrape(&controller.log()), "bindery_trash_held_volumes", &[]);
        if held == VOLUMES as u64 { Ok(()) } else { Err(format!("{held}")) }
    });
}

/// The requests about volumes and claims that the API server has counted. No other client makes any meanwhile.
#[derive(Debug)]
struct Requests {
    gets: u64,
    patches: u64,
    lists: u64,
}

impl Requests {
    fn of(plane: &Plane) -> Self {
        let metrics = plane.get(ADMIN, "/metrics").text;
        let count = |verb: &str| {
            let of = |resource: &str| {
                let labels = [format!("verb=\"{verb}\""), format!("resource=\"{resource}\"")];
                let labels = [&labels[0][..], &labels[1]];
                sum(&metrics, "apiserver_request_total", &labels)
            };
            of("persistentvolumes") + of("persistentvolumeclaims")
        };
        Self { gets: count("GET"), patches: count("PATCH"), lists: count("LIST") }
    }

    fn since(&self, before: &Self) -> Self {
        Self {
            gets: self.gets - before.gets,
            patches: self.patches - before.patches,
            lists: self.lists - before.lists,
        }
    }
}

/// A number of the process in its status, such as KiB.
fn status(controller: &Controller, key: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", controller.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// The time of a processor that the process has used, in steps of a hundredth of a second.
fn processor_time(controller: &Controller) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", controller.id())).unwrap();
    // Fields 14 and 15 of proc(5): the second, which is in brackets, may have blanks.
    let fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

//! A thousand disks on one node: folders of one file system, each mounted for itself.

use std::fs;
use std::time::{Duration, Instant};

use super::scene::{Scene, is_before_offer};
use crate::eventually::eventually;
use crate::metrics::{scrape, sum};
use crate::plane::{Peers, Plane};
use crate::runner::{Case, case};

pub(crate) const LENGTHY: &[Case] = &[case!(a_thousand_disks_are_offered_in_seconds)];

const DISKS: usize = 1000;

/// Seven seconds on two cores, which the API server and etcd share.
const PATIENCE: Duration = Duration::from_mins(1);

fn a_thousand_disks_are_offered_in_seconds() {
    let plane = Plane::start(Peers::Alone).unwrap();
    let mut scene = Scene::new(&plane, "many");
    let device = scene.disks.format("shared", 64);
    let shared = scene.disks.path("shared");
    fs::create_dir(&shared).unwrap();
    scene.disks.mount(&[&device], &shared);
    for number in 0..DISKS {
        let (folder, point) =
            (shared.join(number.to_string()), scene.disks.path(&format!("fast/{number}")));
        fs::create_dir(&folder).unwrap();
        fs::create_dir(&point).unwrap();
        scene.disks.mount(&["--bind", &folder.to_string_lossy()], &point);
    }
    let begun = Instant::now();
    let local = scene.start();
    eventually("all disks are offered", PATIENCE, || {
        let count = scene.volumes().iter().filter(|volume| !is_before_offer(volume)).count();
        if count == DISKS { Ok(()) } else { Err(format!("{count}: {}", local.log())) }
    });
    let took = begun.elapsed();
    let status = fs::read_to_string(format!("/proc/{}/status", local.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    // Of each disk its volume; those of another name are searched for together, before it is created and before it is offered.
    let requests = "local_volume_provisioner_apiserver_requests_total";
    let gets = sum(&scrape(&local.log()), requests, &["method=\"get\""]);
    assert!((DISKS as u64..DISKS as u64 * 3 / 2).contains(&gets), "{gets} reads");
    println!(
        "{DISKS} disks: offered {} ms after the start, {gets} reads, at most {} resident",
        took.as_millis(),
        peak.trim()
    );
}

//! The provisioner is killed again and again, and no disk is offered with data or cleaned under a claim.

use std::fs;
use std::time::Duration;

use super::process::LocalProvisioner;
use super::scene::{SECRET, Scene};
use crate::eventually::wait;
use crate::plane::{Peers, Plane};
use crate::runner::{Case, case};

pub(super) const CASES: &[Case] = &[case!(a_killed_provisioner_resumes)];

pub(crate) const LENGTHY: &[Case] = &[case!(a_provisioner_that_is_killed_a_hundred_times_resumes)];

fn a_killed_provisioner_resumes() {
    lives_with_kills("killed", 6);
}

fn a_provisioner_that_is_killed_a_hundred_times_resumes() {
    lives_with_kills("killed-often", 100);
}

/// How long a process lives before it is killed, in milliseconds: all that it does takes less than half a second.
const LIFE_MAX: u32 = 500;

/// Numbers that look random and are the same in each run.
struct Lives(u32);

impl Lives {
    fn next(&mut self) -> Duration {
        // Numerical Recipes' generator.
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Duration::from_millis(((self.0 >> 8) % LIFE_MAX).into())
    }
}

fn lives_with_kills(case: &str, kills: usize) {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, case);
    scene.disks.file_system("vol1", 32);
    let device = scene.disks.block_device("disk1", 32);
    let mut lives = Lives(1);
    let mut left = kills;
    // While a process is killed before its work is done, another one is started.
    let mut with_kills = |scene: &Scene<'_>, left: &mut usize| -> LocalProvisioner {
        for _ in 0..3.min(*left) {
            let process = scene.start();
            wait(lives.next());
            process.kill();
            *left -= 1;
        }
        scene.start()
    };
    let mut uids = [String::new(), String::new()];
    while left > 0 {
        let process = with_kills(&scene, &mut left);
        let entries = ["fast/vol1", "raw/disk1"];
        for (entry, uid) in entries.iter().zip(&mut uids) {
            let volume = scene.volume(entry, "Available", uid);
            assert_is_empty(&scene, entry);
            volume["metadata"]["uid"].as_str().unwrap().clone_into(uid);
            scene.bind(&entry.replace('/', "-"), &volume);
        }
        process.kill();
        scene.write_as_pod("fast/vol1");
        fs::write(&device, SECRET.repeat(200_000)).unwrap();
        let process = with_kills(&scene, &mut left);
        assert!(scene.names("fast/vol1").contains(&".hidden".to_owned()), "cleaned under a claim");
        assert!(scene.disks.holds("disk1", SECRET), "cleaned under a claim");
        process.kill();
        for entry in entries {
            scene.delete_claim(&entry.replace('/', "-"));
        }
        let process = with_kills(&scene, &mut left);
        for (entry, uid) in entries.iter().zip(&uids) {
            scene.volume(entry, "Available", uid);
            assert_is_empty(&scene, entry);
        }
        process.kill();
        uids = [String::new(), String::new()];
    }
}

fn assert_is_empty(scene: &Scene<'_>, entry: &str) {
    match entry {
        "fast/vol1" => {
            let mut names = scene.names(entry);
            names.retain(|name| name != "lost+found");
            assert!(names.is_empty(), "offered with {names:?}");
        }
        _ => assert!(!scene.disks.holds("disk1", SECRET), "offered with data"),
    }
}

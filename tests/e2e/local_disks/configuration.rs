//! A provisioner whose configuration is wrong does nothing about any disk, says so, and goes on once that is corrected.

use std::fs;

use super::doubtful::QUIET;
use super::process::LocalProvisioner;
use super::scene::{PATIENCE, Scene};
use crate::eventually::{eventually, wait};
use crate::metrics;
use crate::plane::persona::ADMIN;
use crate::plane::{Peers, Plane};
use crate::runner::{Case, case};

pub(super) const CASES: &[Case] = &[case!(a_provisioner_waits_for_a_configuration_that_is_right)];

/// A misspelt key.
const WRONG: &str = ", volumeMod: Block";

fn a_provisioner_waits_for_a_configuration_that_is_right() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut scene = Scene::new(plane, "configuration");
    scene.disks.file_system("vol1", 32);
    scene.keys = WRONG;
    let local = scene.start();
    await_report(&scene, &local);
    wait(QUIET);
    assert!(scene.volumes().is_empty(), "{}", local.log());
    correct(&scene);
    let volume = scene.volume("fast/vol1", "Available", "");
    assert_eq!(metric(&local, GOOD), 1);
    scene.bind("data", &volume);
    scene.write_as_pod("fast/vol1");
    local.kill();
    scene.delete_claim("data");
    let local = scene.start();
    await_report(&scene, &local);
    wait(QUIET);
    assert_eq!(scene.names("fast/vol1").len(), 3, "nothing is cleaned: {}", local.log());
    correct(&scene);
    scene.volume("fast/vol1", "Available", volume["metadata"]["uid"].as_str().unwrap());
    assert!(scene.names("fast/vol1").is_empty());
}

/// Corrects the configuration while the provisioner runs.
fn correct(scene: &Scene<'_>) {
    let path = scene.disks.path("config/storageClassMap");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, text.replace(WRONG, "")).unwrap();
}

const GOOD: &str = "bindery_configuration_last_reload_successful";

fn metric(local: &LocalProvisioner, name: &str) -> u64 {
    metrics::sum(&metrics::scrape(&local.log()), name, &[])
}

/// Waits until the log, an event about the node and the metric say that the configuration is wrong.
#[track_caller]
fn await_report(scene: &Scene<'_>, local: &LocalProvisioner) {
    eventually("it is reported", PATIENCE, || {
        let list = scene.plane.get(ADMIN, "/api/v1/namespaces/default/events").expect_ok();
        let events = list["items"].as_array().into_iter().flatten().filter(|event| {
            event["reason"] == "ConfigurationUnusable"
                && event["involvedObject"]["name"] == *scene.node
        });
        let texts: Vec<&str> = events.filter_map(|event| event["message"].as_str()).collect();
        let said = "no disk is offered or cleaned until it is corrected";
        let is_said = |text: &str| text.contains(said) && text.contains("volumeMod");
        if is_said(&local.log()) && texts.iter().any(|text| is_said(text)) {
            Ok(())
        } else {
            Err(format!("{texts:?}\n{}", local.log()))
        }
    });
    assert_eq!((metric(local, GOOD), metric(local, "bindery_local_ready")), (0, 0));
}

//! An installation is upgraded and uninstalled under load: clients notice nothing, and nothing is left.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use super::WRITERS;
use super::load::Load;
use super::site::{CHART, NAME, Site};
use crate::eventually::{eventually, wait};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Plane};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(it_is_upgraded_and_uninstalled_under_load)];

fn it_is_upgraded_and_uninstalled_under_load() {
    let site = Site::install(&["webhook.drainDelay=4s"]);
    let load = Load::start(site.plane, WRITERS);

    // Other values: a mode, which pods read again, and more replicas.
    let before = site.node.processes();
    // Helm takes back what was edited by hand only with a flag.
    let values = ["--force-conflicts", "--set", "webhook.drainDelay=4s", "--set"];
    let upgrade = |chart: &str, value: &str| {
        site.helm(&[&["upgrade", NAME, chart, "-n", NAME][..], &values, &[value]].concat());
    };
    upgrade(CHART, "rules.modes.host-path-volume=deny");
    await_denial(&site);
    assert_eq!(site.node.processes(), before, "a mode restarts nothing");
    a_wrong_configuration_changes_nothing(&site);
    assert_eq!(site.node.processes(), before, "nor does a wrong configuration");
    a_pod_that_starts_on_a_wrong_configuration_serves(&site);
    upgrade(CHART, "webhook.replicas=3");
    site.await_ready();

    // Another version: every pod is replaced.
    let next = another_version(site.plane.home());
    upgrade(&next, "webhook.replicas=3");
    site.await_ready();
    let of_next = site.node.processes();
    assert!(of_next.iter().all(|process| !before.contains(process)));

    // And back: the pods of the version before meet the registrations of the next until helm is done.
    site.helm(&["rollback", NAME, "-n", NAME, "--force-conflicts"]);
    site.await_ready();
    assert!(site.node.processes().iter().all(|process| !of_next.contains(process)));

    let asked = load.asked();
    load.let_go();
    site.helm(&["uninstall", NAME, "-n", NAME]);
    eventually("its pods are gone", Duration::from_mins(1), || match site.pods().len() {
        0 => Ok(()),
        count => Err(format!("{count} are left")),
    });
    wait(Duration::from_secs(2));
    let after = load.asked() - asked;
    let tally = load.stop();
    println!(
        "{asked} admissions during three upgrades and a rollback, {after} writes during the uninstallation, {} failed",
        tally.failures.len()
    );
    assert!(tally.failures.is_empty(), "{:#?}", tally.failures.iter().take(10).collect::<Vec<_>>());
    let left = eventually("nothing is left", Duration::from_secs(30), || match left(site.plane) {
        left if left.is_empty() => Ok(left),
        left => Err(left.join(", ")),
    });
    assert!(left.is_empty());
}

/// A user edits the `ConfigMap` by hand: the old configuration stays, and metric and event of every pod's programs
/// say so, the event with file, line and key; until it is right again.
fn a_wrong_configuration_changes_nothing(site: &Site) {
    let map = "bindery-config";
    let path = format!("/api/v1/namespaces/{NAME}/configmaps/{map}");
    let right = site.plane.get(ADMIN, &path).expect_ok()["data"]["config.yaml"].clone();
    let write = |text: &Value| {
        let patch = Body::merge_patch(&json!({"data": {"config.yaml": text}}));
        site.plane.request(ADMIN, Method::PATCH, &path, patch).expect_ok();
    };
    let wrong = right.as_str().unwrap().replace("host-path-volume", "host-path-volum");
    write(&json!(wrong));
    await_metric(site, "bindery_configuration_last_reload_successful", "0");
    let line = wrong.lines().position(|line| line.contains("host-path-volum")).unwrap() + 1;
    let reported = |reason: &str, text: &str| {
        eventually("an event of the map reports it", Duration::from_secs(10), || {
            let about = format!("--field-selector=reason={reason},involvedObject.name={map}");
            let columns = "-o=custom-columns=T:.type,M:.message";
            let arguments = ["get", "events", "-n", NAME, &about, columns];
            let events = site.plane.kubectl(ADMIN, &arguments, "").stdout;
            if events.contains(text) { Ok(()) } else { Err(events) }
        });
    };
    reported("ConfigurationUnusable", &format!("config.yaml:{line}:"));
    reported("ConfigurationUnusable", "host-path-volum");
    await_denial(site);
    write(&right);
    await_metric(site, "bindery_configuration_last_reload_successful", "1");
    reported("ConfigurationLoaded", "in use");
}

/// The pods are replaced while the configuration is wrong: the new ones start on the last good one, in which a host path is
/// denied, and report it.
fn a_pod_that_starts_on_a_wrong_configuration_serves(site: &Site) {
    let path = |map: &str| format!("/api/v1/namespaces/{NAME}/configmaps/{map}");
    let text =
        |map: &str| site.plane.get(ADMIN, &path(map)).expect_ok()["data"]["config.yaml"].clone();
    let right = text("bindery-config");
    eventually("the last good one is stored", Duration::from_secs(30), || {
        let kept = text("bindery-config-last-good");
        if kept == right { Ok(()) } else { Err(kept.to_string()) }
    });
    let write = |text: &str| {
        let patch = Body::merge_patch(&json!({"data": {"config.yaml": text}}));
        site.plane.request(ADMIN, Method::PATCH, &path("bindery-config"), patch).expect_ok();
    };
    write("no configuration");
    site.roll("wrong");
    site.await_ready();
    await_metric(site, "bindery_configuration_last_reload_successful", "0");
    await_denial(site);
    assert_eq!(text("bindery-config-last-good"), right, "what is wrong is not kept");
    a_first_start_on_a_wrong_configuration_uses_the_defaults(site);
    write(right.as_str().unwrap());
    await_metric(site, "bindery_configuration_last_reload_successful", "1");
}

/// Of the last good one nothing is left, as before the first that was right: the pods start on the defaults, which deny
/// hazards and only warn of a host path, and report it.
fn a_first_start_on_a_wrong_configuration_uses_the_defaults(site: &Site) {
    let path = format!("/api/v1/namespaces/{NAME}/configmaps/bindery-config-last-good");
    let empty = Body::merge_patch(&json!({"data": null}));
    site.plane.request(ADMIN, Method::PATCH, &path, empty).expect_ok();
    site.roll("first");
    site.await_ready();
    await_metric(site, "bindery_configuration_last_reload_successful", "0");
    site.await_denial();
    let output = site.plane.kubectl(ADMIN, &["create", "--dry-run=server", "-f", "-"], HOST_PATH);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stderr.contains("[host-path-volume]"), "{output:?}");
    assert!(
        site.node.logs().contains("\"used\":\"the defaults under its profile\""),
        "{}",
        site.node.logs()
    );
}

/// A volume of a path of the host.
const HOST_PATH: &str = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: of-a-host}\nspec: {accessModes: \
    [ReadWriteOnce], capacity: {storage: 1Gi}, storageClassName: '', hostPath: {path: /x}}\n";

/// Waits until webhook and controller of every pod count so.
fn await_metric(site: &Site, name: &str, value: &str) {
    eventually(&format!("{name} is {value}"), Duration::from_secs(20), || {
        for pod in site.node.running() {
            for port in [8081, 8082] {
                let (_, text) = pod.get(port, "/metrics").ok_or("no answer")?;
                let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
                if line != format!("{name} {value}") {
                    return Err(format!("{port}: {line}"));
                }
            }
        }
        Ok(())
    });
}

/// Waits until a host path is denied, of which people are only warned by default.
fn await_denial(site: &Site) {
    eventually("a host path is denied", Duration::from_secs(30), || {
        let arguments = ["create", "--dry-run=server", "-f", "-"];
        let output = site.plane.kubectl(ADMIN, &arguments, HOST_PATH);
        if output.stderr.contains("denied the request: [host-path-volume]") {
            Ok(())
        } else {
            Err(format!("{output:?}"))
        }
    });
}

/// A copy of the chart with another version of itself and of the program.
fn another_version(folder: &Path) -> String {
    let copy = folder.join("next");
    let status = Command::new("cp").arg("-r").arg(CHART).arg(&copy).status();
    assert!(status.is_ok_and(|status| status.success()), "the chart cannot be copied");
    let path = copy.join("Chart.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let changed = text.lines().map(|line| match line.split_once(": ") {
        Some((key @ ("version" | "appVersion"), _)) => format!("{key}: 99.0.0\n"),
        Some(_) | None => format!("{line}\n"),
    });
    fs::write(&path, changed.collect::<String>()).unwrap();
    copy.display().to_string()
}

/// Every object of whatever kind that names the installation, but the namespace and the events of the past.
fn left(plane: &Plane) -> Vec<String> {
    let mut left = Vec::new();
    for collection in collections(plane) {
        let list = plane.get(ADMIN, &collection).expect_ok();
        for object in list["items"].as_array().into_iter().flatten() {
            let (name, labels) = (&object["metadata"]["name"], &object["metadata"]["labels"]);
            let text = format!("{name} {labels}");
            let is_history = object["reason"].is_string() || collection.ends_with("/namespaces");
            if text.contains(NAME) && !is_history {
                left.push(format!("{collection} {name}"));
            }
        }
    }
    left
}

/// Everything that the API server can list.
fn collections(plane: &Plane) -> Vec<String> {
    let groups = plane.get(ADMIN, "/apis").expect_ok();
    let of = |group: &Value| {
        Some(format!("/apis/{}", group["preferredVersion"]["groupVersion"].as_str()?))
    };
    let groups = groups["groups"].as_array().into_iter().flatten().filter_map(of);
    let mut found = Vec::new();
    for group in groups.chain(["/api/v1".to_owned()]) {
        let resources = plane.get(ADMIN, &group).expect_ok();
        for resource in resources["resources"].as_array().into_iter().flatten() {
            let name = resource["name"].as_str().unwrap_or_default();
            let verbs = resource["verbs"].as_array();
            if verbs.is_some_and(|verbs| verbs.iter().any(|verb| verb == "list")) {
                found.push(format!("{group}/{name}"));
            }
        }
    }
    assert!(found.len() > 30, "{found:?}");
    found
}

//! Pods are replaced, killed and frozen under load.

use std::process::Command;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::json;

use super::WRITERS;
use super::load::{BOUND, Load, bind_a_pair};
use super::site::Site;
use crate::eventually::wait;
use crate::node::Habits;
use crate::plane::Body;
use crate::plane::persona::{ADMIN, ARRANGER, BREAK_GLASS};
use crate::runner::{Case, alone, case, extent};

pub(crate) const CASES: &[Case] = &[
    case!(no_admission_fails_while_pods_are_replaced),
    alone!(a_killed_pod_costs_what_it_had_in_flight),
    alone!(frozen_pods_delay_no_other_pod),
];

/// What the API server waits for an answer of guard, the endpoint with the longest timeout.
const PATIENCE: Duration = Duration::from_secs(3);

/// Rolling restarts of three pods under load, while endpoints learn of it late.
fn no_admission_fails_while_pods_are_replaced() {
    let rolls: u32 = if extent().is_full { 67 } else { 2 };
    let site = Site::install(&["webhook.replicas=3", "webhook.drainDelay=4s"]);
    let load = Load::start(site.plane, WRITERS);
    for roll in 0..rolls {
        // Up to two seconds, another in each roll.
        let late = Duration::from_millis(u64::from(roll) * 700 % 2_100);
        site.node.set_habits(Habits { reports_after: late, ..Habits::default() });
        site.roll(&roll.to_string());
        site.await_ready();
    }
    wait(Duration::from_secs(1));
    let asked = load.asked();
    let tally = load.stop();
    println!(
        "{} restarts, {asked} admissions, {} failed, p99 {:?}",
        rolls * 3,
        tally.failures.len(),
        tally.p99
    );
    assert!(tally.failures.is_empty(), "{:#?}", tally.failures.iter().take(10).collect::<Vec<_>>());
    assert!(asked > u64::from(rolls) * 100, "{asked}");
}

/// One of three is killed under load: what it had in flight is lost, and a second after the API server learned that
/// it is gone clients notice nothing any more. How soon it learns that is the node's, not ours.
fn a_killed_pod_costs_what_it_had_in_flight() {
    let kills = if extent().is_full { 30 } else { 3 };
    let site = Site::install(&["webhook.replicas=3"]);
    let load = Load::start(site.plane, WRITERS);
    let mut gone = Vec::new();
    for kill in 0..kills {
        wait(Duration::from_secs(2));
        let pods = site.node.running();
        let pod = &pods[kill % pods.len()];
        let (_, id) = pod.processes.iter().find(|(name, _)| name == "webhook").unwrap();
        let killed = load.time();
        signal("KILL", *id);
        site.await_left_out(&pod.address);
        gone.push(killed..load.time() + Duration::from_secs(1));
        site.await_ready();
    }
    wait(Duration::from_secs(2));
    let tally = load.stop();
    // What was in flight was sent before, no longer than the API server waits.
    let is_lost = |sent: Duration| {
        gone.iter().any(|time| (time.start.saturating_sub(PATIENCE)..time.end).contains(&sent))
    };
    let late: Vec<_> = tally.failures.iter().filter(|(sent, _)| !is_lost(*sent)).collect();
    println!(
        "{kills} kills, {} admissions, {} failed, {} of them later than a second",
        tally.asked,
        tally.failures.len(),
        late.len()
    );
    assert!(late.is_empty(), "{late:#?}, gone {gone:?}");
    assert!(tally.failures.len() <= kills * WRITERS, "{:#?}", tally.failures);
}

/// All replicas hang: what is not about volumes is as fast as ever, exempt writers pass, and thawed they answer again.
fn frozen_pods_delay_no_other_pod() {
    let site = Site::install(&[]);
    bind_a_pair(site.plane);
    let processes = site.node.processes();
    signal_all("STOP", &processes);
    let mut took: Vec<Duration> = (0..100).flat_map(|turn| others(&site, turn)).collect();
    took.sort_unstable();
    let p99 = took[took.len() * 99 / 100];
    let exempt = exempt(&site);
    signal_all("CONT", &processes);
    let began = Instant::now();
    site.await_denial();
    println!(
        "{} writes while frozen, p99 {p99:?}, by exempt writers at most {exempt:?}; thawed it denies after {:?}",
        took.len(),
        began.elapsed()
    );
    assert!(p99 < Duration::from_millis(100), "{p99:?}");
    assert!(exempt < Duration::from_millis(500), "{exempt:?}");
}

/// A volume, in a way that every other user is denied, and a claim, by who may go past the webhook in an emergency. The
/// longest time that one took.
fn exempt(site: &Site) -> Duration {
    let write = |persona, path: &str, patch: serde_json::Value| {
        let began = Instant::now();
        let patch = Body::merge_patch(&patch);
        site.plane.request(persona, Method::PATCH, path, patch).expect_ok();
        began.elapsed()
    };
    let volume = format!("/api/v1/persistentvolumes/{BOUND}?dryRun=All");
    let shrunk = json!({"spec": {"capacity": {"storage": "1Mi"}}});
    let claim = format!("/api/v1/namespaces/default/persistentvolumeclaims/{BOUND}?dryRun=All");
    let noted = json!({"metadata": {"annotations": {"a": "b"}}});
    let times = [write(BREAK_GLASS, &volume, shrunk), write(ARRANGER, &claim, noted)];
    times.into_iter().max().unwrap_or_default()
}

/// Writes of what no webhook is asked about; how long each took.
fn others(site: &Site, turn: usize) -> Vec<Duration> {
    let named = |kind: &str, version: &str, rest: serde_json::Value| {
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": format!("other-{turn}")}});
        object.as_object_mut().unwrap().extend(rest.as_object().cloned().unwrap_or_default());
        object
    };
    let pod = json!({"spec": {"containers": [{"name": "a", "image": "a"}], "automountServiceAccountToken": false}});
    let writes = [
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            named("Lease", "coordination.k8s.io/v1", json!({})),
        ),
        ("/api/v1/nodes", named("Node", "v1", json!({}))),
        ("/api/v1/namespaces/default/pods", named("Pod", "v1", pod)),
        ("/api/v1/namespaces/default/secrets", named("Secret", "v1", json!({}))),
    ];
    let write = |(path, object): (&str, serde_json::Value)| {
        let began = Instant::now();
        site.plane.request(ADMIN, Method::POST, path, Body::json(&object)).expect_ok();
        began.elapsed()
    };
    writes.into_iter().map(write).collect()
}

fn signal_all(name: &str, processes: &[u32]) {
    for process in processes {
        signal(name, *process);
    }
}

fn signal(name: &str, process: u32) {
    let status = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()), "kill -{name} {process}");
}

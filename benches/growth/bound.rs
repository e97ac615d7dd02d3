//! The controller with a store of so many pairs: start, memory, events, decisions, and what it does while nothing happens.

use std::time::Duration;

use bindery::client::resource::ResourceKind;
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::api_server::{ApiServer, Change, Cluster};
use crate::child::Figures;
use crate::clock::processor_time;
use crate::objects::{self, MARKERS, Objects, VolumeState};
use crate::{controller, floors, process};

/// Volumes that change in one round, and as many claims.
const EVENTS: usize = 2_000;

/// Claims that come in one round.
const DECISIONS: usize = 200;

/// Rounds; odd, so that the median is one of them.
const ROUNDS: usize = 5;

/// The controller has settled when it took less than a tenth of the core over this time, and is waited for so many times.
const REST: Duration = Duration::from_millis(500);
const RESTS: usize = 120;

/// The time over which the idle controller is watched: two rounds of whatever it does every few seconds.
const IDLE: Duration = Duration::from_secs(10);

/// Which claim was created last is seen by this.
const LATER: &str = "2027-01-01T00:00:00Z";

/// The cluster of `count` pairs.
pub(crate) fn cluster(count: usize) -> Cluster {
    let namespaces = objects::namespaces_of(count);
    [
        Objects { count, text: objects::volume },
        Objects { count, text: objects::claim },
        Objects { count: objects::ALL_CLASSES, text: objects::class },
        Objects::NONE,
        Objects { count: namespaces, text: objects::namespace },
    ]
}

/// Measures the controller over `count` pairs.
pub(crate) fn measure(count: usize, servers: Handle) -> Result<Figures, String> {
    let server = ApiServer::new(cluster(count), servers);
    let markers = [
        (objects::volume_path(MARKERS), marker_volume(MARKERS, "Available")),
        (objects::claim_path(MARKERS), marker_claim(MARKERS, "1Gi")),
    ];
    server.store(markers);
    // Of all claims it was created last, so that everything else was decided before.
    server.expect([objects::volume_path(MARKERS)]);
    let id = std::process::id();
    let before = process::resident(id)?;
    let started = processor_time();
    let all = 2.0 * count as f64;
    controller::beside(&server, async {
        server.all_written().await;
        let start = (processor_time() - started) / all;
        let settling = settled().await;
        let bytes = (process::resident(id)? - before) / all;
        let peak_bytes = (process::peak(id)? - before) / all;
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            let changed = events(&server, count, round).await;
            rounds.push((changed, decisions(&server, count, round).await));
        }
        let idle = idle().await;
        let median = |of: fn(&(f64, f64)) -> f64| floors::median(rounds.iter().map(of));
        Ok(Figures::from([
            ("start", start),
            ("bytes", bytes),
            ("peak-bytes", peak_bytes),
            ("event", median(|round| round.0)),
            ("decision", median(|round| round.1)),
            ("settling", settling),
            ("idle", idle),
        ]))
    })
}

/// A volume of the class of its own.
pub(crate) fn marker_volume(number: usize, phase: &str) -> String {
    let state = VolumeState { version: 1, note: "daily", phase, is_bound: false };
    objects::volume_in(number, state)
}

/// A claim of the class of its own.
pub(crate) fn marker_claim(number: usize, size: &str) -> String {
    objects::pending_claim(number, size, LATER)
}

/// Time per event, in µs: bound volumes change in what no decision reads, then bound claims.
async fn events(server: &ApiServer, count: usize, round: usize) -> f64 {
    let version = 2 + round as u64;
    let bound = changed(count, round);
    let state = VolumeState { version, note: "weekly", phase: "Bound", is_bound: true };
    let marker = MARKERS + 1 + round;
    let mut volumes: Vec<_> =
        bound.iter().map(|number| objects::volume_in(*number, state)).collect();
    let mut claims: Vec<_> =
        bound.iter().map(|number| objects::bound_claim(*number, version, "payments")).collect();
    server.store([
        (objects::volume_path(marker), marker_volume(marker, "Pending")),
        (objects::claim_path(marker), marker_claim(marker, "1Gi")),
    ]);
    volumes.push(marker_volume(marker, "Pending"));
    claims.push(marker_claim(marker, "1Gi"));
    // The volume becomes Available, the claim gets it: either is the last of its stream, and comes after all others.
    let status = |path: String| path + "/status";
    let volumes_took = until(server, [status(objects::volume_path(marker))], || {
        server.send(vec![(ResourceKind::Volumes, "MODIFIED", volumes)]);
    });
    let volumes_took = volumes_took.await;
    settled().await;
    let claims_took = until(server, [objects::volume_path(marker)], || {
        server.send(vec![(ResourceKind::Claims, "MODIFIED", claims)]);
    });
    let claims_took = claims_took.await;
    settled().await;
    (volumes_took + claims_took) / (2.0 * EVENTS as f64)
}

/// The pairs that change in a round: spread over all, others in each round if there are enough.
fn changed(count: usize, round: usize) -> Vec<usize> {
    let all = (0..count).filter(|number| objects::is_bound(*number)).count();
    let step = (all / EVENTS).max(1);
    let bound = (0..count).filter(|number| objects::is_bound(*number)).cycle();
    bound.skip(round % step).step_by(step).take(EVENTS).collect()
}

/// Time per claim, in µs, from its watch event to the last of its four writes.
async fn decisions(server: &ApiServer, count: usize, round: usize) -> f64 {
    // Steps of a size that is prime to those of classes and sizes.
    let numbers = (0..DECISIONS).map(|number| count + (round * DECISIONS + number) * 51);
    let numbers: Vec<usize> = numbers.collect();
    let volume = |number: usize| marker_volume(number, "Pending");
    let claim = |number: usize| objects::pending_claim(number, &objects::size(number), LATER);
    server.store(numbers.iter().map(|number| (objects::volume_path(*number), volume(*number))));
    server.store(numbers.iter().map(|number| (objects::claim_path(*number), claim(*number))));
    let status = |path: String| path + "/status";
    let volumes: Vec<_> = numbers.iter().map(|number| volume(*number)).collect();
    let available = numbers.iter().map(|number| status(objects::volume_path(*number)));
    let created: Change = (ResourceKind::Volumes, "ADDED", volumes);
    until(server, available, || server.send(vec![created])).await;
    settled().await;
    let claims: Vec<_> = numbers.iter().map(|number| claim(*number)).collect();
    let bound = numbers.iter().map(|number| status(objects::claim_path(*number)));
    let created: Change = (ResourceKind::Claims, "ADDED", claims);
    let took = until(server, bound, || server.send(vec![created])).await;
    settled().await;
    took / DECISIONS as f64
}

/// Waits until the controller does next to nothing. Returns the processor time that this took, in seconds.
pub(crate) async fn settled() -> f64 {
    let start = processor_time();
    for _ in 0..RESTS {
        let before = processor_time();
        sleep(REST).await;
        if processor_time() - before < REST.as_secs_f64() * 1e5 {
            break;
        }
    }
    (processor_time() - start) / 1e6
}

/// The controller's processor time, in µs, from `start` until a write to each of these paths is made.
pub(crate) async fn until(
    server: &ApiServer,
    paths: impl IntoIterator<Item = String>,
    start: impl FnOnce(),
) -> f64 {
    server.expect(paths);
    let before = processor_time();
    start();
    server.all_written().await;
    processor_time() - before
}

/// Processor time while nothing happens, in hundredths of a core.
async fn idle() -> f64 {
    let before = processor_time();
    sleep(IDLE).await;
    (processor_time() - before) / IDLE.as_secs_f64() / 1e4
}

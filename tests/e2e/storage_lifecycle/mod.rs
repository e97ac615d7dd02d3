//! The real controllers, scheduler and the writers of drivers take volumes and claims through their whole
//! life, while guard fails closed and every rule that can deny does.
//!
//! One thing is as by default: freeing a released volume for any claim only warns, as it is the documented way
//! to use it again.
//!
//! That the case could fail is shown in it: the API server has counted its questions about each writer
//! (`witness`), and a webhook that denies one write of each is noticed for each (`planted_denial`). Beside it the
//! registration's conditions are compared with the code's predicates over every write (`recorder`).

mod actors;
mod planted_denial;
pub(crate) mod scenarios;
pub(crate) mod tally;
mod witness;

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use bindery::rules::Policy;
use serde_json::Value;

use crate::eventually::wait;
use crate::installed::{Installed, Registered};
use crate::no_false_denials::world::VOLUMES;
use crate::plane::persona::{ARRANGER, TENANT};
use crate::plane::{Peers, Plane};
use crate::recorder::Recorder;
use crate::runner::{Case, case, extent};
use scenarios::{ALL, Scenarios};
use tally::Tally;

pub(crate) const CASES: &[Case] = &[case!(the_real_controllers_live_undisturbed)];

/// Returns how many pairs go through the scenarios.
fn pairs() -> usize {
    if extent().is_full { 200 } else { 20 }
}

/// Every rule that warns denies, but for those whose hazard is also a procedure: people give a volume on, and delete
/// claims with their data because they mean it.
pub(crate) fn strict() -> Policy {
    const FILE: &str = "apiVersion: bindery.dev/v1\nkind: Config\nprofile: strict\n\
        rules: {modes: {released-volume-reuse: warn, claim-delete-destroys-data: warn}}\n";
    bindery::config::read_bytes(FILE.as_bytes(), "strict").unwrap().policy
}

fn the_real_controllers_live_undisturbed() {
    let plane = Plane::start(Peers::Everyone).unwrap_or_else(|error| panic!("{error}"));
    let installed = Installed::under(strict(), &plane, Registered::Everything);
    witness::call(&plane, &installed);
    let recorder = Recorder::on(&plane);
    let started = Instant::now();
    let reported = Scenarios::on(&plane);
    let failures = run_all(&reported);
    // An event is written when its request is over, which may be after the reply.
    wait(Duration::from_millis(500));
    let log = plane.audit_log();
    let names = || ALL.iter().map(|(name, _)| *name).chain(["populators", "pvc", VOLUMES]);
    let tally = Tally::of(&log, |place| names().any(|name| place.starts_with(name)));
    let mut wrong = tally.denials();
    wrong.extend(failures);
    wrong.extend(unexpected_mutations(&tally));
    wrong.extend(witness::gaps(&plane, &tally));
    let compared = recorder.compare();
    println!("{} comparisons of condition and predicate", compared.count);
    wrong.extend(compared.differences);
    wrong.extend(reported.lost(&volumes(&plane)).iter().map(|name| format!("{name} is lost")));
    println!(
        "{} pairs through {} scenarios, {} volumes kept, in {:.1?}",
        pairs(),
        ALL.len(),
        reported.kept(),
        started.elapsed()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let failed = installed.metric("bindery_panics_total");
    assert!(failed.abs() < 0.5, "{failed} reviews ended in a panic");
    planted_denial::every_writer_is_watched(&plane);
}

/// Runs all scenarios at once, and returns how those failed that did: mostly as a writer was denied.
fn run_all(reported: &Scenarios<'_>) -> Vec<String> {
    let count = pairs() / ALL.len();
    thread::scope(|scope| {
        let report = |(name, scenario): &'static (&str, scenarios::Scenario)| {
            (*name, scope.spawn(move || scenario(reported, count)))
        };
        let threads: Vec<_> = ALL.iter().map(report).collect();
        let ended = threads.into_iter().map(|(name, thread)| (name, thread.join()));
        ended.filter_map(|(name, end)| Some(format!("{name}: {}", words(&*end.err()?)))).collect()
    })
}

/// Returns what a thread said when it panicked.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// Tenants' claims of a class that waits get a note, one each; nothing else is mutated.
fn unexpected_mutations(tally: &Tally) -> Vec<String> {
    let mut wrong = Vec::new();
    for (user, mutated) in tally.mutations() {
        let is_due = |mutation: &&String| {
            user == TENANT.user && mutation.starts_with("create persistentvolumeclaims")
        };
        wrong.extend(
            mutated
                .iter()
                .filter(|mutation| !is_due(mutation))
                .map(|mutation| format!("{user}: mutated: {mutation}")),
        );
    }
    let noted = tally.by(TENANT.user).map_or(0, |writes| writes.mutated.len());
    if noted != pairs() / ALL.len() {
        wrong.push(format!("{noted} claims were given a note"));
    }
    wrong
}

fn volumes(plane: &Plane) -> BTreeSet<String> {
    let list = plane.get(ARRANGER, VOLUMES).expect_ok();
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let name = |volume: &Value| volume["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    items.iter().map(name).collect()
}

//! The real provisioner of local disks, loop and all, over the simulated server and files in the place of disks: under seeds,
//! killed again and again, with every fault of the API server on. No disk is offered with data, and none is cleaned under a
//! claim.
//!
//! `SEED=7 cargo test --locked --test simulation a_provisioner_that_is_killed` runs one seed alone and prints all writes to its
//! volumes; `LOCAL_DISK_SEEDS` says how many there are else. Threads work on disks, so that two runs of a seed have the same
//! people and kills, but not always the same moments.

mod judge;
mod media;
mod people;
mod play;
mod process;
mod transport;

use std::sync::Mutex;
use std::time::Instant;

use crate::runs::{count, each, number};
use media::Tally;
use play::run_seed;

/// Seeds by default, which take a quarter of a minute; `make soak` has a thousand.
const SEEDS: u64 = 25;

/// So few that not everything need occur in them.
const FEW: u64 = 20;

/// Lines that a failure shows.
const SHOWN: usize = 60;

/// Failures that are shown in full.
const FAILURES_SHOWN: usize = 3;

/// What must occur in enough seeds: without it, they prove less than they say.
const MUST_OCCUR: [&str; 13] = [
    "offers",
    "offers again",
    "claims bound",
    "writes of tenants",
    "released volumes deleted",
    "kills at a request",
    "kills within a cleaning",
    "kills that left a disk half cleaned",
    "claims deleted under a pod",
    "volumes deleted by hand",
    "volumes restored by hand",
    "disks exchanged",
    "disks plugged in again",
];

#[test]
fn a_provisioner_that_is_killed_offers_no_data_and_cleans_nothing_under_a_claim() {
    if let Some(seed) = number("SEED") {
        let run = run_seed(seed);
        eprintln!("{}\n{:?}", run.history.join("\n"), run.tally);
        assert!(run.breaches.is_empty(), "{}", run.breaches.join("\n"));
        return;
    }
    let seeds = count("LOCAL_DISK_SEEDS", SEEDS);
    let start = Instant::now();
    let whole = Mutex::new((Tally::new(), Vec::new()));
    each(usize::try_from(seeds).expect("a number of seeds"), |seed| {
        let run = run_seed(u64::try_from(seed).expect("a seed"));
        let mut whole = whole.lock().expect("whole");
        for (what, times) in run.tally {
            *whole.0.entry(what).or_default() += times;
        }
        if !run.breaches.is_empty() {
            let shown = whole.1.len() < FAILURES_SHOWN;
            let skipped = if shown { run.history.len().saturating_sub(SHOWN) } else { usize::MAX };
            let last: Vec<String> = run.history.into_iter().skip(skipped).collect();
            let (breaches, last) = (run.breaches.join("\n  "), last.join("\n  "));
            whole.1.push(format!("seed {seed}:\n  {breaches}\n  {last}"));
        }
    });
    let (tally, failures) = whole.into_inner().expect("whole");
    let reported = format!("{seeds} seeds in {} ms; {tally:?}", start.elapsed().as_millis());
    eprintln!("{reported}");
    let failed = failures.len();
    assert!(failures.is_empty(), "{failed} of {reported}\n{}", failures.join("\n\n"));
    let missing: Vec<&str> =
        MUST_OCCUR.into_iter().filter(|what| !tally.contains_key(what)).collect();
    assert!(seeds < FEW || missing.is_empty(), "never happened: {missing:?}");
}

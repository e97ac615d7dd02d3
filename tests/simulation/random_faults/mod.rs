//! The real controller, with its lease, over the simulated server: under seeds, with every fault on.
//!
//! `SEED=7 cargo test --locked --test simulation seeds_without_a_breach` runs one seed alone and prints its last writes;
//! `SIMULATION_SEEDS` says how many there are else.

mod calm;
mod crowd;
mod play;
mod replica;
mod tally;
mod transport;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Mutex;
use std::time::Instant;

use bindery_sim::Accepted;
use serde_json::Value;

use crate::runs::{count, each, number};
use play::{SeedRun, run_seed};
use tally::Tally;
pub(crate) use tally::kind;

/// Seeds by default.
const SEEDS: u64 = 300;

/// So few that not everything need occur in them.
const FEW: u64 = 100;

/// Writes that a failure shows.
const SHOWN: usize = 60;

#[test]
fn seeds_without_a_breach_and_everything_occurs() {
    if let Some(seed) = number("SEED") {
        let run_of_seed = run_seed(seed);
        eprintln!("{}", scenario(&run_of_seed.history, usize::MAX));
        assert!(run_of_seed.breaches.is_empty(), "{}", failure(seed, &run_of_seed));
        return;
    }
    let seeds = count("SIMULATION_SEEDS", SEEDS);
    let start = Instant::now();
    let run = run(seeds);
    let took = start.elapsed();
    let reported = format!(
        "{seeds} seeds in {} ms, {} simulated seconds; {:?}",
        took.as_millis(),
        run.seconds,
        run.tally
    );
    eprintln!("{reported}");
    if let Some(first) = run.first {
        let kinds: Vec<String> = run.kinds.into_iter().collect();
        eprintln!("broken: {} seeds, the first is {first}; {}", run.failed, kinds.join(" "));
    }
    assert!(run.failures.is_empty(), "{} of {reported}\n{}", run.failed, run.failures.join("\n\n"));
    assert_eq!(run.tally.unreachable(), 0, "a list or watch was answered from an older state");
    let missing = run.tally.missing();
    assert!(seeds < FEW || missing.is_empty(), "never happened: {missing:?}");
}

#[test]
fn a_seed_repeats() {
    for seed in 0..3 {
        let (one, other) = (run_seed(seed), run_seed(seed));
        let breach = crate::invariants::ending::repeats(&one.history, &other.history);
        assert!(breach.is_none(), "seed {seed}: {}", breach.expect("one"));
    }
}

/// What all scenarios together came to.
#[derive(Default)]
struct Run {
    failed: usize,
    /// The first seed that failed.
    first: Option<u64>,
    /// Which invariants were broken: the first word of each breach.
    kinds: BTreeSet<String>,
    /// The first few.
    failures: Vec<String>,
    tally: Tally,
    seconds: u64,
}

/// Failures that are shown in full.
const FAILURES_SHOWN: usize = 3;

/// Runs the scenario of each seed once.
fn run(seeds: u64) -> Run {
    let whole = Mutex::new(Run::default());
    each(usize::try_from(seeds).expect("a number of seeds"), |seed| {
        let seed = u64::try_from(seed).expect("a seed");
        let run_of_seed = run_seed(seed);
        let mut whole = whole.lock().expect("whole");
        whole.tally.add(&run_of_seed.tally);
        whole.seconds += run_of_seed.lasted.as_secs();
        if !run_of_seed.breaches.is_empty() {
            whole.failed += 1;
            whole.first = Some(whole.first.map_or(seed, |first| first.min(seed)));
            let words = run_of_seed
                .breaches
                .iter()
                .filter_map(|breach| breach.split([' ', ':']).next().map(str::to_owned));
            whole.kinds.extend(words);
            let reported = if whole.failures.len() < FAILURES_SHOWN {
                failure(seed, &run_of_seed)
            } else {
                format!("seed {seed}: {:?}", run_of_seed.breaches.first())
            };
            whole.failures.push(reported);
        }
    });
    whole.into_inner().expect("whole")
}

/// The breaches, the last writes, and the command that runs the seed again.
fn failure(seed: u64, run_of_seed: &SeedRun) -> String {
    let breaches = run_of_seed.breaches.join("\n  ");
    let scenario = scenario(&run_of_seed.history, SHOWN);
    format!(
        "seed {seed}:\n  {breaches}\nthe last writes:\n{scenario}alone: SEED={seed} cargo test --locked --test simulation \
         seeds_without_a_breach"
    )
}

/// The last writes, a line each.
pub(crate) fn scenario(history: &[Accepted], most: usize) -> String {
    let mut reported = String::new();
    let skipped = history.len().saturating_sub(most);
    for write in &history[skipped..] {
        let object = write.object();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let space = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let what = kind(write).unwrap_or_default();
        let gone = if write.after.is_none() { " (gone)" } else { "" };
        let sent = if write.user.starts_with("binder") && *write.sent != Value::Null {
            what.to_owned()
        } else {
            write.sent.to_string()
        };
        writeln!(
            reported,
            "{} {} {}: {:?} {} {space}/{name}{gone} {sent}",
            write.version, write.at, write.user, write.method, write.resource
        )
        .expect("a string takes it");
    }
    reported
}

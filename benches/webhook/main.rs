//! The webhook against its peers, in one run: `make bench`, or `cargo bench --bench webhook -- SECTION…`.
//!
//! Sections: `throughput`, `latency`, `memory`, `start`, `plan`; without one, all of them. Every row is a ratio
//! of two figures of this run, or an amount; its floor is in `benches/floors.toml`. The exit code is 0
//! if every row reaches its floor, 1 if one does not, 2 if something could not be measured.
//!
//! The budget is the same for every server: one core, to which it is pinned; the load comes from
//! another one. On two cores without pinning the load generator decides how much a server gets, and a
//! server with more threads takes the generator's share. nginx therefore runs one worker, Go sees one
//! core, and Bindery runs one review thread, as by default. The latency of whole API calls is measured
//! without pinning: there the API server needs both cores.
//!
//! Not here: the pure path alone (`benches/judge.rs`).
#![allow(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "figures are ratios and medians; 53 bits hold every count that a run can reach"
)]

#[path = "../cluster/dump.rs"]
mod dump;
#[path = "../../tests/e2e/eventually.rs"]
#[allow(dead_code, clippy::panic, reason = "shared with the end-to-end tests, which use all of it")]
mod eventually;
mod floors;
mod hostile;
mod latency;
mod load;
mod memory;
mod plan;
#[path = "../../tests/e2e/plane/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    clippy::panic,
    reason = "shared with the end-to-end tests, which use all of it"
)]
mod plane;
mod process;
mod reviews;
#[path = "../../tests/e2e/runner.rs"]
#[allow(
    dead_code,
    unused_imports,
    unused_macros,
    clippy::expect_used,
    reason = "shared with the end-to-end tests, which use all of it; only its outcome is of use here"
)]
mod runner;
mod serving;
mod start;
mod throughput;
mod tools;
mod wire;

use std::process::ExitCode;

use floors::{Floors, Row};

/// A section: its name, and what measures its rows.
type Section = (&'static str, fn() -> Result<Vec<Row>, String>);

const SECTIONS: [Section; 5] = [
    ("throughput", throughput::measure),
    ("latency", latency::measure),
    ("memory", memory::measure),
    ("start", start::measure),
    ("plan", plan::measure),
];

fn main() -> ExitCode {
    // cargo itself adds `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    plane::die_on_interrupt();
    match run(&wanted) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(missed) => {
            eprintln!("{missed} of the rows above miss their floor (benches/floors.toml)");
            ExitCode::FAILURE
        }
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::from(2)
        }
    }
}

/// Measures the wanted sections and prints their rows; how many missed their floor.
fn run(wanted: &[String]) -> Result<usize, String> {
    let known = |word: &&String| SECTIONS.iter().any(|(name, _)| name == word);
    if let Some(unknown) = wanted.iter().find(|word| !known(word)) {
        let names = SECTIONS.map(|(name, _)| name).join(", ");
        return Err(format!("no section is called {unknown:?}; choose from {names}"));
    }
    let floors = Floors::read()?;
    tools::check()?;
    let mut rows = Vec::new();
    for (name, measure) in SECTIONS {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            eprintln!("measuring {name}");
            rows.extend(measure()?);
        }
    }
    if wanted.is_empty() {
        floors.check_complete(&rows)?;
    }
    floors.print(&rows)
}

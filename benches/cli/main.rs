//! The command line over large files, from the start of the process to its end: `make bench BENCHES=cli`, or `cargo
//! bench --bench cli -- SECTION…`.
//!
//! Sections: `plan`, `check`, `scan`, `version`; without one, all of them. Floors and exit codes are those of the webhook's
//! bench. `BINDERY_BENCH_PAIRS=100` makes the dumps that small.
//!
//! Not here: what a verdict takes by itself (`benches/judge.rs`).
#![allow(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "figures are medians; 53 bits hold every count that a run can reach"
)]

mod check;
mod command;
mod dump;
mod plan;
#[path = "../shared/mod.rs"]
mod shared;
mod version;

use std::process::ExitCode;

use shared::sections::Section;
// The planes look for what they use at the root of the program that includes them.
use shared::{eventually, extent, floors, measured, plane, process, runner};

const SECTIONS: [Section; 4] = [
    Section::of("plan", "`bindery plan` of a large cluster", plan::measure),
    Section::of("check", "`bindery check` of a repository", check::measure),
    Section::of("scan", "`bindery scan` of a large cluster", check::measure_scan),
    Section::of("version", "`bindery --version`", version::measure),
];

fn main() -> ExitCode {
    shared::sections::main("cli", &SECTIONS)
}

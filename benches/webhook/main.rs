//! The webhook against its peers, in one run: `make bench`, or `cargo bench --bench webhook -- SECTION…`.
//!
//! Sections: `throughput`, `latency`, `memory`, `mix`, `start`, `overload`; without one, all of them. Every row is a ratio
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

mod hostile;
mod idle;
mod latency;
mod load;
mod memory;
mod mix;
mod overload;
mod reviews;
mod serving;
#[path = "../shared/mod.rs"]
mod shared;
mod start;
mod throughput;
mod tools;
mod wire;

use std::process::ExitCode;

use programs::SETPRIV;
use shared::sections::Section;
// The planes look for what they use at the root of the program that includes them.
use shared::{eventually, floors, measured, plane, process, programs, runner, webhook};
use tools::{GO, NGINX, RENICE, TASKSET, WRK};

const SECTIONS: [Section; 6] = [
    Section {
        name: "throughput",
        title: "Reviews of one core",
        needs: &[WRK, NGINX, GO, TASKSET, SETPRIV],
        measure: throughput::measure,
    },
    Section {
        name: "latency",
        title: "What a request waits for the webhook",
        needs: &[WRK, GO, SETPRIV],
        measure: latency::measure,
    },
    Section::of(
        "memory",
        "Memory under hostile requests, and of idle connections",
        memory::measure,
    ),
    Section::of("mix", "Memory under everything hostile at once", mix::measure),
    Section::of("start", "From start to ready", start::measure),
    Section {
        name: "overload",
        title: "More reviews than can be answered",
        needs: &[TASKSET, RENICE, SETPRIV],
        measure: overload::measure,
    },
];

fn main() -> ExitCode {
    shared::sections::main("webhook", &SECTIONS)
}

//! The bind loop against the in-tree binder and against the bare load: `make bench BENCHES=binding`, or
//! `cargo bench --bench binding -- SECTION…`.
//!
//! Sections: `like`, `sizes`, `named`, `waiting`, `webhook`, `single`, `engine`, `many`, `matching`; without
//! one, all of them. Floors and exit codes are those of the webhook's bench. `BINDERY_BENCH_PAIRS=100`
//! makes every race that short, `BINDERY_BENCH_ROUNDS=1` runs each once: for trying a row in a minute; the
//! figures of a short run are not those that the floors are meant for.
//!
//! In a race the volumes (or the claims) exist; 64 clients create the other kind as fast as they are
//! served, and the clock runs from the first creation until the last claim is Bound. The competitors take
//! turns, each on a fresh API server and etcd of its own, alone with it but for one watch that takes the
//! times. The *bare load* is the same 64 clients which, after each creation, send the four patches of that
//! bind in order, as our controller spells them: no watch, no choice, nothing but the requests. Nothing is
//! pinned: the API server needs both cores.
//!
//! Not here: the decision alone (`benches/judge.rs`).
#![allow(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "figures are ratios and medians; 53 bits hold every count that a run can reach"
)]

#[path = "../shared/among.rs"]
mod among;
mod bare;
mod competitor;
mod engine;
mod feed;
mod many;
mod matching;
mod observer;
mod pairs;
mod race;
mod rows;
#[path = "../shared/mod.rs"]
mod shared;
mod single;
mod users;
mod writes;

use std::process::ExitCode;

use shared::sections::Section;
// The planes look for what they use at the root of the program that includes them.
use shared::{eventually, extent, floors, measured, plane, process, runner, webhook};

// That of the product, see its Cargo.toml.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const SECTIONS: [Section; 9] = [
    Section::of("like", "Like pairs", rows::like),
    Section::of("sizes", "Pairs of all sizes", rows::sizes),
    Section::of("named", "Claims that name their volume", rows::named),
    Section::of("waiting", "Claims that wait for their volume", rows::waiting),
    Section::of("webhook", "With the webhook installed", rows::with_webhook),
    Section::of("single", "One pair in an idle cluster", single::measure),
    Section::of("engine", "The controller without a network", engine::measure),
    Section::of("many", "Memory with many objects", many::measure),
    Section::of("matching", "The choice of a volume", matching::measure),
];

fn main() -> ExitCode {
    shared::sections::main("binding", &SECTIONS)
}

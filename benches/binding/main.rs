//! The bind loop against the in-tree binder and against the bare load: `make bench BENCHES=binding`, or
//! `cargo bench --bench binding -- SECTION…`.
//!
//! Sections: `like`, `sizes`, `named`, `waiting`, `webhook`, `single`, `many`, `matching`, `plan`; without
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
#[path = "../cluster/dump.rs"]
mod dump;
mod engine;
mod feed;
mod many;
mod matching;
mod observer;
mod pairs;
mod plan;
mod race;
mod rows;
#[path = "../shared/mod.rs"]
mod shared;
mod single;
mod users;
mod writes;

use std::process::ExitCode;

// The planes look for what they use at the root of the program that includes them.
use shared::{eventually, floors, plane, process, programs, runner, webhook};

const SECTIONS: [shared::sections::Section; 10] = [
    ("like", rows::like),
    ("sizes", rows::sizes),
    ("named", rows::named),
    ("waiting", rows::waiting),
    ("webhook", rows::with_webhook),
    ("single", single::measure),
    ("engine", engine::measure),
    ("many", many::measure),
    ("matching", matching::measure),
    ("plan", plan::measure),
];

/// Programs that the system must have.
const NEEDED: [(&str, &str); 1] = [("setpriv", "apt-get install util-linux")];

fn main() -> ExitCode {
    shared::sections::main("binding", &SECTIONS, || programs::check(&NEEDED))
}

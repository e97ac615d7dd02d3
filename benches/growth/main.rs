//! How Bindery grows: time and memory over 1,000 to 1,000,000 volumes and as many claims, and in crowded clusters:
//! `make bench BENCHES=growth`, or `cargo bench --bench growth -- SECTION…`.
//!
//! Sections: `controller`, `webhook`, `crowded`; without one, all of them. Floors and exit codes are those of the
//! webhook's bench. `BINDERY_BENCH_PAIRS=10000` makes no cluster larger than that: for trying a row in a minute; the
//! figures of a short run are not those that the floors are meant for.
//!
//! Each size is measured in a process of its own, with the allocator of the product. In it the whole controller runs, or
//! the webhook's store and its service, on one thread, through kube's client, over an API server on another thread that
//! makes the bytes of its objects as they are read: the simulated one of the tests would need ten gigabytes beside what is
//! measured. Times are processor times of the one thread, so that what else the machine does counts only as far as it
//! takes caches away.
//!
//! Not here: memory of the processes as they are started (`benches/binding`, section `many`).
#![allow(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "figures are ratios and medians; 53 bits hold every count that a run can reach"
)]

mod api_server;
mod bound;
mod child;
mod clock;
mod controller;
mod crowd;
mod crowded;
mod objects;
mod reviewed;
mod rows;
#[path = "../shared/mod.rs"]
mod shared;
mod stream;
mod template;

use std::process::ExitCode;

use tokio::runtime::{Builder, Handle};

use shared::sections::Section;
// The planes look for what they use at the root of the program that includes them.
use shared::{eventually, extent, floors, measured, plane, process, runner};

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const SECTIONS: [Section; 3] = [
    Section::of("controller", "The controller over a million pairs", rows::controller),
    Section::of("webhook", "The webhook over a million pairs", rows::webhook),
    Section::of("crowded", "What an event costs in a crowd", rows::crowded),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [child::MEASURED, what, count] = words.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        return measured(what, count);
    }
    shared::sections::main("growth", &SECTIONS)
}

/// Measures one thing, in the process that is there for it.
fn measured(what: &str, count: &str) -> ExitCode {
    let measure = || {
        let count = count.parse::<usize>().map_err(|error| format!("{count}: {error}"))?;
        let servers = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| format!("no runtime: {error}"))?;
        of(what, count, servers.handle().clone())
    };
    match measure() {
        Ok(figures) => {
            child::print(&figures);
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::from(2)
        }
    }
}

fn of(what: &str, count: usize, servers: Handle) -> Result<child::Figures, String> {
    match what {
        "controller" => bound::measure(count, servers),
        "webhook" => reviewed::measure(count, servers),
        shape => match crowded::named(shape) {
            Some(shape) => shape.measure(count, servers),
            None => Err(format!("nothing that is measured is called {what}")),
        },
    }
}

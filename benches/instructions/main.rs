//! Instructions of one review, stage by stage, as valgrind's callgrind counts them: `cargo bench --bench instructions`.
//!
//! A count does not depend on the machine's load, so that a change of a hundredth shows where a clock says nothing. Each
//! path is run twice, once for twice as many reviews: the difference is the reviews alone, without start and end. A
//! stage is what a path takes beyond the next shorter one.
//!
//! Not here: what the kernel does for a review, which callgrind does not see (`benches/webhook`).
//!
//! gungraun (formerly iai-callgrind) is not used: it counts on the thread that calls, and a review is served on another.
#![allow(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "figures are means; 53 bits hold every count that a run can reach"
)]

mod count;
mod paths;
mod served;
#[path = "../shared/mod.rs"]
mod shared;

use std::process::ExitCode;

use paths::Path;
// The planes look for what they use at the root of the program that includes them.
use shared::floors::Row;
use shared::measured::{Measured, bars};
use shared::sections::Section;
use shared::{eventually, programs, runner};

/// Runs one path, in the process that callgrind watches.
const COUNTED: &str = "--counted";

const SECTIONS: [Section; 1] = [Section {
    name: "stages",
    title: "Instructions of one review, by stage",
    needs: &[("valgrind", "apt-get install valgrind")],
    measure: stages,
}];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [COUNTED, path, times] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return counted(path, times);
    }
    shared::sections::main("instructions", &SECTIONS)
}

fn counted(path: &str, times: &str) -> ExitCode {
    let run = || {
        let times = times.parse::<u64>().map_err(|error| format!("{times}: {error}"))?;
        let path = Path::named(path).ok_or_else(|| format!("no path is called {path}"))?;
        path.run(times)
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::from(2)
        }
    }
}

/// The stages of a review, each with what it takes of the whole.
fn stages() -> Result<Measured, String> {
    let of = count::of_a_review;
    let [tls, plain, service] = [of(Path::Tls)?, of(Path::Plain)?, of(Path::Service)?];
    let [read, bare] = [of(Path::Read)?, of(Path::ReadBare)?];
    let [judge, answer] = [of(Path::Judge)?, of(Path::Answer)?];
    let row = |id, what: &str, figure: f64| Row {
        id,
        what: what.to_owned(),
        ours: format!("{figure:.0} instructions"),
        other: format!("{:.0} % of the whole", 100.0 * figure / tls),
        figure,
    };
    let stages = [
        ("TLS", tls - plain),
        ("HTTP", plain - service),
        ("envelope", bare),
        ("objects", read - bare),
        ("rules", judge),
        ("answer", answer),
        ("records", service - read - judge - answer),
    ];
    let [tls_alone, http, envelope, objects, rules, answer, records] = stages.map(|(_, n)| n);
    let rows = vec![
        row("whole", "an update of a bound PV, 3.4 KB, allowed, over TLS", tls),
        row("tls", "TLS: decryption and encryption", tls_alone),
        row("http", "HTTP: sockets, heads, routing, the body", http),
        row("envelope", "the AdmissionReview around its objects", envelope),
        row("objects", "both objects", objects),
        row("rules", "the rules of guard", rules),
        row("answer", "the answer", answer),
        row("records", "metrics, clocks, the policy", records),
    ];
    Ok(Measured::from(rows).with(bars("Instructions of one review", stages)))
}

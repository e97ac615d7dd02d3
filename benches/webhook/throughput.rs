//! How many reviews a core answers, and how long the slowest of a hundred takes.
//!
//! The servers take turns, so that whatever else the machine does meets all of them. A rate is reviews
//! per second of the server's own processor time: on a free machine a server at its limit shows the
//! same figure by the clock, but a load generator that cannot keep up, or a build in the background,
//! does not flatter the slower server here.

use std::fmt;
use std::path::Path;

use crate::floors::{Row, median};
use crate::load::{Load, Seen};
use crate::measured::{Measured, bars, histogram};
use crate::plane::{Peers, Plane, persona};
use crate::process;
use crate::serving::{Keys, Pinning, Server};
use crate::tools;
use crate::wire::GUARD;

/// Turns of each server. Odd, so that the median is a run.
const TURNS: usize = 5;

/// Seconds of a run, after a warm-up; long enough for many collections of the Go runtime.
const RUN_SECONDS: u32 = 5;

/// As many as an API server pools per webhook.
const CONNECTIONS: u32 = 25;

/// Measures the three servers in turn.
pub(crate) fn measure() -> Result<Measured, String> {
    let cores = tools::cores()?;
    let pinning = Pinning::Core(cores.server);
    let peer_binary = tools::build_peer()?;
    let plane = Plane::start(Peers::Alone)?;
    let keys = Keys::create(&plane)?;
    let servers = [
        Server::bindery(&keys, &plane.kubeconfig(persona::BINDERY), pinning)?,
        Server::peer(&keys, &peer_binary, pinning)?,
        Server::constant(&keys, pinning)?,
    ];
    let body = keys.reviews.write_allowed(&keys.folder)?;
    let mut runs: [Vec<Run>; 3] = Default::default();
    for turn in 0..=TURNS {
        for (server, runs) in servers.iter().zip(&mut runs) {
            if server.name != "nginx" {
                server.check_verdicts(&keys)?;
            }
            // The first turn warms up: connections, collectors, pages.
            let seconds = if turn == 0 { 1 } else { RUN_SECONDS };
            let url = format!("{}{GUARD}", server.url());
            let run = Run::of(server, &load(&url, &body, seconds, cores.load))?;
            if turn > 0 {
                eprintln!("  {:<20}{run}", server.name);
                runs.push(run);
            }
        }
    }
    let [ours, peer, constant] = runs.each_ref().map(|runs| rate(runs));
    let rates = [("Bindery", ours), ("controller-runtime", peer), ("nginx, a constant", constant)];
    let [our_times, peer_times, constant_times] = runs.each_ref().map(|runs| times(runs));
    let times = [
        ("Bindery", our_times),
        ("controller-runtime", peer_times),
        ("nginx, a constant", constant_times),
    ];
    Ok(Measured::from(rows(&runs))
        .with(bars("Reviews per core second", rates))
        .with(histogram("Time of a review, ms", times)))
}

/// One run of one server.
#[derive(Debug)]
struct Run {
    seen: Seen,
    processor_seconds: f64,
}

impl Run {
    fn of(server: &Server, load: &Load<'_>) -> Result<Self, String> {
        let before = process::processor_seconds(server.processes()?)?;
        let seen = load.run()?;
        Ok(Self {
            seen,
            processor_seconds: process::processor_seconds(server.processes()?)? - before,
        })
    }

    /// Reviews per second of processor time.
    fn rate(&self) -> f64 {
        self.seen.requests as f64 / self.processor_seconds
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen { median, p99, .. } = self.seen;
        let by_clock = self.seen.rate();
        let busy = 100.0 * by_clock / self.rate();
        write!(
            f,
            "{:>7.0} per core second, {by_clock:>7.0}/s by the clock, core {busy:>3.0} % busy, \
             median {median:>6.0} µs, p99 {p99:>6.0} µs",
            self.rate()
        )
    }
}

fn load<'a>(url: &'a str, body: &'a Path, seconds: u32, core: usize) -> Load<'a> {
    Load {
        url,
        method: "POST",
        content_type: "application/json",
        body,
        token: None,
        connections: CONNECTIONS,
        seconds,
        core: Some(core),
    }
}

fn rate(runs: &[Run]) -> f64 {
    median(runs.iter().map(Run::rate))
}

/// In ms.
fn times(runs: &[Run]) -> Vec<f64> {
    runs.iter()
        .flat_map(|run| &run.seen.hundredths)
        .map(|microseconds| microseconds / 1e3)
        .collect()
}

fn rows(runs: &[Vec<Run>; 3]) -> Vec<Row> {
    let middle = runs.each_ref().map(|runs| median(runs.iter().map(|run| run.seen.median)));
    let [our_median, peer_median, constant_median] = middle;
    let tail = runs.each_ref().map(|runs| median(runs.iter().map(|run| run.seen.p99)));
    let [ours, peer, constant] = runs.each_ref().map(|runs| rate(runs));
    let [our_tail, peer_tail, constant_tail] = tail;
    vec![
        Row {
            id: "throughput-of-peer",
            what: "reviews of 3.4 KB per core second, TLS, 25 connections".to_owned(),
            ours: format!("{ours:.0}/s"),
            other: format!("controller-runtime {peer:.0}/s"),
            figure: ours / peer,
        },
        Row {
            id: "throughput-of-constant",
            what: "the same against a constant answer".to_owned(),
            ours: format!("{ours:.0}/s"),
            other: format!("nginx {constant:.0}/s"),
            figure: ours / constant,
        },
        Row {
            id: "median-of-constant",
            what: format!("median of the same (controller-runtime {:.2} ms)", peer_median / 1e3),
            ours: format!("{:.2} ms", our_median / 1e3),
            other: format!("nginx {:.2} ms", constant_median / 1e3),
            figure: our_median / constant_median,
        },
        Row {
            id: "tail-of-constant",
            what: format!("p99 of the same (controller-runtime {:.1} ms)", peer_tail / 1e3),
            ours: format!("{:.2} ms", our_tail / 1e3),
            other: format!("nginx {:.2} ms", constant_tail / 1e3),
            figure: our_tail / constant_tail,
        },
    ]
}

//! How many reviews a second one core answers, and how long the slowest of a hundred takes.
//!
//! The servers take turns, so that whatever else the machine does meets all of them.

use std::path::Path;

use crate::floors::{Row, median};
use crate::load::{Load, Seen};
use crate::memory;
use crate::plane::{Peers, Plane, persona};
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
pub(crate) fn measure() -> Result<Vec<Row>, String> {
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
    let mut seen: [Vec<Seen>; 3] = Default::default();
    for turn in 0..=TURNS {
        for (server, seen) in servers.iter().zip(&mut seen) {
            if server.name != "nginx" {
                server.check_verdicts(&keys)?;
            }
            let before = memory::cpu_ticks(server)?;
            // The first turn warms up: connections, collectors, pages.
            let seconds = if turn == 0 { 1 } else { RUN_SECONDS };
            let run = load(server, &body, seconds, cores.load)?;
            let ticks = memory::cpu_ticks(server)? - before;
            if turn > 0 {
                eprintln!(
                    "  {:<20}{:>9.0}/s  median {:>6.0} µs  p99 {:>6.0} µs  core {:>3.0} % busy",
                    server.name,
                    run.rate(),
                    run.median,
                    run.p99,
                    ticks as f64 / f64::from(seconds),
                );
                seen.push(run);
            }
        }
    }
    Ok(rows(&seen))
}

fn load(server: &Server, body: &Path, seconds: u32, core: usize) -> Result<Seen, String> {
    let url = format!("{}{GUARD}", server.url());
    let load = Load {
        url: &url,
        method: "POST",
        content_type: "application/json",
        body,
        token: None,
        connections: CONNECTIONS,
        seconds,
        core: Some(core),
    };
    load.run()
}

fn rows(seen: &[Vec<Seen>; 3]) -> Vec<Row> {
    let rate = seen.each_ref().map(|runs| median(runs.iter().map(Seen::rate)));
    let tail = seen.each_ref().map(|runs| median(runs.iter().map(|run| run.p99)));
    let [ours, peer, constant] = rate;
    let [our_tail, peer_tail, constant_tail] = tail;
    vec![
        Row {
            id: "throughput-of-peer",
            what: "reviews of 3.4 KB, TLS, 25 connections, one core".to_owned(),
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
            id: "tail-of-constant",
            what: format!("p99 of the same (controller-runtime {:.1} ms)", peer_tail / 1e3),
            ours: format!("{:.2} ms", our_tail / 1e3),
            other: format!("nginx {:.2} ms", constant_tail / 1e3),
            figure: our_tail / constant_tail,
        },
    ]
}

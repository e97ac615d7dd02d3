//! The programs that the benchmark needs, and the cores that they get.
//!
//! It exists so that a missing program is one sentence before anything is measured. Not here: their
//! command lines (`serving`, `load`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs;

/// The core of a pinned server, and the core of the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cores {
    /// For the server.
    pub(crate) server: usize,
    /// For the load generator.
    pub(crate) load: usize,
}

/// Programs that no Debian package of ours brings, and what to install for each.
const NEEDED: [(&str, &str); 6] = [
    ("wrk", "apt-get install wrk"),
    ("nginx", "apt-get install nginx-light"),
    ("go", "Go 1.26 or later"),
    ("taskset", "apt-get install util-linux"),
    ("renice", "apt-get install bsdutils"),
    ("setpriv", "apt-get install util-linux"),
];

/// An error that names every program that is missing, and what to install; or that a core is.
pub(crate) fn check() -> Result<(), String> {
    programs::check(&NEEDED)?;
    cores().map(drop)
}

/// The first two cores that this process may use.
pub(crate) fn cores() -> Result<Cores, String> {
    let status = fs::read_to_string("/proc/self/status")
        .map_err(|error| format!("cannot read /proc/self/status: {error}"))?;
    let allowed =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    let mut cores = allowed.trim().split(',').flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.parse::<usize>(), last.parse::<usize>()) {
            (Ok(first), Ok(last)) => first..last + 1,
            _ => 0..0,
        }
    });
    match (cores.next(), cores.next()) {
        (Some(server), Some(load)) => Ok(Cores { server, load }),
        _ => Err("the benchmark needs two cores: one for a server, one for its load".to_owned()),
    }
}

/// Builds `benches/peer` into the build folder; quick when nothing has changed.
pub(crate) fn build_peer() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peer");
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-peer");
    eprintln!("building the controller-runtime peer (three minutes, once)");
    let status = Command::new("go")
        .args(["build", "-C"])
        .arg(&source)
        .args(["-mod=readonly", "-trimpath", "-o"])
        .arg(&built)
        .arg(".")
        .env("CGO_ENABLED", "0")
        .status()
        .map_err(|error| format!("cannot run go: {error}"))?;
    if status.success() {
        Ok(built)
    } else {
        Err("the controller-runtime peer cannot be built; the lines above say why".to_owned())
    }
}

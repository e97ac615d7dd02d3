//! The programs that the benchmark needs, and the cores that they get.
//!
//! They exist so that a missing program is one sentence before anything is measured. Not here: their
//! command lines (`serving`, `load`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::Needed;

/// The core of a pinned server, and the core of the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cores {
    /// For the server.
    pub(crate) server: usize,
    /// For the load generator.
    pub(crate) load: usize,
}

/// Makes the load.
pub(crate) const WRK: Needed = ("wrk", "apt-get install wrk");

/// Gives the constant answer.
pub(crate) const NGINX: Needed = ("nginx", "apt-get install nginx-light");

/// Builds the peer.
pub(crate) const GO: Needed = ("go", "install Go 1.26 or later");

/// Pins a server or a load to a core.
pub(crate) const TASKSET: Needed = ("taskset", "apt-get install util-linux");

/// Lets the load of attackers yield to that of good clients.
pub(crate) const RENICE: Needed = ("renice", "apt-get install bsdutils");

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

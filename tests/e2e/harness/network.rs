//! A network of the tests' own, in which pods have addresses that the API server calls.
//!
//! Root makes one; other users make one as the root of a user namespace of their own, where a container
//! runs as that root without its rights rather than as the number that its pod asks for. Where neither is allowed,
//! cases that need pods fail with a sentence, and all others run.

use std::env;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use crate::plane::REACHED_AT;

/// Shows the restarted process where it is.
pub(crate) const MARK: &str = "BINDERY_OWN_NETWORK";
const AS_ROOT: &str = "root";
pub(crate) const AS_MAPPED_ROOT: &str = "mapped-root";

/// How unshare makes each.
const ROOT: &[&str] = &["--net", "--mount"];
pub(crate) const MAPPED_ROOT: &[&str] = &["--user", "--map-root-user", "--net", "--mount"];

/// What this process may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// It is root in a network of its own.
    Root,
    /// It is the only user of a user namespace with a network of its own.
    MappedRoot,
    /// It is in the network of the machine: no pod can be made.
    Foreign,
}

/// Restarts this process in a network of its own, if that is possible and has not happened yet.
pub(crate) fn enter() -> Result<(), String> {
    if env::var_os(MARK).is_some() {
        return prepare();
    }
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|us| us.uid() == 0);
    let ways = [(AS_ROOT, ROOT), (AS_MAPPED_ROOT, MAPPED_ROOT)];
    for (name, flags) in ways.into_iter().skip(usize::from(!is_root)) {
        let tried = Command::new("unshare").args(flags).arg("true").stderr(Stdio::null()).status();
        if tried.is_ok_and(|status| status.success()) {
            let program = env::current_exe().map_err(|error| error.to_string())?;
            let mut command = Command::new("unshare");
            command.args(flags).arg("--").arg(program).args(env::args_os().skip(1)).env(MARK, name);
            return Err(format!("unshare cannot be started: {}", command.exec()));
        }
    }
    Ok(())
}

/// Returns what this process may do.
pub(crate) fn network() -> Network {
    let mark = env::var_os(MARK);
    match mark.as_ref().and_then(|mark| mark.to_str()) {
        Some(AS_ROOT) => Network::Root,
        Some(AS_MAPPED_ROOT) => Network::MappedRoot,
        Some(_) | None => Network::Foreign,
    }
}

/// Fails a case that needs pods where none can be made.
#[track_caller]
pub(crate) fn expect_own() {
    assert!(
        network() != Network::Foreign,
        "no network can be made, and this case runs pods in one; run the tests as root, or allow user namespaces \
         (sysctl kernel.unprivileged_userns_clone=1)"
    );
}

fn prepare() -> Result<(), String> {
    let address = format!("{REACHED_AT}/32");
    for words in [&["link", "set", "lo", "up"][..], &["addr", "add", &address, "dev", "lo"]] {
        let output = Command::new("ip").args(words).output().map_err(|error| {
            format!("ip cannot be started ({error}), and the tests make a network with it; install iproute2")
        })?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
    }
    Ok(())
}

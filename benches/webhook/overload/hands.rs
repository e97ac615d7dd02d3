//! Threads of the load: each on the core of the load, and those of idle connections behind those of good clients.
//!
//! The server bears the cost of idle connections: if their own work delayed the good clients, which have the
//! same core, the figures would be about this machine. Not here: what the threads do.

use std::fs;
use std::process::Command;
use std::thread::{Scope, ScopedJoinHandle};

use crate::programs;
use crate::wire::block_on;

/// Whose work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// A good client's: it comes first.
    Good,
    /// An idle connection's: it gets what is left of the core.
    Idle,
}

/// Runs `work` on a thread of its own on `core`.
pub(crate) fn spawn<'scope, T, F>(
    scope: &'scope Scope<'scope, '_>,
    core: usize,
    whose: Whose,
    work: impl FnOnce() -> F + Send + 'scope,
) -> ScopedJoinHandle<'scope, Result<T, String>>
where
    T: Send + 'scope,
    F: Future<Output = Result<T, String>>,
{
    scope.spawn(move || {
        let thread = thread_id()?;
        run("taskset", &["-cp", &core.to_string(), &thread])?;
        if whose == Whose::Idle {
            run("renice", &["-n", "19", "-p", &thread])?;
        }
        block_on(work())
    })
}

/// Returns what the thread came to.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, Result<T, String>>) -> Result<T, String> {
    thread.join().map_err(|_| "a thread of the load panicked".to_owned())?
}

/// As the kernel numbers it.
fn thread_id() -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot read /proc/thread-self: {error}");
    let link = fs::read_link("/proc/thread-self").map_err(failed)?;
    let name = link.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| "/proc/thread-self names no thread".to_owned())
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let path = programs::find(program)?;
    let output = Command::new(path).args(arguments).output();
    let output = output.map_err(|error| format!("cannot run {program}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{program} failed: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

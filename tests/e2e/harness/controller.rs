//! The real controller as a process, for cases that let it bind.
//!
//! Not here: what it does (`cases`).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::plane::Plane;
use crate::plane::persona::BINDERY_CONTROLLER;
use crate::plane::process::{Process, Program};
use crate::secrets;

/// A controller process. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Controller {
    process: Option<Process>,
}

/// Whether it competes for the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Election {
    /// It leads at once: there is no other.
    None,
    /// As in production.
    Lease,
}

impl Controller {
    /// Starts the only binder of a plane.
    pub(crate) fn start(plane: &Plane, election: Election) -> Self {
        Self::start_by(&plane.kubeconfig(BINDERY_CONTROLLER), election)
    }

    /// Starts it in a mode, as one of several.
    pub(crate) fn in_mode(plane: &Plane, mode: &str) -> Self {
        Self::spawn(&plane.kubeconfig(BINDERY_CONTROLLER), mode, Election::Lease, &[], &[])
    }

    /// Starts the only binder of a plane with more arguments.
    pub(crate) fn start_with(plane: &Plane, more: &[&str]) -> Self {
        Self::spawn(&plane.kubeconfig(BINDERY_CONTROLLER), "full", Election::None, more, &[])
    }

    /// Starts the only binder of a plane with `BINDERY_LOG` set.
    pub(crate) fn logging(plane: &Plane, level: &str) -> Self {
        let kubeconfig = plane.kubeconfig(BINDERY_CONTROLLER);
        Self::spawn(&kubeconfig, "full", Election::None, &[], &[("BINDERY_LOG", level)])
    }

    /// Starts the only one of a plane with a kubeconfig of the caller's own, in a mode.
    pub(crate) fn alone(kubeconfig: &Path, mode: &str, more: &[&str]) -> Self {
        Self::spawn(kubeconfig, mode, Election::None, more, &[])
    }

    /// Starts it with a kubeconfig of the caller's own.
    pub(crate) fn start_by(kubeconfig: &Path, election: Election) -> Self {
        Self::spawn(kubeconfig, "full", election, &[], &[])
    }

    /// Starts one that only has to keep certificates.
    pub(crate) fn keeping(kubeconfig: &Path, election: Election, more: &[&str]) -> Self {
        Self::spawn(kubeconfig, "observe", election, more, &[])
    }

    fn spawn(
        kubeconfig: &Path,
        mode: &str,
        election: Election,
        more: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let elect = match election {
            Election::None => "--leader-elect=false",
            Election::Lease => "--leader-elect=true",
        };
        let health = "--health-listen=127.0.0.1:0";
        let arguments = ["controller", "--mode", mode, "--in-tree-binder-disabled", elect, health];
        let arguments = arguments.iter().chain(more).map(ToString::to_string);
        let kubeconfig = kubeconfig.display().to_string();
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let program = Program {
            binary: Path::new(env!("CARGO_BIN_EXE_bindery")),
            arguments: arguments.chain(["--kubeconfig".to_owned(), kubeconfig]).collect(),
            folder: Path::new(env!("CARGO_TARGET_TMPDIR")),
            log: log_file(),
            environment: environment.iter().map(owned).collect(),
        };
        let process = Process::spawn("bindery controller", &program).unwrap();
        Self { process: Some(process) }
    }

    /// Lets it run as long as the plane does.
    pub(crate) fn stay(mut self, plane: &Plane) {
        if let Some(process) = self.process.take() {
            plane.host(process);
        }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.as_ref().map_or(0, Process::id)
    }

    /// Asks it to end and waits for that.
    pub(crate) fn stop(mut self) {
        secrets::look("the log of a controller", &self.log());
        if let Some(process) = self.process.take() {
            process.stop(Duration::from_secs(20));
        }
    }

    /// Returns what it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.process.as_ref().map(Process::log_text).unwrap_or_default()
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        secrets::look("the log of a controller", &self.log());
        if let Some(process) = self.process.take() {
            process.stop(Duration::ZERO);
        }
    }
}

fn log_file() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("controller-{}.log", COUNT.fetch_add(1, Ordering::Relaxed));
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

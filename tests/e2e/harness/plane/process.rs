//! Processes that never outlive the test.
//!
//! They exist apart from `std::process::Child` for three promises: each dies with this process however
//! it ends (`setpriv --pdeathsig KILL`), each is stopped politely and then by force, and each leaves a
//! log that an error can quote. Not here: which processes a plane has (`plane`).

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use crate::eventually::poll;

/// A running process and its log.
#[derive(Debug)]
pub(crate) struct Process {
    name: &'static str,
    log: PathBuf,
    child: Child,
}

/// What to start.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    /// Its file.
    pub(crate) binary: &'a Path,
    /// Its command line.
    pub(crate) arguments: Vec<String>,
    /// Its working folder, which is also its `HOME`.
    pub(crate) folder: &'a Path,
    /// Where both of its outputs go.
    pub(crate) log: PathBuf,
    /// What its environment holds besides `PATH` and `HOME`.
    pub(crate) environment: Vec<(String, String)>,
}

impl Process {
    /// Starts a program that dies with this process. `name` is for messages.
    pub(crate) fn spawn(name: &'static str, program: &Program<'_>) -> Result<Self, String> {
        let log = File::create(&program.log)
            .map_err(|error| format!("cannot write {}: {error}", program.log.display()))?;
        let both = log.try_clone().map_err(|error| format!("cannot share the log: {error}"))?;
        let mut command = dying_with_us(program.binary);
        command
            .args(&program.arguments)
            .env("HOME", program.folder)
            .envs(program.environment.iter().cloned())
            .current_dir(program.folder)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(both)
            // A terminal's interrupt goes to a whole process group: they would fall over in any order.
            .process_group(0);
        let child = spawn_on_lasting_thread(command).map_err(|error| denial(name, &error))?;
        Ok(Self { name, log: program.log.clone(), child })
    }

    /// Returns whether it was started under this name.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// Its process id; wrappers such as `setpriv` have become the program itself.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The status, if the process has ended by itself.
    pub(crate) fn exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Asks the process to end (SIGTERM), waits for `patience`, then kills it. Returns once it is gone
    /// and its ports and files are free. No patience: killed at once.
    pub(crate) fn stop(mut self, patience: Duration) {
        if !patience.is_zero() && self.exited().is_none() {
            // The standard library can only kill; without the `kill` program that has to do.
            let pid = self.id().to_string();
            let asked = Command::new("kill").args(["-TERM", &pid]).status();
            if asked.is_ok_and(|status| status.success()) {
                let gone = || self.exited().ok_or_else(|| "still running".to_owned());
                if poll(patience, gone).is_ok() {
                    return;
                }
            }
        }
        // Both fail only if it is gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// The last lines of the log, for a message.
    pub(crate) fn log_tail(&self) -> String {
        const LINES: usize = 20; // a Go panic's head or a usage error fits
        let log = self.log_text();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(LINES)..].join("\n");
        format!("the last lines of {} ({}):\n{tail}", self.name, self.log.display())
    }

    /// The whole log. Empty if it cannot be read.
    pub(crate) fn log_text(&self) -> String {
        fs::read(&self.log)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }
}

/// A command that the kernel kills when the *thread* that spawns it ends: spawn it from a thread that
/// outlives it. The environment is empty but for `PATH`: a proxy or a kubeconfig of the person who
/// runs the tests must not reach the plane.
pub(crate) fn dying_with_us(binary: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(binary).env_clear();
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    command.env("PATH", path);
    command
}

/// One sentence for a process that cannot be started.
pub(crate) fn denial(name: &str, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        "setpriv is missing, and without it the control plane could outlive the tests; install \
         util-linux, then retry"
            .to_owned()
    } else {
        format!("cannot start {name}: {error}")
    }
}

type Order = (Command, Sender<io::Result<Child>>);

/// Spawns on one thread that lives as long as this process: cases run on threads that end before the
/// plane does.
fn spawn_on_lasting_thread(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        thread::spawn(move || {
            for (mut command, reply) in inbox {
                // A caller that is gone has no use for the child; it is killed by being dropped here
                // only at the end of this process, as every child is.
                drop(reply.send(command.spawn()));
            }
        });
        Mutex::new(orders)
    });
    let (reply, answer) = mpsc::channel();
    let lost = || io::Error::other("the spawning thread is gone");
    spawner
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send((command, reply))
        .map_err(|_| lost())?;
    answer.recv().map_err(|_| lost())?
}

//! `bindery local` as a process.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::disks::NodeDisks;
use crate::plane::Plane;
use crate::plane::persona::ADMIN;
use crate::plane::process::{Process, Program};

/// As whom the provisioner runs.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The account that it has at the API server.
    pub(crate) kubeconfig: PathBuf,
    /// Its capabilities on the node, in the words of `setpriv`; all of them if there are none.
    pub(crate) capabilities: Option<Vec<String>>,
}

impl Identity {
    /// All of both.
    pub(crate) fn administrator(plane: &Plane) -> Self {
        Self { kubeconfig: plane.kubeconfig(ADMIN), capabilities: None }
    }

    /// The words that come before the program's own: it never has other capabilities.
    fn before(&self, binary: &Path) -> Vec<String> {
        let Some(capabilities) = &self.capabilities else { return Vec::new() };
        let added = capabilities.join(",+");
        let bounding = if added.is_empty() { "-all".to_owned() } else { format!("-all,+{added}") };
        let bounding = format!("--bounding-set={bounding}");
        let words = ["--no-new-privs", "--inh-caps=-all", &bounding, "--pdeathsig", "KILL", "--"];
        words.iter().map(ToString::to_string).chain([binary.display().to_string()]).collect()
    }
}

/// A provisioner. Dropping it kills it.
pub(crate) struct LocalProvisioner(Option<Process>);

impl LocalProvisioner {
    /// Starts the provisioner of a node with the StorageClasses `fast` and `raw`, and with these arguments more.
    pub(crate) fn start(
        identity: &Identity,
        disks: &NodeDisks,
        environment: Vec<(String, String)>,
        classes: &str,
        added: &[&str],
    ) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        fs::write(disks.path("config/storageClassMap"), classes).unwrap();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = |name: &str| disks.path(name).display().to_string();
        let arguments = [
            "local",
            "--listen-address=127.0.0.1:0",
            "--job-retry-delay=1s",
            "--config-dir",
            &path("config"),
            "--ledger-dir",
            &path("ledger"),
            "--kubelet-dir",
            &path("kubelet"),
            "--kubeconfig",
            &identity.kubeconfig.display().to_string(),
        ];
        let binary = Path::new(env!("CARGO_BIN_EXE_bindery"));
        let before = identity.before(binary);
        let program = Program {
            binary: if before.is_empty() { binary } else { Path::new("setpriv") },
            arguments: before
                .into_iter()
                .chain(arguments.iter().chain(added).map(ToString::to_string))
                .collect(),
            folder: Path::new(env!("CARGO_TARGET_TMPDIR")),
            log: Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("local-{number}.log")),
            environment,
        };
        Self(Some(Process::spawn("bindery local", &program).unwrap()))
    }

    /// Kills it wherever it is.
    pub(crate) fn kill(mut self) {
        if let Some(process) = self.0.take() {
            process.stop(Duration::ZERO);
        }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.0.as_ref().map_or(0, Process::id)
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.0.as_ref().map(Process::log_text).unwrap_or_default()
    }
}

impl Drop for LocalProvisioner {
    fn drop(&mut self) {
        if let Some(process) = self.0.take() {
            process.stop(Duration::ZERO);
        }
    }
}

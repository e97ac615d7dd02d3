//! `bindery local` as a process.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::disks::NodeDisks;
use crate::plane::Plane;
use crate::plane::persona::ADMIN;
use crate::plane::process::{Process, Program};

/// A provisioner. Dropping it kills it.
pub(crate) struct LocalProvisioner(Option<Process>);

impl LocalProvisioner {
    /// Starts the provisioner of a node with the StorageClasses `fast` and `raw`.
    pub(crate) fn start(plane: &Plane, disks: &NodeDisks, node: &str, classes: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        fs::write(disks.path("config/storageClassMap"), classes).unwrap();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = |name: &str| disks.path(name).display().to_string();
        let arguments = [
            "local",
            "--listen-address=127.0.0.1:0",
            "--config-dir",
            &path("config"),
            "--ledger-dir",
            &path("ledger"),
            "--kubelet-dir",
            &path("kubelet"),
            "--kubeconfig",
            &plane.kubeconfig(ADMIN).display().to_string(),
        ];
        let program = Program {
            binary: Path::new(env!("CARGO_BIN_EXE_bindery")),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            folder: Path::new(env!("CARGO_TARGET_TMPDIR")),
            log: Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("local-{number}.log")),
            environment: vec![("MY_NODE_NAME".to_owned(), node.to_owned())],
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

//! Rancher's local-path provisioner as its project releases it, with the rights, the `StorageClass` and the
//! configuration that it ships, on a plane of a case's own.
//!
//! Changed is only where folders are made: in a folder of the case. The Deployment of the manifest stays without pods,
//! as no controller makes them: the program runs as a process, under the account of the Deployment. The kubelet of its
//! helper pods is played ([`kubelet`]). Not here: what it is made to do (`provisioners`).

pub(crate) mod kubelet;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::eventually::eventually;
use crate::plane::Plane;
use crate::plane::binaries::{Set, locate};
use crate::plane::persona::ARRANGER;
use crate::plane::process::{Process, Program};

/// The namespace of its account and of its helper pods.
pub(crate) const NAMESPACE: &str = "local-path-storage";

/// The class that the manifest ships: `WaitForFirstConsumer`, policy Delete.
pub(crate) const CLASS: &str = "local-path";

/// The user as which it writes.
pub(crate) const USER: &str =
    "system:serviceaccount:local-path-storage:local-path-provisioner-service-account";

const ACCOUNT: &str = "local-path-provisioner-service-account";

const NAME: &str = "local-path-provisioner";

/// Where the manifest lets folders be made.
const SHIPPED_FOLDER: &str = "/opt/local-path-provisioner";

/// How long it may take to start, with a build beside it.
const PATIENCE: Duration = Duration::from_mins(1);

/// The provisioner and the folder of its volumes. Dropping it kills it, and prints its last words if a case fails.
pub(crate) struct Provisioner<'a> {
    plane: &'a Plane,
    binary: PathBuf,
    kubeconfig: PathBuf,
    folder: tempfile::TempDir,
    running: Mutex<Option<Process>>,
}

impl<'a> Provisioner<'a> {
    /// Applies its manifest, starts it and waits until it works.
    #[track_caller]
    pub(crate) fn on(plane: &'a Plane) -> Self {
        let binaries = locate(Set::Peers).unwrap_or_else(|sentence| panic!("{sentence}"));
        let folder = tempfile::tempdir().unwrap();
        let manifest = std::fs::read_to_string(binaries.join("local-path.yaml")).unwrap();
        assert!(manifest.contains(SHIPPED_FOLDER), "{manifest}");
        let manifest = manifest.replace(SHIPPED_FOLDER, &folder.path().display().to_string());
        let apply = ["apply", "--server-side", "-f", "-"];
        plane.kubectl(ARRANGER, &apply, &manifest).expect_ok();
        let provisioner = Self {
            plane,
            binary: binaries.join(NAME),
            kubeconfig: plane.account_kubeconfig(NAMESPACE, ACCOUNT),
            folder,
            running: Mutex::default(),
        };
        provisioner.start();
        provisioner
    }

    /// Kills it, as a node that loses power does.
    pub(crate) fn kill(&self) {
        self.lock().take().expect("it runs").stop(Duration::ZERO);
    }

    /// Starts it and waits until its workers run. It elects no leader.
    pub(crate) fn start(&self) {
        let program = Program {
            binary: &self.binary,
            arguments: ["--debug", "start", "--kubeconfig", &self.kubeconfig.display().to_string()]
                .map(str::to_owned)
                .to_vec(),
            folder: self.plane.home(),
            log: self.plane.home().join(format!("{NAME}.log")),
            environment: vec![("POD_NAMESPACE".to_owned(), NAMESPACE.to_owned())],
        };
        let process = Process::spawn(NAME, &program).unwrap_or_else(|error| panic!("{error}"));
        let former = self.lock().replace(process);
        assert!(former.is_none(), "{NAME} runs already");
        eventually("the provisioner works", PATIENCE, || {
            let mut running = self.lock();
            let process = running.as_mut().unwrap();
            if let Some(status) = process.exited() {
                panic!("{NAME} ended, {status}; {}", process.log_tail());
            }
            let works = process.log_text().contains("Started provisioner controller");
            if works { Ok(()) } else { Err(process.log_tail()) }
        });
    }

    /// The folder in which it has folders made.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns what it has logged since it was started last.
    pub(crate) fn log(&self) -> String {
        self.lock().as_ref().map(Process::log_text).unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Process>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Provisioner<'_> {
    fn drop(&mut self) {
        let Some(process) = self.lock().take() else { return };
        if std::thread::panicking() {
            eprintln!("{}", process.log_tail());
        }
        process.stop(Duration::ZERO);
    }
}

//! The CSI sidecars as their projects release them, with the rights that those ship, and the driver behind them
//! (`tests/kube/peers/driver`), on a plane of a case's own.
//!
//! Driver and sidecars share a folder of the case's own; all of them die with the test. Nothing mounts a disk, as
//! no pod runs: a disk is a file that says where its content came from. Not here: what they are made to do
//! (`provisioners`).

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hyper::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::plane::binaries::{Set, locate};
use crate::plane::persona::{ADMIN, ARRANGER};
use crate::plane::process::{Process, Program};
use crate::plane::{Body, Plane};

/// The driver's name, which is also that of the provisioner.
pub(crate) const DRIVER: &str = "disk.example.com";

/// The namespace of their accounts and Leases.
pub(crate) const NAMESPACE: &str = "disk-driver";

/// How long one may take to start or to become the leader, with a build beside it.
const PATIENCE: Duration = Duration::from_mins(1);

/// One of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sidecar {
    /// The driver itself, which knows no API server.
    Driver,
    /// Makes and deletes disks.
    Provisioner,
    /// Attaches and detaches them.
    Attacher,
    /// Expands and modifies them.
    Resizer,
    /// Takes and deletes snapshots of them.
    Snapshotter,
    /// One for all drivers.
    SnapshotController,
}

/// Those that write to the API server.
pub(crate) const SIDECARS: [Sidecar; 5] = [
    Sidecar::Provisioner,
    Sidecar::Attacher,
    Sidecar::Resizer,
    Sidecar::Snapshotter,
    Sidecar::SnapshotController,
];

impl Sidecar {
    /// Its binary, and its account in the rights that its project ships.
    fn name(self) -> &'static str {
        match self {
            Self::Driver => "csi-driver",
            Self::Provisioner => "csi-provisioner",
            Self::Attacher => "csi-attacher",
            Self::Resizer => "csi-resizer",
            Self::Snapshotter => "csi-snapshotter",
            Self::SnapshotController => "snapshot-controller",
        }
    }

    /// The user as which it writes.
    pub(crate) fn user(self) -> String {
        format!("system:serviceaccount:{NAMESPACE}:{}", self.name())
    }

    /// Its Lease. Sources: `csi-provisioner.go` (the driver's name alone), `csi-attacher/main.go`,
    /// `csi-resizer/main.go`, `csi-snapshotter/main.go`, `snapshot-controller/main.go`; csi-lib-utils
    /// `sanitizeName` makes a dash of whatever is neither letter nor digit.
    fn lease(self) -> Option<&'static str> {
        match self {
            Self::Driver => None,
            Self::Provisioner => Some("disk-example-com"),
            Self::Attacher => Some("external-attacher-leader-disk-example-com"),
            Self::Resizer => Some("external-resizer-disk-example-com"),
            Self::Snapshotter => Some("external-snapshotter-leader-disk-example-com"),
            Self::SnapshotController => Some("snapshot-controller-leader"),
        }
    }
}

/// The beginning or the end of a call of the driver.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Call {
    /// `CreateVolume` and the like.
    #[serde(rename = "call")]
    pub(crate) method: String,
    /// The disk or snapshot that it is about.
    pub(crate) subject: String,
    /// Empty when it begins, then how it ended, as Go's gRPC calls that.
    pub(crate) code: String,
}

/// A disk or a snapshot, as the driver stores it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Disk {
    /// Bytes.
    pub(crate) capacity: u64,
    /// The id of the disk on which its content was written first.
    pub(crate) content: String,
    /// The nodes that it is attached to.
    #[serde(default)]
    pub(crate) nodes: Vec<String>,
    /// What a `VolumeAttributesClass` gave it.
    #[serde(default)]
    pub(crate) parameters: BTreeMap<String, String>,
}

/// The driver and its sidecars. Dropping it kills them, and prints what they said last if a case fails.
pub(crate) struct Storage<'a> {
    plane: &'a Plane,
    binaries: PathBuf,
    // A short path: that of a socket has at most 107 bytes.
    folder: tempfile::TempDir,
    kubeconfigs: BTreeMap<Sidecar, PathBuf>,
    running: Mutex<BTreeMap<Sidecar, Process>>,
}

impl<'a> Storage<'a> {
    /// Installs rights and kinds, starts all programs and waits until each leads.
    #[track_caller]
    pub(crate) fn on(plane: &'a Plane) -> Self {
        let binaries = locate(Set::Peers).unwrap_or_else(|sentence| panic!("{sentence}"));
        install(plane, &binaries);
        let kubeconfig =
            |sidecar: Sidecar| (sidecar, plane.account_kubeconfig(NAMESPACE, sidecar.name()));
        let storage = Self {
            plane,
            binaries,
            folder: tempfile::tempdir().unwrap(),
            kubeconfigs: SIDECARS.into_iter().map(kubeconfig).collect(),
            running: Mutex::default(),
        };
        storage.start();
        storage.expect_leases();
        storage
    }

    /// Kills one, as a node that loses power does.
    pub(crate) fn kill(&self, sidecar: Sidecar) {
        let process = self.lock().remove(&sidecar);
        process.unwrap_or_else(|| panic!("{sidecar:?} does not run")).stop(Duration::ZERO);
    }

    /// Starts one that was killed, and waits until it works. Sidecars end when their driver does (csi-lib-utils:
    /// `ExitOnConnectionLoss`): with the driver they are started again, as a kubelet does.
    pub(crate) fn restart(&self, sidecar: Sidecar) {
        if sidecar != Sidecar::Driver {
            self.spawn(sidecar);
            self.await_start(sidecar);
            return;
        }
        for sidecar in SIDECARS {
            self.kill(sidecar);
        }
        self.start();
    }

    /// Starts all of them and waits until each works.
    fn start(&self) {
        self.spawn(Sidecar::Driver);
        self.await_start(Sidecar::Driver);
        // Side by side: each takes a second or two to find out about the driver.
        for sidecar in SIDECARS {
            self.spawn(sidecar);
        }
        for sidecar in SIDECARS {
            self.await_start(sidecar);
        }
    }

    /// Lets the next calls of a kind wait (`hold`) or fail (a gRPC code), before or after they have had their effect:
    /// `CreateVolume.after`.
    pub(crate) fn command(&self, place: &str, word: &str) {
        std::fs::write(self.folder.path().join("commands").join(place), word).unwrap();
    }

    /// Takes a command back; calls that wait go on.
    pub(crate) fn release(&self, place: &str) {
        std::fs::remove_file(self.folder.path().join("commands").join(place)).unwrap();
    }

    /// Every beginning and end of a call so far, in order.
    pub(crate) fn calls(&self) -> Vec<Call> {
        let text = std::fs::read_to_string(self.folder.path().join("calls.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns what one has said since it was started last.
    pub(crate) fn log(&self, sidecar: Sidecar) -> String {
        self.lock().get(&sidecar).map(Process::log_text).unwrap_or_default()
    }

    /// The disks that exist, by id.
    pub(crate) fn disks(&self) -> BTreeMap<String, Disk> {
        self.stored("disks")
    }

    /// The snapshots that exist, by id.
    pub(crate) fn snapshots(&self) -> BTreeMap<String, Disk> {
        self.stored("snapshots")
    }

    /// Fails unless each has the Lease by which a provisioner is known, in the namespace of its account.
    fn expect_leases(&self) {
        for lease in SIDECARS.into_iter().filter_map(Sidecar::lease) {
            let path =
                format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{lease}");
            let holder = self.plane.get(ADMIN, &path).expect_ok()["spec"]["holderIdentity"].clone();
            assert!(holder.as_str().is_some_and(|holder| !holder.is_empty()), "{lease}: {holder}");
        }
    }

    fn stored(&self, kind: &str) -> BTreeMap<String, Disk> {
        let entries = std::fs::read_dir(self.folder.path().join(kind)).unwrap();
        let read = |entry: std::fs::DirEntry| {
            let text = match std::fs::read(entry.path()) {
                Ok(text) => text,
                // It was removed in between.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
                Err(error) => panic!("{error}"),
            };
            let id = entry.file_name().to_string_lossy().into_owned();
            Some((id, serde_json::from_slice(&text).unwrap()))
        };
        entries.filter_map(|entry| read(entry.unwrap())).collect()
    }

    fn spawn(&self, sidecar: Sidecar) {
        let name = sidecar.name();
        let program = Program {
            binary: &self.binaries.join(name),
            arguments: self.arguments(sidecar),
            folder: self.folder.path(),
            log: self.plane.home().join(format!("{name}.log")),
            environment: Vec::new(),
        };
        let process = Process::spawn(name, &program).unwrap_or_else(|error| panic!("{error}"));
        let former = self.lock().insert(sidecar, process);
        assert!(former.is_none(), "{name} runs already");
    }

    fn arguments(&self, sidecar: Sidecar) -> Vec<String> {
        if sidecar == Sidecar::Driver {
            let folder = self.folder.path().display();
            return vec![format!("--folder={folder}"), format!("--name={DRIVER}")];
        }
        let mut arguments = vec![
            format!("--kubeconfig={}", self.kubeconfigs[&sidecar].display()),
            "--leader-election".to_owned(),
            format!("--leader-election-namespace={NAMESPACE}"),
            // The default of 5 requests a second makes cases wait for nothing.
            "--kube-api-qps=1000".to_owned(),
            "--kube-api-burst=2000".to_owned(),
            // Their default of 1 s is how long a case would wait after a failure.
            "--retry-interval-start=100ms".to_owned(),
        ];
        if sidecar == Sidecar::Resizer {
            // So that it logs what it postpones; for how long is the default of 5 min.
            arguments.push("--v=4".to_owned());
        } else {
            arguments.push("--retry-interval-max=2s".to_owned());
        }
        if sidecar != Sidecar::SnapshotController {
            arguments.push(format!("--csi-address={}", self.socket().display()));
        }
        arguments
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("csi.sock")
    }

    /// Waits until it listens, or leads. The name by which it is elected is that of the machine, so that a
    /// successor takes over at once; the log shows for which process it is true.
    fn await_start(&self, sidecar: Sidecar) {
        eventually(&format!("{sidecar:?} works"), PATIENCE, || {
            let mut running = self.lock();
            let process = running.get_mut(&sidecar).unwrap();
            if let Some(status) = process.exited() {
                panic!("{sidecar:?} ended, {status}; {}", process.log_tail());
            }
            let works = match sidecar.lease() {
                None => UnixStream::connect(self.socket()).is_ok(),
                Some(_) => process.log_text().contains("Successfully acquired lease"),
            };
            if works { Ok(()) } else { Err(process.log_tail()) }
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Sidecar, Process>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Storage<'_> {
    fn drop(&mut self) {
        for (_, process) in std::mem::take(&mut *self.lock()) {
            if std::thread::panicking() {
                eprintln!("{}", process.log_tail());
            }
            process.stop(Duration::ZERO);
        }
    }
}

/// Makes the namespace, the accounts with their rights, and the kinds of snapshots.
fn install(plane: &Plane, binaries: &Path) {
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    plane.request(ARRANGER, Method::POST, "/api/v1/namespaces", Body::json(&namespace)).expect_ok();
    let text = |name: &str| std::fs::read_to_string(binaries.join(name)).unwrap();
    let mut rights = text("rights.yaml");
    // The projects name these two, and ask for them to be replaced by the driver's own.
    for theirs in ["default", "kube-system"] {
        rights =
            rights.replace(&format!("namespace: {theirs}"), &format!("namespace: {NAMESPACE}"));
    }
    for manifest in [text("kinds.yaml"), rights] {
        let apply = ["--namespace", NAMESPACE, "apply", "--server-side", "-f", "-"];
        plane.kubectl(ARRANGER, &apply, &manifest).expect_ok();
    }
    // Sidecars give up if a kind is not served yet.
    eventually("snapshots are served", PATIENCE, || {
        let reply = plane.get(ADMIN, "/apis/snapshot.storage.k8s.io/v1/volumesnapshots");
        let list: &Value = &reply.json["items"];
        if reply.code == 200 && list.is_array() { Ok(()) } else { Err(reply.to_string()) }
    });
}

//! The last part: the real local static provisioner finds a disk in the same cluster, and cleans it between two tenants.
//!
//! A demonstration has no root, and without root there are neither mounts nor block devices: a file is the disk. All else is
//! what `bindery local` runs: scans, marks, cleaning, and the requests, which the webhook reviews.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::binding::{Controller, Line, Reported};
use super::error::DemoError;
use super::examples::{CLAIM_DISK, collection};
use super::folder::Folder;
use super::kubectl::Caller::{
    self, Admin, ClaimProtection, Provisioner, Scheduler, Tenant, VolumeProtection,
};
use super::kubectl::{KubectlCommand, Target, Verb};
use super::print::{Printer, Word, verdict};
use super::run_scenes::ask;
use super::setup::DemoSetup;
use bindery::controller::mode::ControllerMode;
use bindery::local::configuration;
use bindery::local::metrics::LocalMetrics;
use bindery::local::run::{LocalError, LocalSettings, run as run_provisioner};
use bindery::local::source::{DiskSource, FileDisks};
use bindery::model::annotations::BOUND_BY_CONTROLLER;

const NODE: &str = "node-1";
const CLASS: &str = "local";
/// The name that the provisioner gives to the PV of the entry `disk-0` on this node and of this StorageClass.
const VOLUME: Target = Target::Volume(VOLUME_NAME);
const VOLUME_NAME: &str = "local-pv-654b1e46";
const CLAIM: Target = Target::Claim("qa", "cache");

/// A disk on which samples alone would miss what lies between them, and which is searched at once.
const DISK_BYTES: u64 = 16 << 20;

/// What a tenant writes.
const SECRET: &[u8] = b"salaries of team qa";

/// Where: at both ends, and at places that samples miss.
const OFFSETS: [u64; 4] = [0, (3 << 20) + 12_345, (9 << 20) + 54_321, DISK_BYTES - 4096];

/// Time between two scans without a reason. The folder is watched: no scene waits for it.
const PERIOD: Duration = Duration::from_secs(10);

/// How often the cluster is read while something is waited for.
const POLL: Duration = Duration::from_millis(10);

/// Plays the scenes; returns how many ended otherwise than documented.
pub(super) async fn run(
    setup: &DemoSetup,
    folder: &Folder,
    patience: Duration,
    printer: &mut Printer<'_>,
) -> Result<usize, DemoError> {
    printer.gap()?;
    printer.paragraph(
        "Now the local static provisioner offers a disk of a node in the same cluster, and cleans it between two tenants. A \
         file is the disk here, as a demonstration has no root; with root, bindery local takes only mounts and block devices.",
    )?;
    let disk = folder.create_folder("disks")?.join("disk-0");
    let controller = Controller::start(setup, ControllerMode::Full);
    let provisioner = RunningProvisioner::start(setup, folder).await?;
    let scenes = DiskScenes { setup, disk, patience };
    let mut unexpected = 0;
    for (word, title, scene) in SCENES {
        let reported = match scene {
            Scene::Offered => scenes.offered().await?,
            Scene::Used => scenes.used().await?,
            Scene::Cleaned => scenes.cleaned().await?,
        };
        reported.print(*word, title, printer)?;
        unexpected += usize::from(!reported.faults.is_empty());
    }
    provisioner.stop().await?;
    controller.stop().await?;
    printer.gap()?;
    printer.paragraph(&format!("{} scenes with a disk; {}.", SCENES.len(), verdict(unexpected)))?;
    printer.flush()?;
    Ok(unexpected)
}

#[derive(Clone, Copy, Debug)]
enum Scene {
    Offered,
    Used,
    Cleaned,
}

const SCENES: &[(Word, &str, Scene)] = &[
    (
        Word::Offered,
        "A disk is put into the discovery folder of a node: two scans find it empty, and a PV is created for it",
        Scene::Offered,
    ),
    (Word::Bound, "A tenant's pod gets the disk, and writes to it", Scene::Used),
    (
        Word::Cleaned,
        "The tenant deletes the PVC: the disk is cleaned, its PV deleted, and the disk offered again as a new PV",
        Scene::Cleaned,
    ),
];

/// The provisioner of a node.
struct RunningProvisioner {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), LocalError>>,
}

impl RunningProvisioner {
    /// Creates the node, and starts the provisioner there.
    async fn start(setup: &DemoSetup, folder: &Folder) -> Result<Self, DemoError> {
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE}},
        });
        let reply = ask(setup, Admin, request("POST", "/api/v1/nodes", &node)?).await?;
        if !reply.is_done {
            return Err(DemoError::Examples(reply.object.to_string()));
        }
        let files = folder.create_folder("local")?;
        let disks = folder.path("disks");
        let map = format!(
            "{CLASS}: {{hostDir: {0}, mountDir: {0}, volumeMode: Block}}\n",
            disks.display()
        );
        folder.write("local/storageClassMap", &map)?;
        let defect = |error: &dyn std::error::Error| DemoError::Examples(error.to_string());
        let settings = LocalSettings {
            node: NODE.to_owned(),
            configuration: configuration::read(&files).map_err(|error| defect(&error))?,
            ledger: folder.create_folder("ledger")?,
            kubelet: folder.create_folder("kubelet")?,
            period: PERIOD,
            disks: DiskSource::Files(Arc::new(FileDisks::default())),
            jobs: None,
        };
        let metrics = LocalMetrics::new().map_err(|error| defect(&error))?;
        let (stop, stopped) = oneshot::channel();
        let client = setup.client(Provisioner);
        let task = tokio::spawn(run_provisioner(client, settings, Arc::new(metrics), async {
            let _ = stopped.await;
        }));
        Ok(Self { stop, task })
    }

    async fn stop(self) -> Result<(), DemoError> {
        // If it has ended already, its end says why.
        let _ = self.stop.send(());
        let ended = self.task.await.map_err(|error| DemoError::Client(error.to_string()))?;
        Ok(ended?)
    }
}

/// What the scenes are played with.
struct DiskScenes<'a> {
    setup: &'a DemoSetup,
    disk: PathBuf,
    patience: Duration,
}

impl DiskScenes<'_> {
    async fn offered(&self) -> Result<Reported, DemoError> {
        let mut reported = Reported::default();
        reported.command(&format!("truncate -s {}M disks/disk-0", DISK_BYTES >> 20));
        let made = File::create(&self.disk).and_then(|file| file.set_len(DISK_BYTES));
        made.map_err(|error| self.failed(error))?;
        self.wait_for(|| self.is_offered()).await;
        self.show_volume(&mut reported, "Available");
        Ok(reported)
    }

    async fn used(&self) -> Result<Reported, DemoError> {
        let mut reported = Reported::default();
        reported.command(&format!("kubectl create -f {}", CLAIM_DISK.path));
        let claim = CLAIM_DISK.object()?;
        let reply = ask(self.setup, Tenant, request("POST", &collection(&claim)?, &claim)?).await?;
        reported.text("persistentvolumeclaim/cache created");
        let reserved = json!({
            "metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}},
            "spec": {"claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "qa", "name": "cache",
                "uid": reply.object["metadata"]["uid"],
            }},
        });
        reported.command_of(Scheduler);
        self.patch(&mut reported, Scheduler, VOLUME, &reserved).await?;
        let is_bound = || self.text(CLAIM, "/status/phase") == "Bound";
        self.wait_for(|| is_bound() && self.phase() == "Bound").await;
        self.show_volume(&mut reported, "Bound");
        if self.text(CLAIM, "/spec/volumeName") != VOLUME_NAME {
            reported.faults.push(format!("PVC \"qa/cache\" has not PV {VOLUME_NAME}"));
        }
        let text = String::from_utf8_lossy(SECRET);
        reported
            .text(&format!("# its pod writes {text:?} at {} places of the disk", OFFSETS.len()));
        self.write().map_err(|error| self.failed(error))?;
        self.search(&mut reported, OFFSETS.len())?;
        Ok(reported)
    }

    async fn cleaned(&self) -> Result<Reported, DemoError> {
        let mut reported = Reported::default();
        let before = self.text(VOLUME, "/metadata/uid");
        let delete = KubectlCommand { by: Tenant, verb: Verb::Delete(CLAIM) };
        reported.command(delete.line("").trim_start_matches("$ "));
        let reply = ask(self.setup, Tenant, delete.request("")?).await?;
        reported.text(&if reply.is_done {
            delete.success(&reply.object)
        } else {
            delete.failure(&reply.object)
        });
        let free = json!({"metadata": {"finalizers": null}});
        reported.command_of(ClaimProtection);
        self.patch(&mut reported, ClaimProtection, CLAIM, &free).await?;
        // The controller releases the PV, the provisioner cleans the disk and deletes the PV.
        let is_deleted = || {
            let volume = self.setup.stored(VOLUME);
            volume.is_some_and(|volume| !volume["metadata"]["deletionTimestamp"].is_null())
        };
        reported.command_of(Provisioner);
        reported.text(
            "It reads that the PVC is gone, overwrites the disk, reads samples of it, and deletes the PV.",
        );
        self.wait_for(is_deleted).await;
        reported.command_of(VolumeProtection);
        self.patch(&mut reported, VolumeProtection, VOLUME, &free).await?;
        let is_new = || self.text(VOLUME, "/metadata/uid") != before;
        self.wait_for(|| self.is_offered() && is_new()).await;
        self.show_volume(&mut reported, "Available");
        if is_new() {
            reported.text("The PV is a new one, with another uid, of the same disk.");
        } else {
            reported.faults.push(format!("PV {VOLUME_NAME} has still the uid {before}"));
        }
        self.search(&mut reported, 0)?;
        let bytes = fs::read(&self.disk).map_err(|error| self.failed(error))?;
        let rest = bytes.iter().filter(|byte| **byte != 0).count();
        reported.text(&format!("{rest} of {} bytes are not zero", bytes.len()));
        if rest > 0 {
            reported.faults.push("the disk is offered again and not empty".to_owned());
        }
        Ok(reported)
    }

    /// Writes to the disk as a pod would.
    fn write(&self) -> io::Result<()> {
        let disk = File::options().write(true).open(&self.disk)?;
        OFFSETS.iter().try_for_each(|at| disk.write_all_at(SECRET, *at))
    }

    /// Searches the whole disk for what the tenant has written.
    fn search(&self, reported: &mut Reported, expected: usize) -> Result<(), DemoError> {
        let text = String::from_utf8_lossy(SECRET);
        reported.command(&format!("grep -a -o '{text}' disks/disk-0 | wc -l"));
        let bytes = fs::read(&self.disk).map_err(|error| self.failed(error))?;
        let found = occurrences(&bytes, SECRET);
        reported.text(&found.to_string());
        if found != expected {
            reported.faults.push(format!("the text is {found} times on the disk, not {expected}"));
        }
        Ok(())
    }

    fn show_volume(&self, reported: &mut Reported, phase: &str) {
        reported.command(&format!("kubectl get pv {VOLUME_NAME}"));
        let Some(volume) = self.setup.stored(VOLUME) else {
            reported.faults.push(format!("PV {VOLUME_NAME} does not exist"));
            return;
        };
        let text = |pointer: &str| volume.pointer(pointer).and_then(Value::as_str).unwrap_or("");
        let claim = match (text("/spec/claimRef/namespace"), text("/spec/claimRef/name")) {
            ("", _) => String::new(),
            (namespace, name) => format!("{namespace}/{name}"),
        };
        let row = |cells: [&str; 5]| {
            let [name, capacity, status, claim, class] = cells;
            format!("{name:17}   {capacity:8}   {status:9}   {claim:8}   {class}")
        };
        let head = ["NAME", "CAPACITY", "STATUS", "CLAIM", "STORAGECLASS"];
        let (capacity, status) = (text("/spec/capacity/storage"), text("/status/phase"));
        reported.lines.push(Line::Whole(row(head)));
        let cells = [VOLUME_NAME, capacity, status, &claim, text("/spec/storageClassName")];
        reported.lines.push(Line::Whole(row(cells)));
        if status != phase {
            reported.faults.push(format!("PV {VOLUME_NAME} should be {phase}; it is {status}"));
        }
    }

    async fn patch(
        &self,
        reported: &mut Reported,
        by: Caller,
        target: Target,
        patch: &Value,
    ) -> Result<(), DemoError> {
        let reply = ask(self.setup, by, request("PATCH", &target.path(), patch)?).await?;
        if !reply.is_done {
            let why = reply.object["message"].as_str().unwrap_or_default();
            reported.faults.push(format!("a step around it was denied: {why}"));
        }
        reported.faults.extend(reply.tally.failures);
        Ok(())
    }

    fn text(&self, target: Target, pointer: &str) -> String {
        let object = self.setup.stored(target).unwrap_or_default();
        object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    fn phase(&self) -> String {
        self.text(VOLUME, "/status/phase")
    }

    /// Returns whether a claim can get the volume.
    fn is_offered(&self) -> bool {
        self.phase() == "Available" && self.text(VOLUME, "/spec/claimRef/namespace").is_empty()
    }

    /// Waits until it is so, but not for longer than `patience`: what is shown next says what is not so.
    async fn wait_for(&self, is_so: impl Fn() -> bool) {
        let start = Instant::now();
        while !is_so() && start.elapsed() < self.patience {
            sleep(POLL).await;
        }
    }

    fn failed(&self, reason: io::Error) -> DemoError {
        DemoError::Folder { path: self.disk.display().to_string(), reason }
    }
}

fn request(
    method: &str,
    path: &str,
    body: &Value,
) -> Result<http::Request<kube::client::Body>, DemoError> {
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let built = http::Request::builder().method(method).uri(path).header("content-type", kind);
    let built = built.body(kube::client::Body::from(body.to_string().into_bytes()));
    built.map_err(|error| DemoError::Examples(error.to_string()))
}

/// Returns how often `text`, which does not begin with a zero, is in `bytes`.
fn occurrences(bytes: &[u8], text: &[u8]) -> usize {
    const BLOCK: usize = 4096;
    let zeros = [0; BLOCK];
    let starts = (0..bytes.len()).step_by(BLOCK);
    // Compared as a whole first: code that is not optimized takes its time over single bytes.
    let written = starts.filter(|at| bytes[*at..].get(..BLOCK).is_none_or(|it| *it != zeros));
    let within = written.map(|at| {
        let end = bytes.len().min(at + BLOCK + text.len() - 1);
        bytes[at..end].windows(text.len()).filter(|window| *window == text).count()
    });
    within.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_wherever_it_begins_and_each_time_once() {
        let mut bytes = vec![0; 3 * 4096 + 7];
        assert_eq!(occurrences(&bytes, b"abc"), 0);
        for at in [0, 4094, 8191, bytes.len() - 3] {
            bytes[at..at + 3].copy_from_slice(b"abc");
        }
        assert_eq!(occurrences(&bytes, b"abc"), 4);
    }
}

//! One process of the provisioner: started on the disks and the ledger that it finds, and killed.
//!
//! A signal that kills a process ends its threads. Here they end by themselves: a cleaning at its next byte, as `FileDisks`
//! denies it that, and what else a thread does is as if the kill had come right after it.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bindery::local::configuration::{self, LocalConfiguration};
use bindery::local::metrics::LocalMetrics;
use bindery::local::run::{LocalError, LocalSettings, run};
use bindery::local::source::{DiskSource, FileDisks};
use bindery_sim::faults::FaultyTransport;
use kube::Client;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::media::NodeDisks;
use super::transport::{KillPoint, MortalTransport};

pub(super) const NODE: &str = "node-1";
pub(super) const CLASS: &str = "fast-disks";

/// Time between two scans without a reason.
const PERIOD: Duration = Duration::from_secs(10);

/// How often it is tried whether the threads of a killed process have ended.
const POLL: Duration = Duration::from_millis(1);

/// That of a process and that of its transport.
const OWN_FILES: usize = 2;

/// A running provisioner.
pub(super) struct LocalProcess {
    task: JoinHandle<Result<(), LocalError>>,
    transport: MortalTransport,
    pub(super) files: Arc<FileDisks>,
    ledger: PathBuf,
}

impl LocalProcess {
    /// Starts one that is killed at `point`, or when it has overwritten as much as `files` allows.
    pub(super) fn start(
        media: &NodeDisks,
        faults: FaultyTransport,
        point: KillPoint,
        files: FileDisks,
    ) -> Self {
        let files = Arc::new(files);
        let transport = MortalTransport::new(faults, point, Arc::clone(&files));
        let ledger = media.folder("ledger");
        let settings = LocalSettings {
            node: NODE.to_owned(),
            configuration: configuration(media),
            ledger: ledger.clone(),
            kubelet: media.folder("kubelet"),
            period: PERIOD,
            disks: DiskSource::Files(Arc::clone(&files)),
            jobs: None,
        };
        let metrics = Arc::new(LocalMetrics::new().expect("metrics"));
        let client = Client::new(transport.clone(), "default");
        let task = tokio::spawn(run(client, settings, metrics, std::future::pending()));
        Self { task, transport, files, ledger }
    }

    /// Resolves when it has reached the point at which it is killed, or has ended by itself. Where that was, for the tally.
    pub(super) async fn reached_end(&mut self) -> &'static str {
        tokio::select! {
            biased;
            () = self.files.stopped() => "kills within a cleaning",
            () = self.transport.killed.notified() => "kills at a request",
            // As where the API server is away when it starts.
            _ = &mut self.task => "ends by itself",
        }
    }

    /// Kills it wherever it is, and waits until nothing of it goes on.
    pub(super) async fn kill(self) {
        self.files.stop();
        self.task.abort();
        // What scans or records has the ledger, and what cleans has the disks, until the last of its threads ends.
        let lock = self.ledger.join("lock");
        let is_locked = || File::open(&lock).is_ok_and(|lock| lock.try_lock().is_err());
        while Arc::strong_count(&self.files) > OWN_FILES || is_locked() {
            sleep(POLL).await;
        }
    }
}

fn configuration(media: &NodeDisks) -> LocalConfiguration {
    configuration::read(&media.folder("configuration")).expect("a configuration")
}

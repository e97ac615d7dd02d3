//! A real control plane as plain processes: etcd, kube-apiserver, kube-controller-manager, and kubectl.
//!
//! It exists to give cases a cluster in seconds without containers. A plane for each set of controllers is
//! shared by all cases; a case keeps to its own namespace and names
//! ([`Plane::objects`]). A plane's files are under the build folder's `tmp/`; its logs stay there when a
//! case failed.
//!
//! Not here: kubelets (no pod ever runs), Bindery itself.

mod api;
pub(crate) mod binaries;
pub(crate) mod certificates;
pub(crate) mod folder;
mod kubectl;
mod objects;
pub(crate) mod persona;
pub(crate) mod process;
mod roles;
pub(crate) mod start;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hyper::Method;
use serde_json::json;

pub(crate) use api::{Body, Reply};
pub(crate) use kubectl::Output;
pub(crate) use objects::{Objects, Pair, claim_path, volume_path};
pub(crate) use persona::Persona;

use crate::runner::Outcome;
use api::Api;
use folder::Folder;
use process::Process;

/// The address under which pods reach the API server, where there are some.
pub(crate) const REACHED_AT: &str = "10.88.0.1";

/// Which in-tree controllers run beside the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peers {
    /// Protection of volumes and claims, garbage collection, namespaces, aggregated roles (the `edit` of
    /// tenants is one), Jobs, and the binder.
    WithBinder,
    /// The same without the binder and Jobs: the cluster in which another binder does its work.
    WithoutBinder,
    /// As without the binder, and kube-scheduler: pods get nodes, once a case has made some.
    WithScheduler,
    /// No component that writes to volumes or claims, so that an object stays as a case has made it.
    Alone,
    /// Binder, scheduler and all the others, before an API server that notes who wrote what
    /// ([`Plane::audit_log`]). Never shared.
    Everyone,
    /// As everyone, and those that attach, detach and expand volumes for drivers: what the sidecars of one work with.
    /// Never shared.
    Storage,
    /// As for storage, without the binder.
    StorageWithoutBinder,
    /// What an installation meets: deployments, endpoints, accounts and the binder, before an API server that pods
    /// reach and that calls webhooks through their service. Only in a network of the test's own.
    Cluster,
    /// The same without the binder, before an API server that streams no lists and notes what the installation asks
    /// of it ([`Plane::audit_log`]).
    AuditedCluster,
}

impl Peers {
    /// Returns whether the binder of kube-controller-manager runs.
    fn has_in_tree_binder(self) -> bool {
        match self {
            Self::WithBinder | Self::Everyone | Self::Storage | Self::Cluster => true,
            Self::WithoutBinder
            | Self::WithScheduler
            | Self::StorageWithoutBinder
            | Self::AuditedCluster
            | Self::Alone => false,
        }
    }
}

/// A running control plane. Dropping it stops it; the logs stay if its case fails.
#[derive(Debug)]
pub(crate) struct Plane {
    api: Api,
    port: u16,
    /// Where the server keeps everything in etcd.
    prefix: String,
    peers: Peers,
    binaries: PathBuf,
    folder: Arc<Folder>,
    running: Arc<Running>,
}

/// The processes of a plane, in the order in which they started; they are killed in the reverse order, so that
/// none logs that another is gone. Asked to end, kube-apiserver would wait for its watches, up to a minute, and
/// nothing of it is worth keeping.
#[derive(Debug, Default)]
struct Running(Mutex<Vec<Process>>);

/// Every plane that was started, for the interrupt.
static STARTED: Mutex<Vec<(Arc<Running>, Arc<Folder>)>> = Mutex::new(Vec::new());

static WITH_BINDER: Shared = OnceLock::new();
static WITHOUT_BINDER: Shared = OnceLock::new();
static WITH_SCHEDULER: Shared = OnceLock::new();
static ALONE: Shared = OnceLock::new();

/// A plane for all cases, or the sentence that says why there is none.
type Shared = OnceLock<Result<Plane, String>>;

impl Plane {
    /// The plane that all cases of this binary share; the first that asks starts it. Panics with one
    /// sentence if it cannot be started: a case is never skipped. A case that registers a webhook or a
    /// policy for all volumes starts a plane of its own, or every other case meets it.
    #[track_caller]
    pub(crate) fn shared(peers: Peers) -> &'static Self {
        let slot = match peers {
            Peers::WithBinder => &WITH_BINDER,
            Peers::WithoutBinder => &WITHOUT_BINDER,
            Peers::WithScheduler => &WITH_SCHEDULER,
            Peers::Alone => &ALONE,
            Peers::Everyone
            | Peers::Storage
            | Peers::StorageWithoutBinder
            | Peers::Cluster
            | Peers::AuditedCluster => {
                panic!("a case that compares all that is written shares its plane with no other")
            }
        };
        match slot.get_or_init(|| Self::start(peers)) {
            Ok(plane) => plane,
            Err(sentence) => panic!("{sentence}"),
        }
    }

    /// Starts a plane of the caller's own, in about four seconds. The error is one sentence, then the
    /// end of the log of the process that failed.
    pub(crate) fn start(peers: Peers) -> Result<Self, String> {
        start::start(peers)
    }

    /// Kills the API server, and starts it again after `absence` with all that it had stored.
    pub(crate) fn restart_api_server(&self, absence: Duration) -> Result<(), String> {
        start::restart_api_server(self, absence)
    }

    /// Kills etcd, and starts it again after `absence` with all that it had stored.
    pub(crate) fn restart_etcd(&self, absence: Duration) -> Result<(), String> {
        start::restart_etcd(self, absence)
    }

    /// Makes a backup of etcd, which is stopped meanwhile. Never of a shared plane: cases beside would meet its absence.
    #[track_caller]
    pub(crate) fn back_up_etcd(&self) {
        start::back_up_etcd(self).unwrap_or_else(|sentence| panic!("{sentence}"));
    }

    /// Restores the backup of etcd, and starts the API server and the controllers anew, as Kubernetes asks for. What a
    /// case has let it host has ended.
    #[track_caller]
    pub(crate) fn restore_etcd(&self) {
        start::restore_etcd(self).unwrap_or_else(|sentence| panic!("{sentence}"));
    }

    /// Sends a raw request and returns the reply, rejected or not. Panics if there is none.
    #[track_caller]
    pub(crate) fn request(
        &self,
        persona: Persona,
        method: Method,
        path_and_query: &str,
        body: Body,
    ) -> Reply {
        match self.try_request(persona, method, path_and_query, body) {
            Ok(reply) => reply,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`Plane::request`]; the error is about the connection, as when the server is gone.
    pub(crate) fn try_request(
        &self,
        persona: Persona,
        method: Method,
        path_and_query: &str,
        body: Body,
    ) -> Result<Reply, String> {
        self.api.send(persona, method, path_and_query, body)
    }

    /// Reads `path_and_query`. Panics if there is no reply.
    #[track_caller]
    pub(crate) fn get(&self, persona: Persona, path_and_query: &str) -> Reply {
        self.request(persona, Method::GET, path_and_query, Body::none())
    }

    /// Runs kubectl with the persona's kubeconfig. Panics if it cannot run or does not end within a
    /// minute; its failure is an [`Output`].
    #[track_caller]
    pub(crate) fn kubectl(&self, persona: Persona, arguments: &[&str], stdin: &str) -> Output {
        let (binary, home) = (self.binaries.join("kubectl"), self.folder.path());
        match kubectl::run(&binary, home, &self.kubeconfig(persona), arguments, stdin) {
            Ok(output) => output,
            Err(sentence) => panic!("{sentence}"),
        }
    }

    /// The folder of the binaries, kubectl among them.
    pub(crate) fn binaries(&self) -> &Path {
        &self.binaries
    }

    /// A home for kubectl, which keeps what it discovers there.
    pub(crate) fn home(&self) -> &Path {
        self.folder.path()
    }

    /// The persona's kubeconfig: for kubectl, and for Bindery itself.
    pub(crate) fn kubeconfig(&self, persona: Persona) -> PathBuf {
        self.folder.kubeconfig(persona.name)
    }

    /// A kubeconfig of a service account that exists, with a token that the API server gives for it.
    #[track_caller]
    pub(crate) fn account_kubeconfig(&self, namespace: &str, account: &str) -> PathBuf {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let request =
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let reply = self.request(persona::ADMIN, Method::POST, &path, Body::json(&request));
        let token = reply.expect_ok()["status"]["token"].as_str().unwrap_or_default().to_owned();
        let text = kubectl::kubeconfig(self.port, &self.folder.join(start::AUTHORITY), &token);
        let written = self.folder.write(&format!("{namespace}-{account}.kubeconfig"), &text);
        written.unwrap_or_else(|sentence| panic!("{sentence}"))
    }

    /// The loopback port of the API server.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The audit log so far, an event a line: of each write to volumes and claims who made it, what became
    /// of it, and which webhooks changed it; or of each request of an installation. Empty but with
    /// [`Peers::Everyone`], those for storage and [`Peers::AuditedCluster`].
    pub(crate) fn audit_log(&self) -> String {
        std::fs::read_to_string(self.folder.join(start::AUDIT_LOG)).unwrap_or_default()
    }

    /// Lets a process run as long as the plane does.
    pub(crate) fn host(&self, process: Process) {
        self.running.push(process);
    }

    /// A namespace and names of a case's own; everything in it goes when it is dropped.
    #[track_caller]
    pub(crate) fn objects(&self, case: &str) -> Objects<'_> {
        Objects::new(self, case)
    }

    /// Stops controllers, API server and etcd, in this order. Again: nothing.
    fn stop(&self) {
        self.running.stop();
    }

    /// Stops it and removes its files; what is dropped is stopped anyway.
    pub(crate) fn end(&self) {
        self.stop();
        self.folder.remove();
        let ours = |entry: &(Arc<Running>, Arc<Folder>)| Arc::ptr_eq(&entry.0, &self.running);
        STARTED.lock().unwrap_or_else(PoisonError::into_inner).retain(|entry| !ours(entry));
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.stop();
            println!("logs of the control plane: {}", self.folder.path().display());
        } else {
            self.end();
        }
    }
}

impl Running {
    fn push(&self, process: Process) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(process);
    }

    fn stop(&self) {
        // One at a time, so that the lock is not held while a process takes its time.
        while let Some(process) = self.pop() {
            process.stop(Duration::ZERO);
        }
    }

    /// Puts another process in the place of the one of this name, which is killed.
    fn replace(
        &self,
        name: &str,
        start: impl FnOnce() -> Result<Process, String>,
    ) -> Result<(), String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = all.iter().position(|process| process.is(name));
        let place = place.ok_or_else(|| format!("no {name} runs"))?;
        all.remove(place).stop(Duration::ZERO);
        all.insert(place, start()?);
        Ok(())
    }

    fn pop(&self) -> Option<Process> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

/// Stops the shared planes, after the last case. Failed cases leave the logs and their folder's name.
pub(crate) fn stop_shared(outcome: Outcome) {
    for slot in [&WITH_BINDER, &WITHOUT_BINDER, &WITH_SCHEDULER, &ALONE] {
        let Some(Ok(plane)) = slot.get() else { continue };
        plane.stop();
        match outcome {
            Outcome::Passed => plane.folder.remove(),
            Outcome::Failed => {
                println!("logs of the control plane: {}", plane.folder.path().display());
            }
        }
    }
}

/// On an interrupt or a termination, kills every plane, removes its files and exits with 130. Without it
/// the processes would die as well (`process`), but their files would stay until the next run.
pub(crate) fn die_on_interrupt() {
    std::thread::spawn(|| {
        let waited = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .and_then(|runtime| runtime.block_on(interrupted()));
        if let Err(error) = waited {
            eprintln!(
                "cannot wait for an interrupt: {error}; an interrupt will leave files behind"
            );
            return;
        }
        for (running, folder) in STARTED.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            running.stop();
            folder.remove();
        }
        #[expect(
            clippy::exit,
            reason = "the cases run on other threads and cannot be asked to end"
        )]
        std::process::exit(130);
    });
}

async fn interrupted() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminated = signal(SignalKind::terminate())?;
    let mut hung_up = signal(SignalKind::hangup())?;
    tokio::select! {
        result = tokio::signal::ctrl_c() => result,
        _ = terminated.recv() => Ok(()),
        _ = hung_up.recv() => Ok(()),
    }
}

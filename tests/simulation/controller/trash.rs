//! A panic in the trash: in a step, it ends that step alone; in the loop, it ends the controller.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bindery::controller::error::LoopError;
use bindery::controller::metrics::ControllerMetrics;
use bindery::controller::mode::ControllerMode;
use bindery::controller::run::{ControllerSettings, run_metered};
use bindery::file_watch::configuration::ConfigurationSource;
use bindery_sim::{ApiServer, Method, Stream};
use http::{HeaderValue, header};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tower::Service;

use crate::controller::{CLAIMS, VOLUMES, claim, send, server, until, volume};

/// How long the machine may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Panics once at a request. The simulated server does not say the time; this does.
#[derive(Clone)]
struct PanickingTransport {
    server: ApiServer,
    is_it: fn(&http::Request<Body>) -> bool,
    is_armed: Arc<AtomicBool>,
}

impl Service<http::Request<Body>> for PanickingTransport {
    type Response = http::Response<Stream>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<http::Request<Body>>::poll_ready(&mut self.server, context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let panics = (self.is_it)(&request) && self.is_armed.swap(false, Ordering::Relaxed);
        let answer = self.server.call(request);
        Box::pin(async move {
            // In the task that has asked.
            assert!(!panics, "planted");
            let mut response = answer.await?;
            let now = Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
            let now = HeaderValue::from_str(&now).expect("a header");
            response.headers_mut().insert(header::DATE, now);
            Ok(response)
        })
    }
}

/// A controller whose configuration is a file.
struct Stage {
    server: ApiServer,
    folder: tempfile::TempDir,
    is_armed: Arc<AtomicBool>,
    task: JoinHandle<Result<(), LoopError>>,
}

impl Stage {
    fn start(keep: &str, is_it: fn(&http::Request<Body>) -> bool) -> Self {
        let (server, is_armed) = (server(), Arc::<AtomicBool>::default());
        let folder = tempfile::tempdir().expect("a folder");
        let transport =
            PanickingTransport { server: server.clone(), is_it, is_armed: Arc::clone(&is_armed) };
        let file = folder.path().join("config.yaml");
        std::fs::write(&file, configuration(keep)).expect("a file");
        let settings = ControllerSettings {
            mode: ControllerMode::Full,
            election: None,
            configuration: ConfigurationSource::File(file),
            config_map: None,
            last_good: None,
            own_namespace: "kube-system".to_owned(),
            events: true,
            certificates: None,
            guard: None,
        };
        let metrics = Arc::new(ControllerMetrics::new().expect("metrics"));
        let client = Client::new(transport, "default");
        let task = tokio::spawn(run_metered(client, settings, metrics, std::future::pending()));
        Self { server, folder, is_armed, task }
    }

    fn keep(&self, keep: &str) {
        let file = self.folder.path().join("config.yaml");
        std::fs::write(file, configuration(keep)).expect("a file");
    }

    fn arm(&self) {
        self.is_armed.store(true, Ordering::Relaxed);
    }

    fn volume(&self) -> Value {
        send(&self.server, Method::Get, &format!("{VOLUMES}/pv-a"), Value::Null)
    }

    /// A bound pair whose volume is held.
    async fn held_pair(&self) {
        let mut made = volume("pv-a", "10Gi");
        made["spec"]["persistentVolumeReclaimPolicy"] = json!("Delete");
        send(&self.server, Method::Post, VOLUMES, made);
        send(&self.server, Method::Post, CLAIMS, claim("a", "5Gi"));
        until(&self.server, &format!("{CLAIMS}/a"), "Bound").await;
        self.until("it is held", "Retain", true).await;
    }

    fn delete_claim(&self) {
        let path = format!("{CLAIMS}/a");
        let free = json!({"metadata": {"finalizers": null}});
        self.server.with(|cluster| {
            cluster.handle(bindery_sim::ApiRequest::merge_patch(path.clone(), free))
        });
        send(&self.server, Method::Delete, &path, Value::Null);
    }

    async fn until(&self, what: &str, policy: &str, is_recorded: bool) {
        let start = Instant::now();
        loop {
            let volume = self.volume();
            let record = volume.pointer("/metadata/annotations/bindery.dev~1trash");
            let is_so = volume["spec"]["persistentVolumeReclaimPolicy"] == policy
                && record.is_some() == is_recorded;
            if is_so {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "not {what}: {volume}");
            sleep(Duration::from_millis(10)).await;
        }
    }
}

fn configuration(keep: &str) -> String {
    format!("apiVersion: bindery.dev/v1\nkind: Config\ntrash: {{keep: {keep}}}\n")
}

fn is_of_trash(request: &http::Request<Body>) -> bool {
    request.method() == http::Method::PATCH
        && request.uri().path() == format!("{VOLUMES}/pv-a")
        && request.headers()[header::CONTENT_TYPE] == "application/merge-patch+json"
}

#[tokio::test]
async fn a_panic_in_a_step_of_the_trash_ends_that_step_alone() {
    let stage = Stage::start("1s", is_of_trash);
    stage.held_pair().await;
    // The record of its release, or the write after it.
    stage.arm();
    stage.delete_claim();
    stage.until("it follows its policy", "Delete", false).await;
    assert!(!stage.is_armed.load(Ordering::Relaxed), "nothing has panicked");
    assert!(!stage.task.is_finished());
    stage.task.abort();
}

#[tokio::test]
async fn a_panic_in_an_event_of_the_trash_ends_that_event_alone() {
    let stage = Stage::start("1s", |request| {
        request.uri().path().ends_with("/events") && request.method() == http::Method::POST
    });
    stage.held_pair().await;
    stage.arm();
    stage.delete_claim();
    stage.until("it follows its policy", "Delete", false).await;
    assert!(!stage.is_armed.load(Ordering::Relaxed), "nothing has panicked");
    assert!(!stage.task.is_finished());
    stage.task.abort();
}

/// The process is started again; it would otherwise go on without a trash.
#[tokio::test]
async fn a_panic_in_the_loop_of_the_trash_ends_the_controller() {
    let stage = Stage::start("1h", |request| {
        let query = request.uri().query().unwrap_or_default();
        request.uri().path() == VOLUMES
            && request.method() == http::Method::GET
            && !query.contains("watch=")
    });
    stage.held_pair().await;
    // Other settings concern other volumes: the loop reads all of them.
    stage.arm();
    stage.keep("2h");
    let ended = timeout(PATIENCE, stage.task).await.expect("it goes on without its trash");
    assert!(ended.is_err_and(|error| error.is_panic()));
    assert!(!stage.is_armed.load(Ordering::Relaxed), "nothing has panicked");
}

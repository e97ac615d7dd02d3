//! The controller alone: over the simulated API server, without a network, on a thread of its own.
//!
//! An API server of the test machine takes some hundred pairs a second. One that is ten times as fast must still be
//! what a binding waits for. The server answers on other threads, and only the controller's thread is measured.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use bindery::controller::mode::ControllerMode;
use bindery::controller::run::{ControllerSettings, run};
use bindery::file_watch::configuration::ConfigurationSource;
use bindery_sim::{ApiRequest, ApiServer, ClusterState, Method, Stream};
use kube::Client;
use kube::client::Body;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;
use tokio::time::timeout;
use tower::Service;

use crate::extent::pairs_count;
use crate::floors::Row;
use crate::measured::Measured;
use crate::pairs::{CLAIMS, Pairs, Shape, VOLUMES};

/// Pairs: a second of the controller's time at the floor.
const PAIRS: usize = 20_000;

/// How long binding them all may take: twenty times as long as on a slow machine.
const PATIENCE: Duration = Duration::from_mins(5);

/// The server, whose work is done by another runtime.
#[derive(Clone)]
struct Remote {
    server: ApiServer,
    runtime: Handle,
    bound: Arc<Bound>,
}

/// Counts claims that were written Bound.
struct Bound {
    left: AtomicUsize,
    all: Notify,
}

impl Service<hyper::Request<Body>> for Remote {
    type Response = hyper::Response<Stream>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: hyper::Request<Body>) -> Self::Future {
        let path = request.uri().path();
        let is_last = path.contains("claims/") && path.ends_with("/status");
        let (mut server, bound) = (self.server.clone(), Arc::clone(&self.bound));
        let answer = self.runtime.spawn(async move { server.call(request).await });
        Box::pin(async move {
            let answer = match answer.await {
                Ok(answer) => answer,
                Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
            };
            let is_stored = answer.as_ref().is_ok_and(|answer| answer.status().is_success());
            if is_last && is_stored && bound.left.fetch_sub(1, Ordering::Relaxed) == 1 {
                bound.all.notify_one();
            }
            answer
        })
    }
}

/// Measures pairs that are all there before the controller starts.
pub(crate) fn measure() -> Result<Measured, String> {
    let count = pairs_count(PAIRS)?;
    let server = cluster(count)?;
    let servers = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    let bound = Bound { left: AtomicUsize::new(count), all: Notify::new() };
    let remote = Remote { server, runtime: servers.handle().clone(), bound: Arc::new(bound) };
    let controller = thread::spawn(move || control(remote));
    let seconds = controller.join().map_err(|_| "the controller panicked".to_owned())??;
    let rate = count as f64 / seconds;
    Ok(vec![Row {
        id: "engine",
        what: format!("pairs per core second of the controller alone, {count} at once"),
        ours: format!("{rate:.0}/s"),
        other: "the simulated API server".to_owned(),
        figure: rate,
    }]
    .into())
}

/// Runs the controller until every pair is bound; the processor time of its thread, in seconds.
fn control(remote: Remote) -> Result<f64, String> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    let bound = Arc::clone(&remote.bound);
    let settings = ControllerSettings {
        mode: ControllerMode::Full,
        election: None,
        configuration: ConfigurationSource::default(),
        config_map: None,
        own_namespace: "bindery".to_owned(),
        events: false,
        certificates: None,
    };
    let before = processor_time();
    let all_bound = async {
        // Whether it was in time is asked afterwards.
        let _ = timeout(PATIENCE, bound.all.notified()).await;
    };
    let controlled = runtime.block_on(async {
        let client = Client::new(remote, "default");
        run(client, settings, all_bound).await
    });
    controlled.map_err(|error| error.to_string())?;
    let left = bound.left.load(Ordering::Relaxed);
    if left > 0 {
        return Err(format!("{left} claims were not Bound within {PATIENCE:?}"));
    }
    Ok(processor_time().saturating_sub(before).as_secs_f64())
}

/// Of the thread that asks.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// A cluster with `count` volumes and as many claims, of which none is bound.
fn cluster(count: usize) -> Result<ApiServer, String> {
    let now = jiff::Timestamp::now();
    let mut cluster = ClusterState::new(7, now);
    let pairs = Pairs { class: "like", shape: Shape::Like };
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": pairs.class}, "provisioner": "kubernetes.io/no-provisioner"});
    let mut create = |collection: &str, object: Value| {
        let response = cluster.handle(ApiRequest::new(Method::Post, collection, object));
        if response.code < 300 { Ok(()) } else { Err(format!("{collection}: {response:?}")) }
    };
    create("/apis/storage.k8s.io/v1/storageclasses", class)?;
    for number in 0..count {
        create(VOLUMES, pairs.volume(number))?;
        create(CLAIMS, pairs.claim(number))?;
    }
    Ok(ApiServer::new(cluster))
}
